//! When an end looks at its counters: at the end of each slot, and in long slots in between.

use std::time::Duration;

use fp_model::{Slot, Time, Timing};

use super::SAMPLE_INTERVAL;

/// The beats of one trial by this end's clock; a slot is one of them here.
#[derive(Debug)]
pub(super) struct Schedule {
    grid: Vec<Slot>,
    start: Time,
    /// Slots cut so far.
    cut: usize,
    sample_due: Time,
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    /// Look, but cut nothing.
    Sample,
    /// The slot of this index is over.
    Cut(usize),
}

impl Schedule {
    pub(super) fn new(timing: &Timing, start: Time, now: Time) -> Self {
        Self { grid: timing.beats(), start, cut: 0, sample_due: now + SAMPLE_INTERVAL }
    }

    /// The next thing due at `now`. Slots that are over are cut one after the other.
    pub(super) fn poll(&mut self, now: Time) -> Option<Tick> {
        if self.next_cut().is_some_and(|due| due <= now) {
            return self.cut_next(now);
        }
        if self.sample_due > now {
            return None;
        }
        self.sample_due = self.sample_due + SAMPLE_INTERVAL;
        if self.sample_due <= now {
            self.sample_due = now + SAMPLE_INTERVAL;
        }
        Some(Tick::Sample)
    }

    /// Cuts the present slot, be it over or not.
    pub(super) fn cut_next(&mut self, now: Time) -> Option<Tick> {
        self.sample_due = now + SAMPLE_INTERVAL;
        let index = (self.cut < self.grid.len()).then_some(self.cut)?;
        self.cut += 1;
        Some(Tick::Cut(index))
    }

    /// When to poll again.
    pub(super) fn poll_timeout(&self) -> Time {
        self.next_cut().map_or(self.sample_due, |due| due.min(self.sample_due))
    }

    fn next_cut(&self) -> Option<Time> {
        self.grid.get(self.cut).map(|slot| self.start + slot.end)
    }

    /// The slot that has not been cut yet.
    pub(super) fn present(&self) -> usize {
        self.cut
    }

    /// In the slot after the active ones.
    pub(super) fn is_settling(&self) -> bool {
        self.cut + 1 == self.grid.len()
    }

    pub(super) fn is_over(&self) -> bool {
        self.cut == self.grid.len()
    }

    pub(super) fn slots(&self) -> usize {
        self.grid.len()
    }

    /// False beyond the last slot.
    pub(super) fn is_steady(&self, slot: usize) -> bool {
        self.grid.get(slot).is_some_and(|slot| slot.steady)
    }

    /// Whether the steady time begins with this slot.
    pub(super) fn begins_steady(&self, slot: usize) -> bool {
        self.is_steady(slot) && (slot == 0 || !self.is_steady(slot - 1))
    }

    /// From the start of the trial.
    pub(super) fn elapsed(&self, now: Time) -> Duration {
        now.since(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing {
        warm_up: Duration::from_millis(100),
        steady: Duration::from_millis(100),
        settle: Duration::from_millis(500),
    };

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn a_late_poll_cuts_every_slot_that_is_over() {
        let mut schedule = Schedule::new(&TIMING, at(1000), at(1000));
        assert_eq!(schedule.poll(at(1049)), None);
        assert_eq!(schedule.poll_timeout(), at(1050));
        let ticks: Vec<_> = std::iter::from_fn(|| schedule.poll(at(1160))).collect();
        assert_eq!(ticks, [Tick::Cut(0), Tick::Cut(1), Tick::Cut(2)]);
        assert!(schedule.begins_steady(2) && !schedule.begins_steady(3));
    }

    #[test]
    fn long_slots_are_sampled_twenty_times_a_second() {
        let mut schedule = Schedule::new(&TIMING, at(0), at(0));
        while schedule.poll(at(200)).is_some() {}
        assert!(schedule.is_settling());
        assert_eq!(schedule.poll_timeout(), at(250));
        assert_eq!(schedule.poll(at(250)), Some(Tick::Sample));
        assert_eq!(schedule.poll(at(700)), Some(Tick::Cut(4)));
        assert!(schedule.is_over());
        assert_eq!(schedule.cut_next(at(700)), None);
    }
}

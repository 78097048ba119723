//! The beats of a trial, slots here, closed one after the other as time passes.

use std::time::Duration;

use fp_model::{Slot, Time, Timing};

use crate::half::ReceiverSlot;

pub(crate) struct OpenSlots {
    grid: Vec<Slot>,
    start: Time,
    /// The slot that fills; those before are closed.
    open: usize,
}

impl OpenSlots {
    pub(crate) fn new(timing: &Timing, start: Time) -> Self {
        Self { grid: timing.beats(), start, open: 0 }
    }

    /// When each slot ends, from the start of the trial.
    pub(crate) fn ends(&self) -> impl Iterator<Item = Duration> {
        self.grid.iter().map(|slot| slot.end)
    }

    /// What a receiver has seen of each slot before anything arrives.
    pub(crate) fn uncut(&self) -> Vec<ReceiverSlot> {
        let uncut = |end: Duration| ReceiverSlot {
            cut_ns: end.as_nanos() as u64,
            ..ReceiverSlot::default()
        };
        self.ends().map(uncut).collect()
    }

    /// When the trial is over.
    pub(crate) fn last_end(&self) -> Time {
        self.start + self.ends().last().unwrap_or_default()
    }

    /// When the slot that fills ends; `None` when all are closed.
    pub(crate) fn next_end(&self) -> Option<Time> {
        Some(self.start + self.grid.get(self.open)?.end)
    }

    /// Where an event at `time` belongs: to a slot that is open, as others have been told already.
    pub(crate) fn at(&self, time: Time) -> usize {
        let since_start = time.since(self.start);
        let later = self.grid[self.open..].iter().position(|slot| since_start < slot.end);
        later.map_or(self.grid.len() - 1, |later| self.open + later)
    }

    /// The slot that fills.
    pub(crate) const fn open(&self) -> usize {
        self.open
    }

    /// Closes the slot that fills, be it over or not.
    pub(crate) const fn close_open(&mut self) -> usize {
        self.open += 1;
        self.open - 1
    }

    /// The next slot that ends by `time`, which is closed now.
    pub(crate) fn close_by(&mut self, time: Time) -> Option<(usize, Time)> {
        let end = self.start + self.grid.get(self.open)?.end;
        (end <= time).then(|| {
            self.open += 1;
            (self.open - 1, end)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_falls_into_its_slot_unless_that_is_closed() {
        let start = Time::from_nanos(7);
        let after = |millis| start + Duration::from_millis(millis);
        let timing = Timing {
            warm_up: Duration::from_millis(50),
            steady: Duration::from_millis(100),
            settle: Duration::from_millis(30),
        };
        // Slots end after 50, 100, 150 and 180 ms.
        let mut slots = OpenSlots::new(&timing, start);
        assert_eq!([0, 49, 50, 170, 999].map(|millis| slots.at(after(millis))), [0, 0, 1, 3, 3]);
        assert_eq!(slots.close_by(after(49)), None);
        assert_eq!(slots.close_by(after(101)), Some((0, after(50))));
        assert_eq!(slots.close_by(after(101)), Some((1, after(100))));
        assert_eq!(slots.close_by(after(101)), None);
        assert_eq!(slots.at(after(10)), 2);
        assert_eq!(slots.last_end(), after(180));
    }
}

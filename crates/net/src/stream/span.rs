//! How long some frames took, whatever held up the first or the last of them.

use core::time::Duration;

use super::schedule::Schedule;

/// The frames of the steady time as they pass one place.
///
/// A host that stands still makes frames late, never early. Counted from the first frame to the last,
/// a second would be 1 % shorter where the first was held up for 10 ms. So it is the time in which
/// the frames were due, stretched as between two of them: one near the beginning and one near the
/// end, each the one that passed soonest after it was due.
#[derive(Debug)]
pub(super) struct Span {
    /// Frames below this number are near the beginning, those from the other one on near the end.
    edges: (u64, u64),
    near_beginning: Option<Passing>,
    near_end: Option<Passing>,
    first: Option<Passing>,
    last: Option<Passing>,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Passing {
    sequence: u64,
    /// Nanoseconds since the start of the trial.
    at_ns: i64,
}

impl Passing {
    fn late_ns(&self, schedule: &Schedule) -> i64 {
        self.at_ns.saturating_sub(schedule.due_of(self.sequence).as_nanos() as i64)
    }

    /// The one of two that passed sooner after it was due.
    fn or_sooner(self, other: Option<Self>, schedule: &Schedule) -> Self {
        let is_sooner = |other: &Self| other.late_ns(schedule) < self.late_ns(schedule);
        other.filter(is_sooner).unwrap_or(self)
    }
}

impl Span {
    pub(super) fn of(schedule: &Schedule) -> Self {
        Self {
            edges: schedule.edges(),
            near_beginning: None,
            near_end: None,
            first: None,
            last: None,
            bytes: 0,
        }
    }

    /// Of a frame of `schedule`, once; in any order.
    pub(super) fn add(&mut self, schedule: &Schedule, sequence: u64, at_ns: i64) {
        let passing = Passing { sequence, at_ns };
        self.bytes += u64::from(schedule.sizes().of(sequence));
        if self.first.is_none_or(|first| sequence < first.sequence) {
            self.first = Some(passing);
        }
        if self.last.is_none_or(|last| sequence > last.sequence) {
            self.last = Some(passing);
        }
        let (begun, ending) = self.edges;
        if sequence < begun {
            self.near_beginning = Some(passing.or_sooner(self.near_beginning, schedule));
        }
        if sequence >= ending {
            self.near_end = Some(passing.or_sooner(self.near_end, schedule));
        }
    }

    /// The time that the frames stand for: that in which all but the last have passed, and the
    /// last one's share of it more. `None` with fewer than two frames.
    pub(super) fn stood_for(&self, schedule: &Schedule) -> Option<Duration> {
        let (first, last) = self.first.zip(self.last)?;
        let last_bytes = u64::from(schedule.sizes().of(last.sequence));
        let passed = self.bytes.checked_sub(last_bytes).filter(|passed| *passed > 0)?;
        let due_ns = |passing: Passing| schedule.due_of(passing.sequence).as_nanos();
        let due_between = |from, until| due_ns(until).saturating_sub(due_ns(from));
        // Of frames that all came near one end nothing better is known than the first and the last.
        let (from, until) = self
            .near_beginning
            .zip(self.near_end)
            .filter(|(from, until)| due_between(*from, *until) > 0)
            .unwrap_or((first, last));
        let took = u128::from(until.at_ns.abs_diff(from.at_ns));
        let lasted = match due_between(from, until) {
            0 => took,
            planned => due_between(first, last) * took / planned,
        };
        Some(Duration::from_nanos((lasted * u128::from(self.bytes) / u128::from(passed)) as u64))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use fp_model::{FrameSizes, FramesLoad, Pace, Rate, Timing};

    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// 1000 frames a second of 1,000 bytes, or of 500 and 1,500 in turn.
    fn schedule(lengths: Vec<u32>) -> Schedule {
        let pace = Pace::Constant { rate: Rate::mbps(8) };
        let load = FramesLoad::new(FrameSizes::new(lengths).unwrap(), pace);
        let steady = Duration::from_secs(1);
        let timing = Timing { warm_up: Duration::ZERO, steady, settle: Duration::ZERO };
        Schedule::new(&load, &timing)
    }

    /// In nanoseconds, of frames that pass so long after they were due.
    fn stood_for(
        schedule: &Schedule,
        frames: impl Iterator<Item = u64>,
        late_ns: impl Fn(u64) -> i64,
    ) -> Option<u128> {
        let mut span = Span::of(schedule);
        for frame in frames {
            let due_ns = schedule.due_of(frame).as_nanos() as i64;
            span.add(schedule, frame, due_ns + late_ns(frame));
        }
        span.stood_for(schedule).map(|time| time.as_nanos())
    }

    #[test]
    fn frames_stand_for_the_time_in_which_they_were_due_and_the_last_ones_share() {
        let schedule = schedule(vec![1000]);
        assert_eq!(stood_for(&schedule, 0..1, |_| 0), None);
        assert_eq!(stood_for(&schedule, 0..1000, |_| 27_000_000), Some(1_000_000_000));
        // One in two was dropped: 500 stand for the same time, but for half a place.
        assert_eq!(stood_for(&schedule, (0..1000).step_by(2), |_| 5), Some(1_000_000_000));
        let schedule = self::schedule(vec![500, 1500]);
        // 999,500 bytes less the last 1,500 have passed in 998.5 ms.
        assert_eq!(stood_for(&schedule, 1..1000, |_| 5), Some(999_500_000));
    }

    /// Each frame takes a hundredth of its time longer than the one before.
    #[test]
    fn what_passes_more_slowly_than_it_was_due_takes_longer() {
        let schedule = schedule(vec![1000]);
        let slower = stood_for(&schedule, 0..1000, |frame| frame as i64 * 10_000).unwrap();
        assert!(slower.abs_diff(1_010_000_000) < 1000, "{slower}");
    }

    /// For 10 ms nothing comes on, at the beginning, in the middle, and at the end: what was held
    /// comes at once.
    #[test]
    fn what_was_held_up_at_either_end_changes_nothing() {
        let schedule = schedule(vec![1000]);
        for held_from in [0, 500, 990] {
            let late = |frame: u64| match frame.checked_sub(held_from) {
                Some(since @ 0..10) => (10 - since as i64) * SECOND_NS / 1000,
                _ => 0,
            };
            assert_eq!(stood_for(&schedule, 0..1000, late), Some(1_000_000_000), "{held_from}");
        }
    }

    #[test]
    fn frames_of_one_end_alone_have_their_own_time() {
        let schedule = schedule(vec![1000]);
        assert_eq!(stood_for(&schedule, 0..20, |frame| frame as i64 * 1_000_000), Some(40_000_000));
    }
}

//! How long a trial lasts, and the instants at which both ends look at what they count.

use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::in_json::nanos;

/// The phases of a trial, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Left out of the figures: slow start, learning, buckets draining, queues filling.
    #[serde(rename = "warm_up_ns", with = "nanos")]
    pub warm_up: Duration,
    /// What is measured.
    #[serde(rename = "steady_ns", with = "nanos")]
    pub steady: Duration,
    /// Waited for late frames and for the path to fall idle.
    #[serde(rename = "settle_ns", with = "nanos")]
    pub settle: Duration,
}

impl Timing {
    const SLOT: Duration = Duration::from_millis(50);
    /// The slots of a series, what comes after the steady time left out.
    pub const SLOTS_MAX: usize = 2400;

    /// How long it offers its load: warm-up and steady time.
    pub fn active(&self) -> Duration {
        self.warm_up + self.steady
    }

    /// The slots of a series: both ends cut a trial at the same instants.
    ///
    /// Warm-up and steady time are each divided evenly into slots of about 50 ms, longer ones in a
    /// trial so long that its series would have more than 2,400; what comes after is one slot.
    pub fn grid(&self) -> Vec<Slot> {
        let slots_max = Self::SLOT.as_nanos() * Self::SLOTS_MAX as u128;
        let stretch = self.active().as_nanos().div_ceil(slots_max).max(1);
        let slot = Self::SLOT.as_nanos() * stretch;
        let phase = |from: Duration, lasts: Duration, steady: bool| {
            let count = lasts.as_nanos().div_ceil(slot) as u32;
            let cut = move |k: u32| from + lasts * k / count;
            (0..count).map(move |k| Slot { start: cut(k), end: cut(k + 1), steady })
        };
        let active = self.active();
        phase(Duration::ZERO, self.warm_up, false)
            .chain(phase(self.warm_up, self.steady, true))
            .chain([Slot { start: active, end: active + self.settle, steady: false }])
            .collect()
    }
}

impl Timing {
    const BEAT: Duration = Duration::from_millis(200);
    const BEATS_MAX: usize = 100_000;

    /// The slots of [`Self::grid`], long ones divided evenly into beats of at most 200 ms: what a
    /// trial is watched by while it runs. In a trial of more than five hours they grow, to two
    /// seconds after two days; what comes after the steady time is one beat.
    pub fn beats(&self) -> Vec<Slot> {
        let (grid, count) = (self.grid(), self.beats_per_slot());
        let Some((after, active)) = grid.split_last() else { return grid };
        let beats = active.iter().flat_map(|slot| {
            let cut = |k: u32| slot.start + (slot.end - slot.start) * k / count;
            (0..count).map(move |k| Slot { start: cut(k), end: cut(k + 1), steady: slot.steady })
        });
        beats.chain([*after]).collect()
    }

    /// How many beats a slot of the active time has.
    pub fn beats_per_slot(&self) -> u32 {
        let grid = self.grid();
        let active = grid.split_last().map_or(&[][..], |(_, active)| active);
        let longest = active.iter().map(|slot| slot.end - slot.start).max().unwrap_or_default();
        let wanted = longest.as_nanos().div_ceil(Self::BEAT.as_nanos()).max(1);
        let most = Self::BEATS_MAX / active.len().max(1);
        wanted.min(most as u128) as u32
    }

    /// About the length of a stretch: beats are at most 200 ms long, so that there are at least five
    /// stretches a second, and seven in a short trial.
    const STRETCH: Duration = Duration::from_millis(150);

    /// How many beats make a stretch, after which an end reports its progress and looks at what its
    /// threads were kept waiting.
    pub fn beats_per_stretch(&self) -> usize {
        let longest = self
            .beats()
            .iter()
            .filter(|slot| slot.end <= self.active())
            .fold(Duration::ZERO, |longest, slot| longest.max(slot.end - slot.start));
        if longest.is_zero() {
            return 1;
        }
        (Self::STRETCH.as_nanos() / longest.as_nanos()).max(1) as usize
    }

    /// When each stretch is over, since the start of the trial.
    pub fn stretches(&self) -> Vec<Duration> {
        let (beats, count) = (self.beats(), self.beats_per_stretch());
        beats.chunks(count).filter_map(|beats| beats.last()).map(|last| last.end).collect()
    }

    /// How long a beat of the steady time lasts at most.
    pub fn beat(&self) -> Duration {
        let steady = self.beats().into_iter().filter(|beat| beat.steady);
        steady.map(|beat| beat.end - beat.start).max().unwrap_or_default()
    }
}

/// One slot of a trial's series, from the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub start: Duration,
    pub end: Duration,
    pub steady: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_cuts_the_phases_without_gap_or_overlap() {
        let timing = Timing {
            warm_up: Duration::from_millis(730),
            steady: Duration::from_secs(2),
            settle: Duration::from_millis(300),
        };
        let grid = timing.grid();
        assert!(grid.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(grid.iter().filter(|slot| slot.steady).count(), 40);
        let steady_from = grid.iter().find(|slot| slot.steady).unwrap().start;
        assert_eq!(steady_from, timing.warm_up);
        assert_eq!(grid.last().unwrap().end, Duration::from_millis(3030));
    }

    #[test]
    fn a_day_has_no_more_slots_than_two_minutes() {
        let day = Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_secs(86_400),
            settle: Duration::ZERO,
        };
        assert!(day.grid().len() <= 2401);
    }

    #[test]
    fn beats_divide_the_slots_of_long_trials_and_are_those_of_short_ones() {
        let timing = |warm_up, steady| Timing {
            warm_up: Duration::from_secs(warm_up),
            steady: Duration::from_secs(steady),
            settle: Duration::from_secs(1),
        };
        assert_eq!(timing(2, 60).beats(), timing(2, 60).grid());
        // An hour has slots of 1.5 s, each of eight beats of 187.5 ms.
        let hour = timing(0, 3600);
        assert_eq!((hour.beats_per_slot(), hour.beat()), (8, Duration::from_micros(187_500)));
        let beats = hour.beats();
        assert_eq!(beats.len(), 2400 * 8 + 1);
        assert!(beats.windows(2).all(|pair| pair[0].end == pair[1].start));
        for (slot, of_slot) in hour.grid().iter().zip(beats.chunks(8)) {
            let (first, last) = (of_slot[0], of_slot[of_slot.len() - 1]);
            assert_eq!((first.start, last.end, first.steady), (slot.start, slot.end, slot.steady));
        }
        // Two days have slots of 72 s, of 41 beats each.
        let two_days = timing(10, 2 * 86_400);
        assert!(two_days.beats().len() <= 100_001);
        assert!(two_days.beat() < Duration::from_secs(2));
    }
}

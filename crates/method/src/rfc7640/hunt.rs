//! The burst hunt of RFC 7640 section 5.1.1: the largest burst that loses nothing.

/// So many steps are counted one by one; a longer way is halved first.
const COUNTED_STEPS: u32 = 8;

/// A search for the largest number of frames of which none is lost.
///
/// It knows a burst that passed (perhaps none) and one that did not. The RFC counts up by 1 KB from
/// the smaller one; this halves the distance until few steps are left, and then counts.
#[derive(Clone, Copy, Debug)]
pub struct BurstHunt {
    /// The largest that passed; 0 if none did.
    passing: u32,
    /// The smallest that did not.
    failing: u32,
    step: u32,
    /// Tried first, where the failed burst hints at it.
    hint: Option<u32>,
    tried: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HuntStep {
    /// Send bursts of so many frames.
    Try(u32),
    /// The largest that passes; 0 if no burst does.
    Found(u32),
}

impl BurstHunt {
    /// `hint` is how many frames of the failed burst came through before the first was lost.
    ///
    /// # Panics
    /// Where the burst that passed is not the smaller one, or steps are of no frames.
    pub fn new(passing: u32, failing: u32, step: u32, hint: Option<u32>) -> Self {
        assert!(passing < failing, "a hunt goes from a burst that passes to a larger one");
        assert!(step > 0, "a hunt goes by steps of a frame at least");
        let hint = hint.filter(|hint| (passing + 1..failing).contains(hint));
        Self { passing, failing, step, hint, tried: failing }
    }

    /// What to try next.
    pub fn next_burst(&mut self) -> HuntStep {
        let left = self.failing - self.passing;
        if left <= self.step {
            return HuntStep::Found(self.passing);
        }
        self.tried = match self.hint.take() {
            Some(hint) if (self.passing + 1..self.failing).contains(&hint) => hint,
            Some(_) | None if left / self.step > COUNTED_STEPS => self.passing + left / 2,
            Some(_) | None => self.passing + self.step,
        };
        HuntStep::Try(self.tried)
    }

    /// Whether the burst tried last came through whole.
    pub fn judge(&mut self, outcome: BurstOutcome) {
        match outcome {
            BurstOutcome::Whole => self.passing = self.passing.max(self.tried),
            BurstOutcome::Lossy => self.failing = self.failing.min(self.tried),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstOutcome {
    Whole,
    Lossy,
}

impl BurstOutcome {
    pub const fn of(lost_frames: u64) -> Self {
        if lost_frames == 0 { Self::Whole } else { Self::Lossy }
    }
}

/// Frames in a step of 1 KB; one where a frame is larger.
pub(super) const fn frames_per_kilobyte(frame_bytes: u32) -> u32 {
    const KILOBYTE: u32 = 1000;
    if frame_bytes >= KILOBYTE { 1 } else { KILOBYTE / frame_bytes }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// Hunts against a device that lets `limit` frames through at once.
    fn against(mut hunt: BurstHunt, limit: u32) -> (u32, Vec<u32>) {
        let mut tried = Vec::new();
        loop {
            match hunt.next_burst() {
                HuntStep::Found(frames) => return (frames, tried),
                HuntStep::Try(frames) => {
                    tried.push(frames);
                    hunt.judge(BurstOutcome::of(u64::from(frames.saturating_sub(limit))));
                }
            }
            assert!(tried.len() < 100, "the hunt does not end: {tried:?}");
        }
    }

    //= rfc7640 5.1.1
    /// 42 frames of 1518 bytes pass, 46 do not: 43 does, 44 does not.
    #[test]
    fn a_few_steps_are_counted_up_one_by_one() {
        assert_eq!(against(BurstHunt::new(42, 46, 1, None), 43), (43, Vec::from([43, 44])));
    }

    /// 500 to 1: 250, 375, 312 and 343 and 327 halve it to 15 frames, 7 of which are counted.
    #[test]
    fn a_long_way_is_halved_first() {
        let (found, tried) = against(BurstHunt::new(0, 500, 1, None), 330);
        assert_eq!(found, 330);
        assert_eq!(tried[..3], [250, 375, 312]);
        assert!(tried.len() <= 6 + COUNTED_STEPS as usize, "{tried:?}");
    }

    #[test]
    fn what_came_through_whole_is_where_the_hunt_begins() {
        assert_eq!(against(BurstHunt::new(0, 500, 1, Some(330)), 330).1[0], 330);
        let misled = against(BurstHunt::new(0, 500, 1, Some(400)), 330);
        assert_eq!((misled.0, misled.1[0]), (330, 400));
    }

    #[test]
    fn a_kilobyte_is_at_least_a_frame() {
        assert_eq!([64, 512, 1000, 1518].map(frames_per_kilobyte), [15, 1, 1, 1]);
    }

    proptest! {
        //= rfc7640 5.1.1
        #[test]
        fn the_hunt_ends_within_a_step_of_the_truth(
            passing in 0_u32..10_000, way in 1_u32..100_000, step in 1_u32..20,
            limit in 0_u32..120_000, hint in proptest::option::of(0_u32..120_000),
        ) {
            let failing = passing + way;
            let limit = limit.clamp(passing, failing - 1);
            let (found, tried) = against(BurstHunt::new(passing, failing, step, hint), limit);
            prop_assert!(found <= limit && limit - found < step, "{found} of {limit}");
            // The hint, 17 halvings of 100,000 and the steps that are counted.
            prop_assert!(tried.len() <= 1 + 17 + COUNTED_STEPS as usize + 1, "{tried:?}");
        }

        #[test]
        fn the_hunt_ends_whatever_comes_through(
            failing in 1_u32..100_000, step in 1_u32..20,
            lost in prop::collection::vec(0_u64..2, 40),
        ) {
            let mut hunt = BurstHunt::new(0, failing, step, Some(failing / 3));
            let mut ends = false;
            for lost in lost {
                match hunt.next_burst() {
                    HuntStep::Found(frames) => {
                        ends = true;
                        prop_assert!(frames < failing);
                        break;
                    }
                    HuntStep::Try(frames) => {
                        prop_assert!((1..failing).contains(&frames));
                        hunt.judge(BurstOutcome::of(lost));
                    }
                }
            }
            prop_assert!(ends);
        }
    }
}

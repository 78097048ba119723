//! The search for the highest rate a path carries: binary, and fast by the loss that was measured.

use fp_model::Rate;
use serde::{Deserialize, Serialize};

/// How a rate is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchKind {
    Binary,
    /// Loss-aware: a failed trial has measured how much gets through.
    Fast,
    /// RFC 9971.
    Mlr,
}

/// Where to look, and how finely.
///
/// The unit of the rates is the caller's: whole bits per second on a network, whole millionths of a
/// percent of a line where a standard counts in percent. Integers, because then halving ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchPlan {
    /// Taken to pass: nobody looks below it.
    pub lowest: Rate,
    pub highest: Rate,
    /// The first rate to try, within the bounds; usually the highest.
    pub initial: Rate,
    /// The search ends when the bounds are this close; zero is taken as one unit.
    pub resolution: Rate,
    /// The loss ratio up to which a trial has passed: 0 for RFC 2544.
    pub accepted_loss_ratio: f64,
}

/// What a search wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Try(Rate),
    /// The highest rate that passed, or the lowest of the plan where none did.
    Found(Rate),
}

/// A search in progress.
#[derive(Clone, Debug)]
pub struct Search {
    strategy: Strategy,
    plan: SearchPlan,
    /// The highest rate known to pass.
    passing: Rate,
    /// The lowest rate known to fail, or the highest of the plan.
    failing: Rate,
    tried: Rate,
    why: Why,
    any_passed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Binary,
    Fast,
}

/// Why a rate is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It is what came through at a higher rate.
    Estimate,
    Otherwise,
}

impl Search {
    /// Halves the distance between the highest pass and the lowest fail.
    pub fn binary(plan: SearchPlan) -> Self {
        Self::new(Strategy::Binary, plan)
    }

    /// Goes down to the rate that came through, then one resolution up to see it fail.
    ///
    /// An ideal rate limiter is found in three trials. Behind a policer the estimate is too high by
    /// what its bucket holds, spread over the trial: drain it first.
    pub fn fast(plan: SearchPlan) -> Self {
        Self::new(Strategy::Fast, plan)
    }

    fn new(strategy: Strategy, plan: SearchPlan) -> Self {
        assert!(plan.lowest <= plan.highest, "a search goes from a lower rate to a higher one");
        let resolution = plan.resolution.max(Rate::bps(1));
        let initial = plan.initial.clamp(plan.lowest, plan.highest);
        Self {
            strategy,
            plan: SearchPlan { resolution, initial, ..plan },
            passing: plan.lowest,
            failing: plan.highest,
            tried: initial,
            why: Why::Otherwise,
            any_passed: false,
        }
    }

    /// The rate to begin with.
    pub const fn first(&self) -> Rate {
        self.plan.initial
    }

    /// Whether any rate tried so far has passed; if none has, what is found is only the lower
    /// bound of the plan.
    pub const fn any_passed(&self) -> bool {
        self.any_passed
    }

    /// Takes the loss ratio of the rate tried last and says what comes next.
    ///
    /// A ratio outside 0 to 1 counts as the nearer end; not a number counts as all lost.
    pub fn judge(&mut self, loss_ratio: f64) -> Step {
        let loss_ratio = if loss_ratio.is_nan() { 1.0 } else { loss_ratio.clamp(0.0, 1.0) };
        let (next, why) = if loss_ratio <= self.plan.accepted_loss_ratio {
            self.any_passed = true;
            self.passing = self.tried;
            self.after_pass()
        } else {
            self.failing = self.tried;
            self.after_fail(loss_ratio)
        };
        if self.distance() <= self.plan.resolution.as_bps() {
            return Step::Found(self.passing);
        }
        (self.tried, self.why) = (next, why);
        Step::Try(next)
    }

    fn after_pass(&self) -> (Rate, Why) {
        match self.why {
            Why::Estimate => {
                let above = self.tried.as_bps().saturating_add(self.plan.resolution.as_bps());
                (Rate::bps(above), Why::Otherwise)
            }
            Why::Otherwise => (self.midpoint(), Why::Otherwise),
        }
    }

    fn after_fail(&self, loss_ratio: f64) -> (Rate, Why) {
        if self.strategy == Strategy::Binary {
            return (self.midpoint(), Why::Otherwise);
        }
        let received = self.tried.as_bps() as f64 * (1.0 - loss_ratio);
        // However small the loss, the next rate is lower by half a resolution at least.
        let below = self.failing.as_bps().saturating_sub(self.plan.resolution.as_bps().div_ceil(2));
        let estimate = Rate::bps((received as u64).min(below));
        // An estimate that failed itself was no estimate of a capacity: loss that does not depend
        // on the rate would be followed down in tiny steps.
        let misled = self.why == Why::Estimate && estimate > self.midpoint();
        if misled || estimate <= self.passing {
            (self.midpoint(), Why::Otherwise)
        } else {
            (estimate, Why::Estimate)
        }
    }

    fn midpoint(&self) -> Rate {
        Rate::bps(self.passing.as_bps() + self.distance() / 2)
    }

    fn distance(&self) -> u64 {
        self.failing.as_bps().saturating_sub(self.passing.as_bps())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    /// Percent of a line in units of a millionth.
    const PERCENT: u64 = 1_000_000;

    fn plan() -> SearchPlan {
        SearchPlan {
            lowest: Rate::bps(10 * PERCENT),
            highest: Rate::bps(100 * PERCENT),
            initial: Rate::bps(100 * PERCENT),
            resolution: Rate::bps(PERCENT / 2),
            accepted_loss_ratio: 0.0,
        }
    }

    /// Runs a search against a link that carries `capacity` and drops the rest.
    fn against(mut search: Search, capacity: u64) -> (u64, Vec<u64>) {
        let mut tried = Vec::from([search.first().as_bps()]);
        loop {
            let offered = tried[tried.len() - 1];
            let loss_ratio = (1.0 - capacity as f64 / offered as f64).max(0.0);
            match search.judge(loss_ratio) {
                Step::Found(rate) => return (rate.as_bps(), tried),
                Step::Try(rate) => tried.push(rate.as_bps()),
            }
            assert!(tried.len() < 100, "the search does not end: {tried:?}");
        }
    }

    /// 100 fails, then the halves of 10..100: 55, 32.5, 43.75, 38.125 and on, nine trials in all.
    #[test]
    fn a_binary_search_halves_until_its_bounds_are_a_resolution_apart() {
        let (found, tried) = against(Search::binary(plan()), 38_500_000);
        assert_eq!(tried[..5], [100_000_000, 55_000_000, 32_500_000, 43_750_000, 38_125_000]);
        assert_eq!(tried.len(), 9);
        assert_eq!(found, 38_476_562);
    }

    #[test]
    fn a_fast_search_finds_a_rate_limiter_in_three_trials() {
        for capacity in [94_700_000, 77_770_000, 12_000_000] {
            let (found, tried) = against(Search::fast(plan()), capacity);
            assert_eq!(tried, [100_000_000, capacity, capacity + 500_000]);
            assert_eq!(found, capacity);
        }
    }

    #[test]
    fn a_line_that_carries_everything_needs_one_trial() {
        for search in [Search::binary(plan()), Search::fast(plan())] {
            assert_eq!(against(search, 100 * PERCENT), (100 * PERCENT, Vec::from([100 * PERCENT])));
        }
    }

    #[test]
    fn a_search_that_saw_no_pass_says_so() {
        let mut search = Search::binary(plan());
        while let Step::Try(_) = search.judge(1.0) {}
        assert!(!search.any_passed());
    }

    /// Ninety percent in steps of half a resolution would be 360 trials.
    #[test]
    fn loss_that_does_not_depend_on_the_rate_is_not_followed_in_tiny_steps() {
        let mut search = Search::fast(plan());
        let trials = (1..).find(|_| matches!(search.judge(1e-5), Step::Found(_)));
        assert!(trials.unwrap() <= 20);
        assert!(!search.any_passed());
    }

    #[test]
    fn a_resolution_of_zero_still_ends() {
        let exact = SearchPlan { resolution: Rate::ZERO, ..plan() };
        assert_eq!(against(Search::binary(exact), 38_500_001).0, 38_500_001);
    }

    proptest! {
        #[test]
        fn both_searches_find_the_capacity_within_the_resolution(
            capacity in 10_000_000_u64..=100_000_000, resolution in 1_u64..5_000_000,
        ) {
            let plan = SearchPlan { resolution: Rate::bps(resolution), ..plan() };
            for search in [Search::binary(plan), Search::fast(plan)] {
                let (found, tried) = against(search, capacity);
                prop_assert!(found <= capacity, "{found} of {capacity}");
                prop_assert!(capacity - found <= resolution, "{found} of {capacity}");
                // 90,000,000 halve 27 times at most.
                prop_assert!(tried.len() <= 30);
            }
        }

        #[test]
        fn a_search_ends_whatever_the_losses(
            losses in prop::collection::vec(prop::num::f64::ANY, 200),
        ) {
            for mut search in [Search::binary(plan()), Search::fast(plan())] {
                prop_assert!(losses.iter().any(|loss| matches!(search.judge(*loss), Step::Found(_))));
            }
        }
    }
}

//! Which load an MLRsearch measures next, and for how long: RFC 9971's controller.
//!
//! The RFC leaves the selection free. This one measures the highest load first, goes on from what
//! it forwarded, and approaches each goal through coarser targets with shorter trials, for all
//! goals at once: every trial counts for each of them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Rate;
use serde::{Deserialize, Serialize};

use super::{LoadClass, LoadTrial, SearchGoal};
use crate::formula::seconds;
use crate::{Number, Seconds};

/// Coarser targets before the one that the goal asks for; each is twice as wide as the next.
const PRECEDING_TARGETS: i32 = 2;
/// A search whose trials contradict each other is given up after so many.
const TRIALS_MAX: u32 = 2000;
/// No target is wider than this.
const WIDTH_MAX: f64 = 0.5;

//= rfc9971 4.6.7
/// What is searched, and how closely.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// How long the first trials take; at most the final duration.
    #[serde(rename = "initial_s", with = "seconds")]
    pub initial_duration: Duration,
    /// A trial this long counts in full.
    #[serde(rename = "final_s", with = "seconds")]
    pub final_duration: Duration,
    /// Trials at one load must sum up to this.
    #[serde(rename = "sum_s", with = "seconds")]
    pub duration_sum: Duration,
    /// A trial with more loss is a bad one.
    pub loss_ratio: f64,
    /// The share of bad trials that is still accepted; below 1.
    pub exceed_ratio: f64,
    /// How far apart the bounds may be, relative to the upper one.
    pub width: f64,
}

impl Goal {
    /// What classifies a load for this goal.
    pub fn classification(&self) -> SearchGoal {
        self.target(0).goal
    }

    /// The target that is `2^level` times as wide; level 0 is the goal itself.
    fn target(&self, level: i32) -> Target {
        let between = |from: Duration, to: Duration| {
            let ratio = to.as_secs_f64() / from.as_secs_f64().max(1e-9);
            let passed = f64::from(PRECEDING_TARGETS - level) / f64::from(PRECEDING_TARGETS);
            from.mul_f64(libm::pow(ratio, passed))
        };
        let initial = self.initial_duration.min(self.final_duration);
        let (trial, sum) = if level == 0 {
            (self.final_duration, self.duration_sum)
        } else {
            (between(initial, self.final_duration), between(initial, self.duration_sum))
        };
        Target {
            goal: SearchGoal {
                final_duration: Seconds::from(trial),
                duration_sum: Seconds::from(sum.max(trial)),
                loss_ratio: Number::nearest(self.loss_ratio),
                exceed_ratio: Number::nearest(self.exceed_ratio),
            },
            trial,
            width: (self.width * f64::from(1 << level)).clamp(0.0, WIDTH_MAX),
        }
    }
}

/// What a controller wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Measure { load: Rate, duration: Duration },
    Done,
}

/// What was found for one goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalResult {
    /// The largest load that meets the goal below all that miss it.
    pub lower: Option<Rate>,
    /// The smallest load that misses it.
    pub upper: Option<Rate>,
    /// The lower bound less the loss that the goal's quantile of its trials had.
    pub conditional_throughput: Option<Rate>,
    /// Both bounds are known and within the goal's width.
    pub is_regular: bool,
}

/// A search in progress. The unit of the loads is the caller's, as it is for `search::Search`.
#[derive(Clone, Debug)]
pub struct Controller {
    goals: Vec<Goal>,
    /// From the coarsest of all goals to the goals themselves.
    targets: Vec<Target>,
    min_load: Rate,
    max_load: Rate,
    trials: BTreeMap<Rate, Vec<LoadTrial>>,
    measured: u32,
    /// Loads measured in a row to move the lower bound up, or the upper one down.
    strides: u32,
    last_bounds: Bounds,
}

/// A goal, or a coarser one on the way to it.
#[derive(Clone, Copy, Debug)]
struct Target {
    goal: SearchGoal,
    trial: Duration,
    width: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bounds {
    lower: Option<Rate>,
    upper: Option<Rate>,
}

impl Controller {
    /// # Panics
    /// Where the loads are the wrong way round.
    pub fn new(goals: &[Goal], min_load: Rate, max_load: Rate) -> Self {
        assert!(min_load <= max_load, "a search goes from a lower load to a higher one");
        let levels = (0..=PRECEDING_TARGETS).rev();
        let targets = levels.flat_map(|level| goals.iter().map(move |goal| goal.target(level)));
        Self {
            targets: targets.collect(),
            goals: goals.to_vec(),
            min_load,
            max_load,
            trials: BTreeMap::new(),
            measured: 0,
            strides: 0,
            last_bounds: Bounds::default(),
        }
    }

    /// The next trial: the first target that is not met yet decides.
    pub fn next_step(&mut self) -> Step {
        if self.measured >= TRIALS_MAX {
            return Step::Done;
        }
        for target in self.targets.clone() {
            let bounds = self.bounds(&target);
            if self.is_met(&target, bounds) {
                continue;
            }
            let load = self.begun(&target, bounds).unwrap_or_else(|| self.fresh(&target, bounds));
            return Step::Measure { load, duration: target.trial };
        }
        Step::Done
    }

    /// Takes the loss ratio of a trial; not a number counts as all lost.
    pub fn on_trial(&mut self, load: Rate, duration: Duration, loss_ratio: f64) {
        let loss_ratio = if loss_ratio.is_nan() { 1.0 } else { loss_ratio.clamp(0.0, 1.0) };
        let trial = LoadTrial {
            duration: Seconds::from(duration),
            loss_ratio: Number::nearest(loss_ratio),
        };
        self.trials.entry(load).or_default().push(trial);
        self.measured += 1;
    }

    pub const fn trials_measured(&self) -> u32 {
        self.measured
    }

    //= rfc9971 4.8.4
    /// What is known of each goal, in the goals' order.
    pub fn results(&self) -> Vec<GoalResult> {
        let result = |goal: &Goal| {
            let target = goal.target(0);
            let bounds @ Bounds { lower, upper } = self.bounds(&target);
            let conditional_throughput = lower.map(|load| {
                let ratio = target.goal.conditional_forwarding_ratio(&self.trials[&load]);
                load.scaled(ratio.to_f64().unwrap_or(0.0))
            });
            let is_regular = lower.is_some() && upper.is_some() && self.is_met(&target, bounds);
            GoalResult { lower, upper, conditional_throughput, is_regular }
        };
        self.goals.iter().map(result).collect()
    }

    //= rfc9971 4.8.1
    //= rfc9971 4.8.2
    /// The relevant bounds: the smallest upper one, and the largest lower one below it.
    fn bounds(&self, target: &Target) -> Bounds {
        let mut bounds = Bounds::default();
        for (load, trials) in &self.trials {
            match target.goal.classify(trials) {
                LoadClass::LowerBound => bounds.lower = Some(*load),
                LoadClass::UpperBound => {
                    bounds.upper = Some(*load);
                    break;
                }
                LoadClass::Undecided => {}
            }
        }
        bounds
    }

    fn is_met(&self, target: &Target, bounds: Bounds) -> bool {
        match (bounds.lower, bounds.upper) {
            (Some(lower), Some(upper)) => {
                let apart = upper.as_bps() - lower.as_bps();
                apart <= 1 || apart as f64 <= target.width * upper.as_bps() as f64
            }
            (Some(lower), None) => lower >= self.max_load,
            (None, Some(upper)) => upper <= self.min_load,
            (None, None) => false,
        }
    }

    /// A load between the bounds of which nothing is decided yet: first one that this target began
    /// to measure, then the bounds of coarser targets, which are what it most likely confirms.
    fn begun(&self, target: &Target, bounds: Bounds) -> Option<Rate> {
        let above = |load: Rate| bounds.lower.is_none_or(|lower| load > lower);
        let below = |load: Rate| bounds.upper.is_none_or(|upper| load < upper);
        let open = || {
            let inside = self.trials.iter().filter(move |(load, _)| above(**load) && below(**load));
            inside.filter(|(_, trials)| target.goal.classify(trials) == LoadClass::Undecided)
        };
        let is_full = |trials: &[LoadTrial]| {
            trials.iter().any(|trial| trial.duration >= target.goal.final_duration)
        };
        let short_loss = |trials: &[LoadTrial]| {
            trials.iter().any(|trial| trial.loss_ratio > target.goal.loss_ratio)
        };
        let under_way = open().find(|(_, trials)| is_full(trials));
        let clean = || open().rfind(|(_, trials)| !short_loss(trials));
        let lossy = || open().find(|(_, trials)| short_loss(trials));
        under_way.or_else(clean).or_else(lossy).map(|(load, _)| *load)
    }

    /// A load that has not been measured yet, strictly between the bounds.
    fn fresh(&mut self, target: &Target, bounds: Bounds) -> Rate {
        let stride = self.stride(target, bounds);
        match (bounds.lower, bounds.upper) {
            (None, None) => self.max_load,
            (Some(lower), None) => stride_up(lower, stride).min(self.max_load),
            (None, Some(upper)) => {
                let forwarded = upper.scaled(1.0 - self.mean_loss(upper));
                let below = upper.scaled(1.0 - stride).min(Rate::bps(upper.as_bps() - 1));
                forwarded.min(below).max(self.min_load)
            }
            (Some(lower), Some(upper)) => {
                let halfway = lower.as_bps() + (upper.as_bps() - lower.as_bps()) / 2;
                stride_up(lower, stride).min(Rate::bps(halfway)).max(Rate::bps(lower.as_bps() + 1))
            }
        }
    }

    /// How far from a bound the next load lies: the target's width, twice that where the bound has
    /// just moved by it in vain, and so on.
    fn stride(&mut self, target: &Target, bounds: Bounds) -> f64 {
        let before = core::mem::replace(&mut self.last_bounds, bounds);
        let moves_up = bounds.upper == before.upper && bounds.lower > before.lower;
        let moves_down = bounds.lower == before.lower && bounds.upper != before.upper;
        self.strides = if moves_up || (moves_down && bounds.lower.is_none()) {
            self.strides.saturating_add(1)
        } else {
            0
        };
        let widened = f64::from(self.strides.saturating_sub(1).min(30));
        (target.width.max(1e-9) * libm::pow(2.0, widened)).min(WIDTH_MAX)
    }

    fn mean_loss(&self, load: Rate) -> f64 {
        let trials = &self.trials[&load];
        let sum: f64 = trials.iter().filter_map(|trial| trial.loss_ratio.to_f64()).sum();
        sum / trials.len().max(1) as f64
    }
}

/// The largest load whose distance to `lower` is `width` of itself, and one more at least.
fn stride_up(lower: Rate, width: f64) -> Rate {
    let above = (lower.as_bps() as f64 / (1.0 - width)) as u64;
    Rate::bps(above.max(lower.as_bps().saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAX: Rate = Rate::mbps(100);
    const MIN: Rate = Rate::mbps(1);

    /// RFC 2544's: a minute, nothing lost.
    fn rfc2544() -> Goal {
        Goal {
            initial_duration: Duration::from_secs(1),
            final_duration: Duration::from_secs(60),
            duration_sum: Duration::from_secs(60),
            loss_ratio: 0.0,
            exceed_ratio: 0.0,
            width: 0.005,
        }
    }

    /// TST009's: two minutes in trials of one, of which one may lose something.
    fn loss_verification() -> Goal {
        Goal { duration_sum: Duration::from_secs(120), exceed_ratio: 0.5, ..rfc2544() }
    }

    /// Half a percent may be lost.
    fn partial_drop() -> Goal {
        Goal { loss_ratio: 0.005, ..loss_verification() }
    }

    /// Drops what exceeds `capacity`.
    fn limiter(capacity: Rate) -> impl FnMut(Rate, Duration) -> f64 {
        move |load, _| (1.0 - capacity.as_bps() as f64 / load.as_bps() as f64).max(0.0)
    }

    fn run(goals: &[Goal], mut loss: impl FnMut(Rate, Duration) -> f64) -> (Controller, Duration) {
        let mut controller = Controller::new(goals, MIN, MAX);
        let mut took = Duration::ZERO;
        while let Step::Measure { load, duration } = controller.next_step() {
            assert!((MIN..=MAX).contains(&load), "{load:?}");
            took += duration;
            let ratio = loss(load, duration);
            controller.on_trial(load, duration, ratio);
        }
        (controller, took)
    }

    /// Forwarded at the highest load is the capacity: it is the first lower bound, and the load one
    /// width above it the first upper one, at each of the three targets.
    #[test]
    fn a_rate_limiter_is_bracketed_at_once_from_what_it_forwards_at_the_highest_load() {
        let capacity = Rate::mbps(77);
        let (controller, took) = run(&[rfc2544()], limiter(capacity));
        let result = controller.results()[0];
        assert!(result.is_regular);
        assert_eq!(result.lower, Some(capacity));
        assert_eq!(result.conditional_throughput, Some(capacity));
        let upper = result.upper.unwrap().as_bps() as f64;
        assert!(upper > 77e6 && upper <= 77e6 / 0.995);
        // A single lossy trial of any length rules a load out; only clean ones need 60 s.
        // Binary search from 1 to 100 % by half a percent: 8 trials of 60 s.
        assert!(took < Duration::from_secs(3 * 60), "{took:?}");
    }

    #[test]
    fn a_line_that_carries_everything_has_no_upper_bound() {
        let (controller, took) = run(&[rfc2544()], |_, _| 0.0);
        let result = controller.results()[0];
        assert_eq!((result.lower, result.upper), (Some(MAX), None));
        assert!(!result.is_regular);
        // 1 s, √60 s, 60 s.
        assert!(took < Duration::from_secs(69), "{took:?}");
    }

    #[test]
    fn a_line_that_loses_at_every_load_has_no_lower_bound() {
        let (controller, _) = run(&[rfc2544()], |_, _| 0.01);
        let result = controller.results()[0];
        assert_eq!((result.lower, result.upper), (None, Some(MIN)));
        assert_eq!(result.conditional_throughput, None);
    }

    //= rfc9971 4.8.1
    //= rfc9971 4.8.2
    /// 0.5 % lost at c / 0.995: the second goal's bound is that much higher.
    #[test]
    fn several_goals_share_their_trials() {
        let goals = [loss_verification(), partial_drop()];
        let capacity = Rate::mbps(60);
        let (both, _) = run(&goals, limiter(capacity));
        let [strict, partial] = both.results()[..] else { panic!("two goals") };
        for (result, truth) in [(strict, 60e6), (partial, 60e6 / 0.995)] {
            assert!(result.is_regular);
            let lower = result.lower.unwrap().as_bps() as f64;
            assert!(lower <= truth && lower >= truth * 0.995, "{lower} of {truth}");
        }
        let alone: u32 =
            goals.iter().map(|goal| run(&[*goal], limiter(capacity)).0.trials_measured()).sum();
        assert!(both.trials_measured() < alone, "{} of {alone}", both.trials_measured());
    }

    /// One trial in five loses something below the capacity: half of them may.
    #[test]
    fn a_goal_that_accepts_bad_trials_is_not_misled_by_noise() {
        let mut trials = 0_u32;
        let mut line = limiter(Rate::mbps(50));
        let noisy = |load: Rate, duration: Duration| {
            trials += 1;
            let noise = if trials.is_multiple_of(5) { 1e-4 } else { 0.0 };
            line(load, duration).max(noise)
        };
        let goal = Goal {
            initial_duration: Duration::from_secs(1),
            final_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(21),
            ..loss_verification()
        };
        let (controller, _) = run(&[goal], noisy);
        let lower = controller.results()[0].lower.unwrap().as_bps() as f64;
        assert!((50e6 * 0.99..=50e6).contains(&lower), "{lower}");
    }

    proptest! {
        #[test]
        fn every_capacity_is_bracketed_within_the_width(
            capacity in 1_000_000_u64..100_000_000, width in 0.0005_f64..0.1,
        ) {
            let goal = Goal { width, ..rfc2544() };
            let (controller, _) = run(&[goal], limiter(Rate::bps(capacity)));
            let result = controller.results()[0];
            let (lower, upper) = (result.lower.unwrap(), result.upper.unwrap());
            prop_assert!(lower.as_bps() <= capacity && upper.as_bps() > capacity);
            prop_assert!((upper.as_bps() - lower.as_bps()) as f64 <= width * upper.as_bps() as f64);
            prop_assert!(controller.trials_measured() <= 60, "{}", controller.trials_measured());
        }

        #[test]
        fn a_search_ends_whatever_the_losses(
            losses in prop::collection::vec(prop::num::f64::ANY, 64),
        ) {
            let mut next = losses.iter().cycle();
            let goals = [rfc2544(), loss_verification(), partial_drop()];
            let (controller, _) = run(&goals, |_, _| *next.next().unwrap());
            prop_assert!(controller.trials_measured() < TRIALS_MAX);
        }
    }
}

//! MLRsearch: what many trials at one load say about a goal, RFC 9971.

mod controller;

use alloc::vec::Vec;

use crate::{Number, Seconds};
pub use controller::{Controller, Goal, GoalResult, Step};

/// What the user wants to know of a load.
#[derive(Clone, Copy, Debug)]
pub struct SearchGoal {
    /// A trial this long counts in full.
    pub final_duration: Seconds,
    /// Trials must sum up to this.
    pub duration_sum: Seconds,
    /// A trial with more loss is a bad one.
    pub loss_ratio: Number,
    /// The share of bad trials that is still accepted; below 1.
    pub exceed_ratio: Number,
}

/// One trial at a load.
#[derive(Clone, Copy, Debug)]
pub struct LoadTrial {
    pub duration: Seconds,
    pub loss_ratio: Number,
}

/// What a load is for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClass {
    /// The goal is met here.
    LowerBound,
    /// The goal is missed here.
    UpperBound,
    Undecided,
}

impl LoadClass {
    pub const fn name(self) -> &'static str {
        match self {
            Self::LowerBound => "lower",
            Self::UpperBound => "upper",
            Self::Undecided => "undecided",
        }
    }
}

/// Sums of durations by length and loss of the trials.
#[derive(Clone, Copy)]
struct Sums {
    full_low: Seconds,
    full_high: Seconds,
    short_low: Seconds,
    short_high: Seconds,
}

impl SearchGoal {
    //= rfc9971 4.7.2
    /// The normative classification: it holds already if no trial yet to come could change it.
    ///
    /// The worked example of the RFC calls two loads lower bounds that its code makes upper ones;
    /// the code decides.
    pub fn classify(&self, trials: &[LoadTrial]) -> LoadClass {
        let sums = self.sums(trials);
        let excess = self.exceed_ratio / (Number::ONE - self.exceed_ratio);
        // Short trials with little loss make up for short ones with much.
        let balance = sums.short_low * excess;
        let short_excess = (sums.short_high - balance).max(Seconds::ZERO);
        let effective_high = sums.full_high + short_excess;
        let whole = (sums.full_low + effective_high).max(self.duration_sum);
        let accepted = whole * self.exceed_ratio;
        let if_the_rest_is_good = effective_high <= accepted;
        let if_the_rest_is_bad = whole - sums.full_low <= accepted;
        match (if_the_rest_is_good, if_the_rest_is_bad) {
            (true, true) => LoadClass::LowerBound,
            (false, false) => LoadClass::UpperBound,
            (true, false) | (false, true) => LoadClass::Undecided,
        }
    }

    fn sums(&self, trials: &[LoadTrial]) -> Sums {
        let none = Seconds::ZERO;
        let mut sums = Sums { full_low: none, full_high: none, short_low: none, short_high: none };
        for trial in trials {
            let sum = match (self.is_full(trial), trial.loss_ratio > self.loss_ratio) {
                (true, false) => &mut sums.full_low,
                (true, true) => &mut sums.full_high,
                (false, false) => &mut sums.short_low,
                (false, true) => &mut sums.short_high,
            };
            *sum = *sum + trial.duration;
        }
        sums
    }

    fn is_full(&self, trial: &LoadTrial) -> bool {
        trial.duration >= self.final_duration
    }

    //= rfc9971 4.8.3
    /// The share of a load that counts as forwarded: one less the loss at the exceed ratio's
    /// quantile of the full-length trials. Trials that are still missing count as all lost.
    pub fn conditional_forwarding_ratio(&self, trials: &[LoadTrial]) -> Number {
        let mut full: Vec<&LoadTrial> = trials.iter().filter(|trial| self.is_full(trial)).collect();
        full.sort_by(|a, b| {
            a.loss_ratio.partial_cmp(&b.loss_ratio).unwrap_or(core::cmp::Ordering::Equal)
        });
        let measured = full.iter().fold(Seconds::ZERO, |sum, trial| sum + trial.duration);
        let whole = measured.max(self.duration_sum);
        let mut remaining = whole * (Number::ONE - self.exceed_ratio);
        for trial in full {
            remaining = remaining - trial.duration;
            if remaining <= Seconds::ZERO {
                return Number::ONE - trial.loss_ratio;
            }
        }
        Number::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: i64) -> Seconds {
        Seconds(Number::whole(value))
    }

    fn goal(final_s: i64, sum_s: i64, loss: (i128, i128), exceed: (i128, i128)) -> SearchGoal {
        SearchGoal {
            final_duration: seconds(final_s),
            duration_sum: seconds(sum_s),
            loss_ratio: Number::ratio(loss.0, loss.1),
            exceed_ratio: Number::ratio(exceed.0, exceed.1),
        }
    }

    fn trials(groups: &[(usize, i64, (i128, i128))]) -> Vec<LoadTrial> {
        let each = |&(count, duration, loss): &(usize, i64, (i128, i128))| {
            let loss_ratio = Number::ratio(loss.0, loss.1);
            core::iter::repeat_n(LoadTrial { duration: seconds(duration), loss_ratio }, count)
        };
        groups.iter().flat_map(each).collect()
    }

    //= rfc9971 4.7.2
    /// The example's point 6: sixty clean seconds, sixty with 1 %, two minutes of which one lost
    /// 0.1 %. For TST009 half of the full trials may exceed: 60 s of 120.
    #[test]
    fn loss_verification_accepts_a_load_of_which_half_the_trials_are_clean() {
        let tst009 = goal(60, 120, (0, 1), (1, 2));
        let point_5 = trials(&[(60, 1, (0, 1)), (60, 1, (1, 100)), (1, 60, (1, 1000))]);
        assert_eq!(tst009.classify(&point_5), LoadClass::Undecided);
        let mut point_6 = point_5;
        point_6.push(LoadTrial { duration: seconds(60), loss_ratio: Number::ZERO });
        assert_eq!(tst009.classify(&point_6), LoadClass::LowerBound);
        assert_eq!(tst009.conditional_forwarding_ratio(&point_6), Number::ONE);
    }

    #[test]
    fn one_lossy_second_rules_a_load_out_for_rfc_2544() {
        let rfc2544 = goal(60, 60, (0, 1), (0, 1));
        assert_eq!(rfc2544.classify(&trials(&[(59, 1, (0, 1))])), LoadClass::Undecided);
        let with_loss = trials(&[(59, 1, (0, 1)), (1, 1, (1, 100))]);
        assert_eq!(rfc2544.classify(&with_loss), LoadClass::UpperBound);
        let full = trials(&[(1, 60, (0, 1))]);
        assert_eq!(rfc2544.classify(&full), LoadClass::LowerBound);
    }

    /// 45 short seconds lost, 60 short ones clean make up for 15 of them; 45 of 105 is 42.857 %.
    #[test]
    fn a_fifth_may_exceed_and_not_more() {
        let goal = goal(60, 60, (5, 1000), (1, 5));
        let point_5 = trials(&[(60, 1, (0, 1)), (60, 1, (1, 100)), (1, 60, (1, 1000))]);
        assert_eq!(goal.classify(&point_5), LoadClass::UpperBound);
    }

    //= rfc9971 4.8.3
    #[test]
    fn missing_trials_count_as_lost_in_the_conditional_throughput() {
        let goal = goal(60, 120, (0, 1), (1, 5));
        assert_eq!(goal.conditional_forwarding_ratio(&[]), Number::ZERO);
        let one = trials(&[(1, 60, (0, 1))]);
        assert_eq!(goal.conditional_forwarding_ratio(&one), Number::ZERO);
        let two = trials(&[(1, 60, (0, 1)), (1, 60, (1, 1000))]);
        assert_eq!(goal.conditional_forwarding_ratio(&two), Number::ratio(999, 1000));
    }
}

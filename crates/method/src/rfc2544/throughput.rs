//! Section 26.1: the fastest rate at which nothing is lost.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Rate};

use super::line::Line;
use super::offer::{Offer, Offered};
use super::report::{FrameRate, Limit, LineSource, Throughput, TrialRow};
use super::{Run, SearchKind, Way};
use crate::mlr::{self, Controller, Goal, GoalResult};
use crate::search::{Search, SearchPlan, Step as SearchStep};

/// So many times a rate empties the bucket of a policer and fills a queue soon.
const OVERLOAD: f64 = 2.0;
/// What the search found and a longer trial refutes is lowered so often.
const CONFIRMATIONS_MAX: u32 = 10;

//= rfc2544 26.1
pub(super) fn throughput(
    run: &mut Run<'_>,
    way: Way,
    line: Line,
    frame_bytes: u32,
) -> Result<Throughput, Abort> {
    let accepted = run.plan.accepted_loss_ratio;
    let mut finder = Finder {
        run,
        way,
        line,
        highest: line.highest(frame_bytes),
        accepted,
        rows: Vec::new(),
        failing: None,
    };
    let Searched { found_l1, goals } = match finder.run.plan.search {
        SearchKind::Binary => finder.search(Search::binary)?,
        SearchKind::Fast => finder.search(Search::fast)?,
        SearchKind::Mlr => finder.mlr_search()?,
    };
    let confirmed_l1 = match (found_l1, finder.run.plan.durations.confirmation) {
        (Some(found_l1), Some(lasts)) => finder.confirm(found_l1, lasts)?,
        (found_l1, _) => found_l1,
    };
    let found = confirmed_l1.map(|rate_l1| finder.really_sent(rate_l1));
    let limit = finder.limit(found);
    let trials = finder.rows;
    // Nothing is known of the network then.
    run.health.spoilt_trials += u32::from(found.is_none() && limit == Limit::Tester);
    let theoretical = line.theoretical(frame_bytes);
    Ok(Throughput { way, frame_bytes, found, theoretical, limit, trials, goals })
}

/// The row of a length that does not fit the path, of which nothing is sent.
pub(super) fn too_long(way: Way, line: Line, frame_bytes: u32) -> Throughput {
    Throughput {
        way,
        frame_bytes,
        found: None,
        theoretical: line.theoretical(frame_bytes),
        limit: Limit::PathMtu,
        trials: Vec::new(),
        goals: Vec::new(),
    }
}

/// What a search has found, if anything, and of which goals if it had any.
struct Searched {
    found_l1: Option<Rate>,
    goals: Vec<(Goal, GoalResult)>,
}

impl Searched {
    const fn without_goals(found_l1: Option<Rate>) -> Self {
        Self { found_l1, goals: Vec::new() }
    }
}

struct Finder<'a, 'b> {
    run: &'a mut Run<'b>,
    way: Way,
    line: Line,
    highest: FrameRate,
    accepted: f64,
    rows: Vec<TrialRow>,
    /// The lowest rate that failed.
    failing: Option<TrialRow>,
}

impl Finder<'_, '_> {
    /// The highest rate first; if it fails, the search begins with what it says.
    fn search(&mut self, strategy: fn(SearchPlan) -> Search) -> Result<Searched, Abort> {
        let seen = self.offer(self.highest.rate_l1)?;
        if self.passes(&seen) {
            return Ok(Searched::without_goals(Some(self.highest.rate_l1)));
        }
        let share = self.run.plan.resolution_percent / 100.0;
        let came_through = seen.received_l1.min(self.highest.rate_l1);
        let scale = if came_through > Rate::ZERO { came_through } else { self.highest.rate_l1 };
        let resolution = scale.scaled(share);
        let mut search = strategy(SearchPlan {
            lowest: resolution,
            highest: self.highest.rate_l1,
            initial: self.highest.rate_l1,
            resolution,
            accepted_loss_ratio: 0.0,
        });
        let mut loss = self.excess(&seen);
        loop {
            match search.judge(loss) {
                SearchStep::Found(found_l1) => {
                    let found_l1 = search.any_passed().then_some(found_l1);
                    return Ok(Searched::without_goals(found_l1));
                }
                SearchStep::Try(rate_l1) => {
                    let seen = self.offer(rate_l1)?;
                    loss = self.excess(&seen);
                }
            }
        }
    }

    //= rfc9971 4.6.8
    /// All goals at once, in trials that are as long as the controller wants them.
    fn mlr_search(&mut self) -> Result<Searched, Abort> {
        let goals = self.run.plan.goals.clone();
        let width = goals.iter().map(|goal| goal.width).fold(1.0, f64::min);
        let min_load = self.highest.rate_l1.scaled(width);
        let mut controller = Controller::new(&goals, min_load, self.highest.rate_l1);
        while let mlr::Step::Measure { load, duration } = controller.next_step() {
            let seen = self.offer_for(load, duration)?;
            let loss = if seen.fills_a_queue { seen.shortfall() } else { 0.0 };
            controller.on_trial(load, duration, seen.loss_ratio.max(loss));
        }
        let results = controller.results();
        let found_l1 = results.first().and_then(|result| result.conditional_throughput);
        Ok(Searched { found_l1, goals: goals.into_iter().zip(results).collect() })
    }

    //= rfc2544 24
    /// A trial as long as the plan asks for the final determination; where it fails, lower ones.
    fn confirm(&mut self, found_l1: Rate, lasts: Duration) -> Result<Option<Rate>, Abort> {
        let resolution = found_l1.scaled(self.run.plan.resolution_percent / 100.0);
        let mut rate_l1 = found_l1;
        for _ in 0..CONFIRMATIONS_MAX {
            let rate = self.highest.with_rate(rate_l1);
            let offer = Offer { purpose: "confirmation", ..Offer::plain(self.way, rate, lasts) };
            let seen = self.run.offer(&offer)?;
            self.keep(TrialRow { confirmation: true, ..seen.row(self.accepted) });
            if self.passes(&seen) {
                return Ok(Some(rate_l1));
            }
            let below = rate_l1.as_bps().saturating_sub(resolution.as_bps());
            rate_l1 = rate_l1.scaled(1.0 - self.excess(&seen)).min(Rate::bps(below));
            if rate_l1 == Rate::ZERO {
                break;
            }
        }
        Ok(None)
    }

    fn offer(&mut self, rate_l1: Rate) -> Result<Offered, Abort> {
        self.offer_for(rate_l1, self.run.plan.durations.trial)
    }

    fn offer_for(&mut self, rate_l1: Rate, steady: Duration) -> Result<Offered, Abort> {
        let rate = self.highest.with_rate(rate_l1);
        let overload_l1 = rate_l1.scaled(OVERLOAD).min(self.line.most());
        let is_wanted = !self.run.plan.durations.overload.is_zero() && overload_l1 > rate_l1;
        let offer = Offer {
            purpose: "throughput",
            overload_l1: is_wanted.then_some(overload_l1),
            ..Offer::plain(self.way, rate, steady)
        };
        let seen = self.run.offer(&offer)?;
        self.keep(seen.row(self.accepted));
        Ok(seen)
    }

    fn keep(&mut self, row: TrialRow) {
        let is_lower = |failing: &TrialRow| row.offered.rate_l1 < failing.offered.rate_l1;
        if !row.passed && self.failing.as_ref().is_none_or(is_lower) {
            self.failing = Some(row);
        }
        self.rows.push(row);
    }

    fn passes(&self, seen: &Offered) -> bool {
        seen.passes(self.accepted)
    }

    /// What a search goes on from: nothing where the trial passed.
    fn excess(&self, seen: &Offered) -> f64 {
        if self.passes(seen) { 0.0 } else { seen.shortfall().max(seen.loss_ratio).max(1e-9) }
    }

    /// The rate of the trial that passed, lower where the tester fell short of it.
    fn really_sent(&self, found_l1: Rate) -> FrameRate {
        let passed = self.rows.iter().rfind(|row| row.passed && row.offered.rate_l1 == found_l1);
        let sent = passed
            .filter(|row| row.tester_limit)
            .map_or(1.0, |row| row.sent_frames as f64 / row.planned_frames.max(1) as f64);
        self.highest.with_rate(found_l1.scaled(sent))
    }

    fn limit(&self, found: Option<FrameRate>) -> Limit {
        let failed_by_tester = self.failing.as_ref().map(TrialRow::failed_by_tester);
        let Some(found) = found else {
            return if failed_by_tester == Some(true) { Limit::Tester } else { Limit::Network };
        };
        if found.rate_l1 == self.highest.rate_l1 {
            return match (self.line.rate_l1, self.line.source) {
                (Some(line_l1), _) if line_l1 <= found.rate_l1 => Limit::Line,
                (_, LineSource::TesterLimit) => Limit::Tester,
                _ => Limit::RateCap,
            };
        }
        // Without a trial that failed the tester may have fallen short of every higher rate.
        let fell_short = || self.rows.iter().any(|row| row.passed && row.tester_limit);
        if failed_by_tester.unwrap_or_else(fell_short) { Limit::Tester } else { Limit::Network }
    }
}

//! Section 26.1: the fastest rate at which nothing is lost.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Rate};

use super::inferred::{Inferred, Looked, infer};
use super::line::Line;
use super::offer::{Drain, Offer, Offered};
use super::steps::{FrameRate, Limit, LineSource, Throughput, TrialRow};
use super::{Run, SearchKind, Way};
use crate::mlr::{self, Controller, Goal, GoalResult};
use crate::search::{Search, SearchPlan, Step as SearchStep};

/// So many times a rate empties the bucket of a policer and fills a queue soon.
const OVERLOAD: f64 = 2.0;
/// Trials around the rate that trains of frames have shown.
const AROUND_MAX: u32 = 12;
/// Where trials pass what trains exclude, one of them lasts as many times as long.
const LONGER: u32 = 4;
/// What was inferred is a line's rate if it is no farther from it than this.
const AS_THE_LINE: f64 = 0.001;
/// What the search found and a longer trial refutes is lowered so often.
const CONFIRMATIONS_MAX: u32 = 10;

//= rfc2544 26.1
pub(super) fn throughput(
    run: &mut Run<'_>,
    (way, looked): (Way, &Looked),
    line: Line,
    frame_bytes: u32,
) -> Result<Throughput, Abort> {
    let accepted = run.plan.accepted_loss_ratio;
    let inferred = infer(run, looked, line, frame_bytes)?;
    let mut finder = Finder {
        run,
        way,
        line,
        highest: line.highest(frame_bytes),
        inferred,
        accepted,
        rows: Vec::new(),
        failing: None,
    };
    let Searched { found_l1, within, goals } = match finder.run.plan.search {
        SearchKind::Binary => finder.search(Search::binary)?,
        SearchKind::Fast => match finder.inferred {
            Some(inferred) => finder.around(&inferred)?,
            None => finder.search(Search::fast)?,
        },
        SearchKind::Mlr => finder.mlr_search()?,
    };
    let confirmed_l1 = match (found_l1, finder.run.plan.durations.confirmation) {
        (Some(found_l1), Some(lasts)) => finder.confirm(found_l1, lasts)?,
        (found_l1, _) => found_l1,
    };
    let found = confirmed_l1.map(|rate_l1| finder.really_sent(rate_l1));
    let (at_least, at_most) = found.map_or((None, None), |found| finder.within(found, within));
    let limit = finder.limit(found);
    let trials = finder.rows;
    // Nothing is known of the network then.
    run.health.spoilt_trials += u32::from(found.is_none() && limit == Limit::Tester);
    let theoretical = line.theoretical(frame_bytes);
    Ok(Throughput { way, frame_bytes, found, at_least, at_most, theoretical, limit, trials, goals })
}

/// The row of a length that does not fit the path, of which nothing is sent.
pub(super) fn too_long(way: Way, line: Line, frame_bytes: u32) -> Throughput {
    Throughput {
        way,
        frame_bytes,
        found: None,
        at_least: None,
        at_most: None,
        theoretical: line.theoretical(frame_bytes),
        limit: Limit::PathMtu,
        trials: Vec::new(),
        goals: Vec::new(),
    }
}

/// What a search has found, if anything, and of which goals if it had any.
struct Searched {
    found_l1: Option<Rate>,
    within: Option<Within>,
    goals: Vec<(Goal, GoalResult)>,
}

impl Searched {
    const fn without_goals(found_l1: Option<Rate>) -> Self {
        Self { found_l1, within: None, goals: Vec::new() }
    }
}

/// The rates of layer 1 between which the throughput lies.
#[derive(Clone, Copy, Debug)]
struct Within {
    from: Rate,
    to: Rate,
}

struct Finder<'a, 'b> {
    run: &'a mut Run<'b>,
    way: Way,
    line: Line,
    highest: FrameRate,
    /// What limits, as trains of frames show it.
    inferred: Option<Inferred>,
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

    /// Trials around the rate that trains of frames have shown.
    ///
    /// A trial of `T` seconds that passes at the rate `r` shows that the path carries `r − H/T` at least,
    /// where `H` is what may still be forgiven in it: the time of one frame, and what a queue or a
    /// shaper's bucket holds. One that loses frames shows that it carries less than `r`.
    fn around(&mut self, inferred: &Inferred) -> Result<Searched, Abort> {
        let most = self.line.most();
        let first = self.first(inferred).min(most);
        let step = first.scaled(self.run.plan.resolution_percent / 100.0).max(Rate::bps(1));
        let forgiven = inferred.forgiven(self.run.plan.durations.trial, self.drain(first).as_ref());
        let shown = |passed: Rate| match inferred.is_bounded() {
            true => Rate::bps(passed.as_bps().saturating_sub(forgiven.as_bps())),
            false => Rate::ZERO,
        };
        let mut within = Within { from: inferred.at_least_l1, to: inferred.at_most_l1 };
        let (mut rate_l1, mut steps) = (first, step);
        let (mut passing, mut failing): (Option<Rate>, Option<Rate>) = (None, None);
        let mut is_disputed = false;
        for _ in 0..AROUND_MAX {
            let seen = self.offer(rate_l1)?;
            if self.passes(&seen) {
                let passed_l1 = self.really_sent(rate_l1).rate_l1;
                passing = passing.max(Some(passed_l1));
                if shown(passed_l1) > inferred.at_most_l1 && failing.is_none() && !is_disputed {
                    // Trains exclude this, unless more was forgiven than they show: a trial that lasts longer
                    // forgives less of each second.
                    is_disputed = true;
                    let seen = self.offer_for(rate_l1, LONGER * self.run.plan.durations.trial)?;
                    if !self.passes(&seen) {
                        break;
                    }
                }
                within.from = within.from.max(shown(passed_l1));
                within.to = within.to.max(within.from);
                if rate_l1 >= most || self.line.rate_l1 == Some(rate_l1) {
                    break;
                }
                rate_l1 = Rate::bps(rate_l1.as_bps().saturating_add(steps.as_bps())).min(most);
                // Nearer to what passed, the next trial would show no more than the first one did.
                steps = Rate::bps(steps.as_bps().saturating_mul(2)).max(forgiven);
            } else {
                failing = Some(failing.map_or(rate_l1, |failing| failing.min(rate_l1)));
                if !inferred.loses && !seen.row(self.accepted).failed_by_tester() {
                    within.to = within.to.min(rate_l1);
                }
                let lower = rate_l1.scaled(1.0 - self.excess(&seen));
                rate_l1 = lower.min(Rate::bps(rate_l1.as_bps().saturating_sub(step.as_bps())));
            }
            if let (Some(passing), Some(failing)) = (passing, failing) {
                let apart = failing.as_bps().saturating_sub(passing.as_bps());
                // Half a step more, because rates are of whole bits.
                if apart <= forgiven.as_bps().max(step.as_bps() + step.as_bps() / 2) {
                    break;
                }
                if rate_l1 >= failing || rate_l1 <= passing {
                    rate_l1 = Rate::bps(passing.as_bps() + apart / 2);
                }
            }
        }
        let Some(passing) = passing else {
            // Frames are lost at any rate.
            return self.search(Search::fast);
        };
        // Above what trains have shown, a rate that passed may have been forgiven.
        let found_l1 = passing.min(first.max(within.from));
        let within = Within { from: within.from.min(shown(found_l1)), to: within.to.max(found_l1) };
        Ok(Searched { found_l1: Some(found_l1), within: Some(within), goals: Vec::new() })
    }

    /// What is asked, where what was inferred does not tell whether it passes: a trial does. An
    /// Ethernet's rate is known better than it can be measured.
    fn first(&self, inferred: &Inferred) -> Rate {
        let Inferred { rate_l1, at_least_l1, at_most_l1, .. } = *inferred;
        let frame_bytes = self.highest.frame_bytes;
        let asked = self.run.plan.criteria.asked(frame_bytes);
        let asked = asked.and_then(|asked| asked.least(frame_bytes, self.line.rate_l1));
        let asked_l1 = asked.map(|asked| asked.rate_l1);
        let near = |rate: &Rate, apart: f64| {
            (at_least_l1.scaled(1.0 - apart)..=at_most_l1.scaled(1.0 + apart)).contains(rate)
        };
        let line_l1 = self.line.rate_l1.filter(|line| near(line, AS_THE_LINE));
        line_l1.or(asked_l1.filter(|asked| near(asked, 0.0))).unwrap_or(rate_l1)
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
        Ok(Searched {
            goals: goals.into_iter().zip(results).collect(),
            ..Searched::without_goals(found_l1)
        })
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
        let drain = self.drain(rate_l1);
        let offer = Offer { purpose: "throughput", drain, ..Offer::plain(self.way, rate, steady) };
        let mut seen = self.run.offer(&offer)?;
        let shown = self.inferred.as_ref().filter(|inferred| !inferred.loses);
        if shown.is_some_and(|inferred| rate_l1 < inferred.at_least_l1) {
            // Trains passed faster: what a host that stood still explains is no loss of the network.
            seen.tester_limit |= seen.may_be_the_hosts();
        }
        self.keep(seen.row(self.accepted));
        Ok(seen)
    }

    /// What is offered before a trial: of a policer that is known, what empties it without filling the
    /// queue of a line in front of it; before a queue that is known nothing, because how a full one drops
    /// is no matter of the rate; of what is not known, twice the rate.
    fn drain(&self, rate_l1: Rate) -> Option<Drain> {
        let overload = self.run.plan.durations.overload;
        if overload.is_zero() {
            return None;
        }
        if let Some(inferred) = &self.inferred {
            let share = self.run.plan.resolution_percent / 100.0;
            let trial = self.run.plan.durations.trial.as_secs_f64();
            let resolved = share * rate_l1.as_bps() as f64 * trial;
            return inferred.drain(self.line.most(), resolved);
        }
        let overload_l1 = rate_l1.scaled(OVERLOAD).min(self.line.most());
        let steps = Vec::from([(overload_l1, overload)]);
        (overload_l1 > rate_l1).then_some(Drain { steps, queued: Duration::ZERO })
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

    /// The interval of what was found, as far as it is known.
    fn within(
        &self,
        found: FrameRate,
        searched: Option<Within>,
    ) -> (Option<FrameRate>, Option<FrameRate>) {
        let at = |rate_l1| Some(found.with_rate(rate_l1));
        if let Some(Within { from, to }) = searched {
            return (at(from.min(found.rate_l1)), at(to.max(found.rate_l1)));
        }
        if self.run.plan.search == SearchKind::Mlr {
            return (None, None);
        }
        // A trial tells a rate to one frame.
        let one_frame = Rate::over(found.bytes_l1(), self.run.plan.durations.trial);
        let from = Rate::bps(found.rate_l1.as_bps().saturating_sub(one_frame.as_bps()));
        let is_line = self.line.rate_l1.is_some_and(|line_l1| line_l1 <= found.rate_l1);
        let failed = self.failing.filter(|row| !row.failed_by_tester());
        let to = match is_line {
            true => Some(found.rate_l1),
            false => failed.map(|failed| failed.offered.rate_l1.max(found.rate_l1)),
        };
        (at(from), to.and_then(at))
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

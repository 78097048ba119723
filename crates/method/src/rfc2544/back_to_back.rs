//! Section 26.4 as RFC 9004 has it: the longest burst at line rate that a buffer takes.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, BurstReport, BurstSpacing, BurstsLoad, BurstsReport, FlowReport, Load, Rate, Testbed,
    Timing, Trial,
};

use super::offer::VERIFICATIONS;
use super::steps::{BackToBack, BurstFigures, FrameRate, Skipped, Throughput};
use super::{Plan, Run, SearchKind, Step, Way};
use crate::formula::back_to_back::{FrameRates, corrected_buffer_time, implied_buffer_time};
use crate::search::{Search, SearchPlan, Step as SearchStep};
use crate::tester::{CLOCK_S, REPEATS, repeated, reports};
use crate::{Number, PerSecond, Seconds};

/// The first limit of a search; each time nothing is lost, it grows.
const FIRST_LIMIT: Duration = Duration::from_millis(100);
const GROWTH: u32 = 4;
/// Bounds closer than this share of a burst are not told apart, or than a frame.
const RESOLUTION: f64 = 0.001;
/// A burst sent so much slower than the line says nothing of a buffer.
const SLOWER: f64 = 0.02;
/// Nor does one of which a frame was late by this share of it: a buffer drains while a sender pauses,
/// also if that makes up for it afterwards.
const BEHIND: f64 = 0.01;

pub(super) fn back_to_back(
    run: &mut Run<'_>,
    way: Way,
    throughput: &Throughput,
) -> Result<(), Abort> {
    let mut outcome = BackToBack {
        way,
        frame_bytes: throughput.frame_bytes,
        skipped: None,
        longest_frames: Vec::new(),
        limit_frames: 0,
        step_frames: 0,
        trials: 0,
        figures: None,
    };
    match applicable(run.plan, throughput) {
        Err(reason) => outcome.skipped = Some(reason),
        Ok((line, found)) => repetitions(run, line, found, &mut outcome)?,
    }
    run.report.steps.push(Step::BackToBack(outcome));
    Ok(())
}

//= rfc9004 6.1
/// The line and the throughput, where bursts at the rate of the one overload the other.
fn applicable(plan: &Plan, throughput: &Throughput) -> Result<(FrameRate, FrameRate), Skipped> {
    let line = throughput.theoretical.ok_or(Skipped::LineUnknown)?;
    if line.rate_l1 > plan.rate_cap_l1 {
        return Err(Skipped::RateCap);
    }
    let found = throughput.found.ok_or(Skipped::NoThroughput)?;
    if found.rate_l1 < line.rate_l1 { Ok((line, found)) } else { Err(Skipped::NoOverload) }
}

//= rfc9004 6.3
/// Independent searches, as many as the plan asks for.
fn repetitions(
    run: &mut Run<'_>,
    line: FrameRate,
    found: FrameRate,
    outcome: &mut BackToBack,
) -> Result<(), Abort> {
    for _ in 0..run.plan.burst_repetitions.max(1) {
        let mut search = BurstSearch { run, way: outcome.way, line, trials: 0 };
        let longest = search.longest(outcome)?;
        outcome.trials += search.trials;
        match longest {
            Ok(frames) => outcome.longest_frames.push(frames),
            Err(reason) => {
                outcome.skipped = Some(reason);
                return Ok(());
            }
        }
    }
    outcome.figures = Some(figures(&outcome.longest_frames, line, found));
    Ok(())
}

//= rfc9004 6.4
fn figures(longest_frames: &[u64], line: FrameRate, found: FrameRate) -> BurstFigures {
    let count = longest_frames.len().max(1) as f64;
    let average = longest_frames.iter().sum::<u64>() as f64 / count;
    let squares = longest_frames.iter().map(|frames| libm::pow(*frames as f64 - average, 2.0));
    let rate = |rate: FrameRate| PerSecond(Number::nearest(rate.frames_per_second()));
    let rates = FrameRates { max: rate(line), throughput: rate(found) };
    let frames = Number::nearest(average);
    let time = |seconds: Seconds| {
        Duration::try_from_secs_f64(seconds.to_f64().unwrap_or(0.0)).unwrap_or_default()
    };
    BurstFigures {
        average_frames: average,
        min_frames: longest_frames.iter().copied().min().unwrap_or(0),
        max_frames: longest_frames.iter().copied().max().unwrap_or(0),
        deviation_frames: libm::sqrt(squares.sum::<f64>() / count),
        implied_buffer: time(implied_buffer_time(frames, rates)),
        corrected_buffer: time(corrected_buffer_time(frames, rates)),
    }
}

struct BurstSearch<'a, 'b> {
    run: &'a mut Run<'b>,
    way: Way,
    line: FrameRate,
    trials: u32,
}

/// What became of one burst.
struct Burst {
    /// Frames up to the first that was lost.
    whole_frames: u64,
    is_whole: bool,
}

impl BurstSearch<'_, '_> {
    //= rfc9004 6.2
    /// Binary with loss verification, or loss-aware: then a failed burst has shown how long one may
    /// be. The unit of the search is a frame.
    fn longest(&mut self, outcome: &mut BackToBack) -> Result<Result<u64, Skipped>, Abort> {
        let (limit, first) = match self.first_that_fails()? {
            Ok(found) => found,
            Err(reason) => return Ok(Err(reason)),
        };
        outcome.limit_frames = outcome.limit_frames.max(limit);
        let Some(first) = first else { return Ok(Ok(limit)) };
        let resolution = ((first.whole_frames as f64 * RESOLUTION) as u64).max(1);
        outcome.step_frames = resolution;
        let plan = SearchPlan {
            lowest: Rate::ZERO,
            highest: Rate::bps(limit),
            initial: Rate::bps(limit),
            resolution: Rate::bps(resolution),
            accepted_loss_ratio: 0.0,
        };
        let mut search = match self.run.plan.search {
            SearchKind::Binary | SearchKind::Mlr => Search::binary(plan),
            SearchKind::Fast => Search::fast(plan),
        };
        let lost_of = |burst: &Burst, frames: u64| {
            if burst.is_whole {
                0.0
            } else {
                1.0 - (burst.whole_frames as f64 + 0.5) / frames.max(1) as f64
            }
        };
        let mut loss = lost_of(&first, limit);
        loop {
            match search.judge(loss.max(0.0)) {
                SearchStep::Found(longest) if longest == Rate::ZERO => {
                    return Ok(Err(Skipped::NoBurst));
                }
                SearchStep::Found(longest) => return Ok(Ok(longest.as_bps())),
                SearchStep::Try(frames) => match self.verified(frames.as_bps())? {
                    Ok(burst) => loss = lost_of(&burst, frames.as_bps()),
                    Err(reason) => return Ok(Err(reason)),
                },
            }
        }
    }

    /// The longest burst that may be tried, and what became of it if it lost something.
    fn first_that_fails(&mut self) -> Result<Result<(u64, Option<Burst>), Skipped>, Abort> {
        let longest = self.run.plan.durations.burst_max;
        let mut limit = FIRST_LIMIT.min(longest);
        loop {
            let frames = (self.line.frames_per_second() * limit.as_secs_f64()).max(2.0) as u64;
            match self.verified(frames)? {
                Err(reason) => return Ok(Err(reason)),
                Ok(burst) if !burst.is_whole => return Ok(Ok((frames, Some(burst)))),
                Ok(_) if limit >= longest => return Ok(Ok((frames, None))),
                Ok(_) => limit = (limit * GROWTH).min(longest),
            }
        }
    }

    /// A burst that lost something is sent again: only what is always lost is lost.
    fn verified(&mut self, frames: u64) -> Result<Result<Burst, Skipped>, Abort> {
        let mut longest = match self.burst(frames)? {
            Ok(burst) => burst,
            Err(reason) => return Ok(Err(reason)),
        };
        for _ in 0..VERIFICATIONS {
            if longest.is_whole {
                break;
            }
            let again = match self.burst(frames)? {
                Ok(burst) => burst,
                Err(reason) => return Ok(Err(reason)),
            };
            if again.is_whole || again.whole_frames > longest.whole_frames {
                longest = again;
            }
        }
        Ok(Ok(longest))
    }

    /// One burst as it was planned: repeated where the tester spoilt it.
    fn burst(&mut self, frames: u64) -> Result<Result<Burst, Skipped>, Abort> {
        let trial = self.trial(frames);
        let offer = |trials: u32| {
            self.trials += 1;
            self.run.health.trials += 1;
            self.run.health.repeats += u32::from(trials > 1);
            let seen = self.run.run(&trial)?;
            let reports = reports(&trial, &seen, FlowReport::bursts)?;
            let dropped = seen.dropped_packets();
            let burst = reports.iter().map(|report| Burst::of(report, frames)).reduce(Burst::worse);
            let as_planned = reports.iter().all(|report| self.was_sent(report, frames));
            Ok(burst.filter(|burst| as_planned && (burst.is_whole || dropped == 0)))
        };
        Ok(repeated(REPEATS, offer, Option::is_none)?.ok_or(Skipped::TesterLimit))
    }

    /// Whether all frames left, as fast as the line is and without a pause.
    fn was_sent(&self, report: &BurstsReport, frames: u64) -> bool {
        let [BurstReport { sent_frames, sent_from, sent_until, behind, .. }] =
            report.bursts.as_slice()
        else {
            return false;
        };
        let lasted = sent_until.saturating_sub(*sent_from).as_secs_f64();
        let planned = frames.saturating_sub(1) as f64 / self.line.frames_per_second();
        // A host that hands over a burst at once is as fast as its line is.
        u64::from(*sent_frames) == frames
            && lasted <= planned * (1.0 + SLOWER) + CLOCK_S
            && behind.as_secs_f64() <= planned * BEHIND + CLOCK_S
    }

    fn trial(&self, frames: u64) -> Trial {
        let settle = self.run.plan.durations.burst_settle.max(self.run.settle());
        let lasts = Duration::from_secs_f64(frames as f64 / self.line.frames_per_second());
        let load = BurstsLoad {
            frame_bytes: self.line.frame_bytes,
            frames_per_burst: u32::try_from(frames).unwrap_or(u32::MAX),
            bursts: 1,
            period: lasts + settle,
            rate_l1: Some(self.line.rate_l1),
            spacing: BurstSpacing::OnSchedule,
        };
        let flow =
            |direction: &fp_model::Direction| self.run.plan.flow(*direction, Load::Bursts(load));
        Trial {
            name: format!(
                "back-to-back, {}: {frames} frames of {} bytes",
                self.way, self.line.frame_bytes
            ),
            flows: self.way.directions().iter().map(flow).collect(),
            timing: Timing {
                warm_up: Duration::from_millis(50),
                steady: lasts + Duration::from_millis(50),
                settle,
            },
        }
    }
}

impl Burst {
    fn of(report: &BurstsReport, frames: u64) -> Self {
        let runs = report.bursts.first().map(|burst| burst.arrived.as_slice()).unwrap_or_default();
        let mut whole_frames = 0;
        for run in runs {
            if u64::from(run.first) != whole_frames {
                break;
            }
            whole_frames += u64::from(run.frames);
        }
        Self { whole_frames, is_whole: whole_frames >= frames }
    }

    fn worse(self, other: Self) -> Self {
        if self.whole_frames <= other.whole_frames { self } else { other }
    }
}

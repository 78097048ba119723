//! Policers: bursts that conform pass whole, larger ones do not, and where the limit is.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstReport, BurstsReport, Direction, FramesLoad, PacketLayout, Rate};

use super::bursts::{Offer, Outcome, interval, whole_prefix};
use super::hunt::{BurstHunt, BurstOutcome, HuntStep, frames_per_kilobyte};
use super::{Hunt, HuntTrial, Plan, PolicerPlan, PolicerStep, Run, Stateless, Step};
use crate::burst::{Together, discovery};
use crate::formula::bounds::Bounds;
use crate::infer::search::{Limits, Search};

/// The RFC's recommendation.
pub(super) const EXCESS_BYTES: u64 = 1000;
/// The rate within bursts, which says how much comes back meanwhile and how long they take, is known this well.
pub(super) const BURST_RATE_SLACK: f64 = 1.05;
/// Bursts of each size that a hunt tries.
pub(super) const HUNT_BURSTS: u32 = 10;

//= rfc7640 6.1.1
/// The compliant test, the excess test, and the hunt between the two.
pub(super) fn test(
    run: &mut Run<'_>,
    direction: Direction,
    policer: &PolicerPlan,
) -> Result<(), Abort> {
    let test = Test { direction, policer };
    let looked = Looked::at(run, direction)?;
    let frames = (policer.depth_bytes() / u64::from(run.plan.frame_bytes)) as u32;
    let offer = test.offer(run, "compliant bursts", frames, Duration::ZERO);
    let (compliant, outcomes) = run.offer_often(&offer)?;
    // A burst of one frame has no rate of its own.
    let burst_rate_l2 = burst_rate(run, &outcomes).or(looked.line_l2);
    // Where no two frames pass at once nobody sees how fast they come: hardly faster than the rates, at least.
    let at_least = burst_rate_l2.unwrap_or_else(|| policer.rate_l2().scaled(BURST_RATE_SLACK));
    let excess_frames = excess_frames(run.plan.frame_bytes, policer, at_least);
    let mut step = PolicerStep {
        direction,
        frame_bytes: run.plan.frame_bytes,
        cir_l2: policer.cir_l2,
        cbs_bytes: policer.cbs_bytes,
        eir_l2: policer.eir_l2,
        ebs_bytes: policer.ebs_bytes,
        compliant: first(compliant),
        burst_rate_l2,
        excess: None,
        hunt: Hunt::default(),
        rate: looked.together.map(|together| together.rate_bps),
        depth: looked.together.map(|together| together.depth_bytes),
    };
    let mut failed = (!step.compliant.is_lossless()).then(|| (frames, whole_prefix_of(&outcomes)));
    if let Some(frames) = excess_frames {
        let lasts = at_least.time_for(u64::from(frames) * u64::from(run.plan.frame_bytes));
        let offer = test.offer(run, "excess bursts", frames, lasts);
        let (excess, outcomes) = run.offer_often(&offer)?;
        let excess = first(excess);
        if !excess.is_lossless() {
            failed = failed.or_else(|| Some((frames, whole_prefix_of(&outcomes))));
        }
        step.excess = Some(excess);
    }
    step.hunt = test.hunt(run, &step, frames, failed)?;
    if policer.ebs_bytes > 0 {
        let is_sound = looked.together.is_some() && looked.loses_nothing;
        step.depth = is_sound.then(|| depth_by_bursts(policer, &step)).flatten();
    }
    run.report.steps.push(Step::Policer(Box::new(step)));
    Ok(())
}

struct Test<'a> {
    direction: Direction,
    policer: &'a PolicerPlan,
}

impl Test<'_> {
    /// Bursts for as long as a run takes. Those that last longer than it takes to send what the
    /// buckets hold need as much more time to be paid for.
    fn offer(&self, run: &Run<'_>, what: &str, frames: u32, lasts: Duration) -> Offer {
        let name = format!("policer, {}: {what} of {frames} frames", self.direction);
        run.bursts(name, self.direction, frames, interval(self.policer.refill() + lasts))
    }

    /// Between what the compliant test and the excess test have shown; `failed` is the smaller of
    /// the bursts that lost something, with what of it came through whole.
    fn hunt(
        &self,
        run: &mut Run<'_>,
        step: &PolicerStep,
        frames: u32,
        failed: Option<(u32, Option<u32>)>,
    ) -> Result<Hunt, Abort> {
        let passing = if step.compliant.is_lossless() { frames } else { 0 };
        let Some((failing, prefix)) = failed else {
            let largest = step.excess.as_ref().unwrap_or(&step.compliant).burst_bytes;
            return Ok(Hunt { bsa_bytes: Some(largest), ..Hunt::default() });
        };
        let rate = step.burst_rate_l2;
        run.hunt(passing, failing, prefix, |run, frames| {
            let bytes = u64::from(frames) * u64::from(run.plan.frame_bytes);
            let beyond = bytes > self.policer.depth_bytes();
            let lasts = rate.filter(|_| beyond).map_or(Duration::ZERO, |rate| rate.time_for(bytes));
            self.offer(run, "hunt by bursts", frames, lasts)
        })
    }
}

impl Run<'_> {
    //= rfc7640 5.1.1
    /// Hunts for the largest burst of which nothing is lost, ten bursts of each size.
    pub(super) fn hunt(
        &mut self,
        passing: u32,
        failing: u32,
        hint: Option<u32>,
        offer: impl Fn(&Self, u32) -> Offer,
    ) -> Result<Hunt, Abort> {
        let frame_bytes = u64::from(self.plan.frame_bytes);
        let step = frames_per_kilobyte(self.plan.frame_bytes);
        let mut hunt = BurstHunt::new(passing, failing, step, hint);
        let mut trials = vec![];
        loop {
            let frames = match hunt.next_burst() {
                HuntStep::Found(frames) => {
                    let bsa_bytes = (frames > 0).then(|| u64::from(frames) * frame_bytes);
                    return Ok(Hunt { bsa_bytes, is_limit: true, trials });
                }
                HuntStep::Try(frames) => frames,
            };
            let mut offer = offer(self, frames);
            offer.load.bursts = offer.load.bursts.min(HUNT_BURSTS);
            let lost_frames = self.offer(&offer)?.lost_frames();
            trials.push(HuntTrial { burst_bytes: offer.burst_bytes(), lost_frames });
            hunt.judge(BurstOutcome::of(lost_frames));
        }
    }
}

/// Of a trial with one class.
pub(super) fn first(classes: Vec<Stateless>) -> Stateless {
    classes.into_iter().next().unwrap_or_default()
}

pub(super) fn whole_prefix_of(outcomes: &[Outcome]) -> Option<u32> {
    outcomes.iter().filter_map(|outcome| whole_prefix(&outcome.reports)).min()
}

/// The rate within bursts at layer 2, median of all bursts: as sent, or as received where
/// everything arrived and a line on the way made it slower.
pub(super) fn burst_rate(run: &Run<'_>, outcomes: &[Outcome]) -> Option<Rate> {
    median_rate(run, outcomes, |burst| Some(received_in(burst)?.max(burst.sent_in())))
}

/// The rate within bursts as they were sent.
pub(super) fn sent_rate(run: &Run<'_>, outcomes: &[Outcome]) -> Option<Rate> {
    median_rate(run, outcomes, |burst| Some(burst.sent_in()))
}

fn median_rate(
    run: &Run<'_>,
    outcomes: &[Outcome],
    lasted: impl Fn(&BurstReport) -> Option<Duration>,
) -> Option<Rate> {
    let rate = |burst: &BurstReport| {
        let gaps = u64::from(burst.sent_frames.checked_sub(1).filter(|gaps| *gaps > 0)?);
        let lasted = lasted(burst).filter(|lasted| !lasted.is_zero())?;
        Some(Rate::over(gaps * u64::from(run.plan.frame_bytes), lasted))
    };
    let reports = outcomes.iter().flat_map(|outcome| &outcome.reports);
    let bursts = reports.flat_map(|report: &BurstsReport| &report.bursts);
    let mut rates: Vec<Rate> = bursts.filter_map(rate).collect();
    rates.sort_unstable();
    rates.get(rates.len() / 2).copied()
}

/// Nothing where frames are missing: they may be the last ones.
fn received_in(burst: &BurstReport) -> Option<Duration> {
    let (first, last) = (burst.arrived.first()?, burst.arrived.last()?);
    if burst.received_frames < burst.sent_frames {
        return Some(Duration::ZERO);
    }
    last.until.checked_sub(first.from)
}

//= rfc7640 6.1.1
/// So many frames that the buckets cannot hold them even with what comes back meanwhile; `None`
/// where bursts are no faster than that.
fn excess_frames(frame_bytes: u32, policer: &PolicerPlan, burst_rate_l2: Rate) -> Option<u32> {
    let at_once =
        frames_at_once(policer.depth_bytes(), policer.rate_l2(), burst_rate_l2, frame_bytes)?;
    let beyond = EXCESS_BYTES.div_ceil(frame_bytes.into()) as u32 + 1;
    let frames = (f64::from(at_once) * BURST_RATE_SLACK) as u32;
    frames.checked_add(beyond)
}

/// How many frames a bucket lets through at once that fills at one rate while they come at another,
/// both at layer 2; `None` where it fills faster than they empty it.
pub(super) fn frames_at_once(
    depth_bytes: u64,
    fill_l2: Rate,
    burst_rate_l2: Rate,
    frame_bytes: u32,
) -> Option<u32> {
    let frame = f64::from(frame_bytes);
    let back = frame * fill_l2.as_bps() as f64 / burst_rate_l2.as_bps().max(1) as f64;
    let at_once = (depth_bytes as f64 - back) / (frame - back);
    // A sum of whole bytes may come out a hair short of them.
    (back < frame && at_once < f64::from(u32::MAX)).then_some((at_once + 1e-6) as u32)
}

/// What trains of frames show of one direction, as in discovery.
struct Looked {
    /// What the policer lets pass, whatever is lost by chance. Two buckets that leave no mark are one to
    /// trains, so that the depth of two that were sold follows from the hunt, where nothing is lost by chance.
    together: Option<Together>,
    loses_nothing: bool,
    line_l2: Option<Rate>,
}

impl Looked {
    fn at(run: &mut Run<'_>, direction: Direction) -> Result<Self, Abort> {
        let Plan { family, dscp, frame_bytes, line_rate_l1, .. } = *run.plan;
        let share_l2 =
            f64::from(frame_bytes) / f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD);
        let search = Search::of(direction, (family, dscp), frame_bytes, run.baseline_rtt);
        let paced_l2 = line_rate_l1.map(|rate_l1| rate_l1.as_bps() as f64 * share_l2);
        let search = Search { limit_l2: paced_l2.unwrap_or(search.limit_l2), ..search };
        let shortest = FramesLoad::least_frame_bytes(family, search.vlan_tags);
        let (found, limits, _) = discovery::look(run, search, shortest)?;
        let at_l2 = |line_l1: Rate| Rate::bps((line_l1.as_bps() as f64 * share_l2) as u64);
        Ok(Self {
            together: found.found.together_l2(f64::from(frame_bytes)),
            loses_nothing: matches!(limits, Limits::Found(_, quiet) if quiet.lost == 0.0),
            line_l2: found.line_l1().map(at_l2),
        })
    }
}

/// Of two buckets by the burst size achieved, less what came back while it lasted; a burst that is longer
/// by one step of the hunt was lost. The excess bucket is full until the committed one is empty, and what
/// it wins until then is lost; one bucket is left with less than a frame when the other cannot pay for one.
fn depth_by_bursts(policer: &PolicerPlan, step: &PolicerStep) -> Option<Bounds> {
    let bsa_bytes = step.hunt.bsa_bytes.filter(|_| step.hunt.is_limit)?;
    let frame_bytes = u64::from(step.frame_bytes);
    let burst_rate_l2 = step.burst_rate_l2?;
    let less_refill = |bytes: u64, refill: Rate| {
        let lasted = burst_rate_l2.time_for(bytes.saturating_sub(frame_bytes));
        bytes.saturating_sub(refill.bytes_in(lasted)) as f64
    };
    let resolution = u64::from(frames_per_kilobyte(step.frame_bytes)) * frame_bytes;
    let at_least = less_refill(bsa_bytes, policer.rate_l2());
    let at_most = less_refill(bsa_bytes + resolution + frame_bytes, policer.cir_l2);
    Some(Bounds::between(at_least, at_most))
}

/// What a step is called in the reasons of a verdict.
pub(super) fn named(step: &PolicerStep) -> String {
    format!("policer, {}", step.direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICER: PolicerPlan =
        PolicerPlan { cir_l2: Rate::mbps(40), cbs_bytes: 64_000, eir_l2: Rate::ZERO, ebs_bytes: 0 };

    /// 61.52 bytes come back while a frame of 1518 crosses a line of 1 Gbit/s: 43 frames pass
    /// before the first is dropped, and 43·1.05 + 2 = 47.15 are too many.
    #[test]
    fn an_excess_burst_is_larger_than_the_buckets_and_what_comes_back() {
        let burst_rate_l2 = Rate::bps(986_996_099);
        assert_eq!(frames_at_once(64_000, POLICER.cir_l2, burst_rate_l2, 1518), Some(43));
        assert_eq!(excess_frames(1518, &POLICER, burst_rate_l2), Some(47));
        assert_eq!(excess_frames(1518, &POLICER, Rate::mbps(40)), None);
    }

    #[test]
    fn a_burst_lasts_as_long_as_the_slower_of_sender_and_path() {
        let micros = Duration::from_micros;
        let run = fp_model::ArrivedRun {
            first: 0,
            frames: 11,
            dscp: None,
            from: micros(1000),
            until: micros(1100),
        };
        let burst = BurstReport {
            burst: 0,
            sent_frames: 11,
            received_frames: 11,
            sent_from: micros(0),
            sent_until: micros(50),
            arrived: vec![run],
            ..BurstReport::default()
        };
        assert_eq!((burst.sent_in(), received_in(&burst)), (micros(50), Some(micros(100))));
        let lossy = BurstReport { received_frames: 10, ..burst };
        assert_eq!(received_in(&lossy), Some(Duration::ZERO));
    }
}

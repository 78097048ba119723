//! Shapers: bursts that fill the queue, at what rate and in what trains they come out.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstsLoad, Direction, Dscp, Rate};

use super::bursts::{Offer, Outcome, interval};
use super::policer::{first, sent_rate};
use super::stateful::{self, Room};
use super::trains::{Curve, Sought};
use super::{Run, ShaperPlan, ShaperStep, Stateless, Step, Trains};

/// To see trains apart, frames need not come faster than this multiple of the shaper's rate.
const TRAIN_FACTOR: u64 = 10;
/// Nor faster than a host sends and receives them one by one.
const FRAME_INTERVAL_MIN: Duration = Duration::from_micros(20);
/// The windows of section 6.3.1.2, as multiples of the bandwidth-delay product.
const WINDOW_FACTORS: [f64; 2] = [1.1, 1.5];

//= rfc7640 6.3.1.1
/// Bursts that fill the queue lose nothing and come out in time; then the same, frame by frame.
pub(super) fn test(
    run: &mut Run<'_>,
    direction: Direction,
    shaper: &ShaperPlan,
) -> Result<(), Abort> {
    let offer = Test { direction, shaper }.offer(run);
    let (stateless, outcomes) = run.offer_often(&offer)?;
    let sent_l2 = sent_rate(run, &outcomes);
    let stateless = first(stateless);
    let shaped = Shaped { dscp: run.plan.dscp, plan: *shaper, quickest: quickest(&stateless) };
    let trains = trains(run, direction, &[shaped], sent_l2)?;
    let room = Room {
        rate_l2: shaper.rate_l2,
        window_bytes_min: 0,
        factors: &WINDOW_FACTORS,
        ends_at: vec![1.0],
    };
    let stateful = stateful::patterns(run, direction, &[run.plan.dscp], &room)?;
    run.report.steps.push(Step::Shaper(ShaperStep {
        direction,
        frame_bytes: run.plan.frame_bytes,
        rate_l2: shaper.rate_l2,
        bc_bytes: shaper.bc_bytes,
        be_bytes: shaper.be_bytes,
        queue_bytes: shaper.queue_bytes,
        stateless,
        trains: trains.into_iter().next().unwrap_or_default(),
        stateful,
    }));
    Ok(())
}

/// A class of traffic behind a shaper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaped {
    pub(super) dscp: Dscp,
    pub(super) plan: ShaperPlan,
    /// How long the quickest frame of its bursts was under way.
    pub(super) quickest: Option<Duration>,
}

impl Shaped {
    /// One burst whose frames are sent one by one, so that the arrival of each is known.
    fn offer(
        &self,
        run: &Run<'_>,
        direction: Direction,
        sent_l2: Option<Rate>,
        senders: u32,
    ) -> Offer {
        let test = Test { direction, shaper: &self.plan };
        let offer = test.offer(run);
        let fast = Rate::bps(self.plan.rate_l2.as_bps().saturating_mul(TRAIN_FACTOR));
        let rate_l2 = sent_l2.map_or(fast, |sent| sent.min(fast));
        let period =
            rate_l2.time_for(run.plan.frame_bytes.into()).max(FRAME_INTERVAL_MIN * senders);
        Offer {
            name: format!("shaper, {direction}: the trains of a burst"),
            classes: vec![self.dscp],
            load: BurstsLoad {
                frames_per_burst: 1,
                bursts: offer.load.frames_per_burst,
                period,
                rate_l1: None,
                ..offer.load
            },
            late_max: Duration::from_millis(5),
            idle: offer.load.period,
            trains: Some(Sought { gap: test.gap(run, period), quickest: self.quickest }),
            ..offer
        }
    }
}

pub(super) fn quickest(bursts: &Stateless) -> Option<Duration> {
    bursts.delay.map(|delay| delay.min)
}

/// How each of these shapers lets frames go, all at the same time; bursts are sent at this rate.
pub(super) fn trains(
    run: &mut Run<'_>,
    direction: Direction,
    shapers: &[Shaped],
    sent_l2: Option<Rate>,
) -> Result<Vec<Trains>, Abort> {
    if shapers.is_empty() {
        return Ok(Vec::new());
    }
    let senders = shapers.len() as u32;
    let offer = |shaped: &Shaped| shaped.offer(run, direction, sent_l2, senders);
    let offers: Vec<Offer> = shapers.iter().map(offer).collect();
    let name = format!("shaper, {direction}: the trains of a burst");
    let (_, outcomes) = run.offer_together_often(&name, &offers)?;
    let of_shaper = |(offer, outcomes): (&Offer, &Vec<Outcome>)| {
        let reports = outcomes.iter().flat_map(|outcome| &outcome.reports);
        let trains = |report| Some(Curve::of(report, &offer.load).trains(offer.trains?.gap));
        let runs: Vec<Trains> = reports.filter_map(trains).collect();
        Trains::of_runs(&runs)
    };
    Ok(offers.iter().zip(&outcomes).map(of_shaper).collect())
}

struct Test<'a> {
    direction: Direction,
    shaper: &'a ShaperPlan,
}

impl Test<'_> {
    fn whole_frames(&self, run: &Run<'_>) -> u32 {
        let frames = self.shaper.burst_bytes / u64::from(run.plan.frame_bytes);
        frames.min(u32::MAX.into()) as u32
    }

    /// A burst comes when the one before has left and the bucket is full again.
    fn offer(&self, run: &Run<'_>) -> Offer {
        let frames = self.whole_frames(run);
        let name = format!("shaper, {}: bursts of {frames} frames", self.direction);
        let interval = interval(self.shaper.rate_l2.time_for(self.shaper.burst_bytes));
        let offer = run.bursts(name, self.direction, frames, interval);
        Offer { drain: offer.load.period, ..offer }
    }

    /// Frames farther apart are of two trains: half-way, by ratio, between how they are sent and how
    /// a shaper lets them go one by one.
    fn gap(&self, run: &Run<'_>, sent_each: Duration) -> Duration {
        let shaped_each = self.shaper.rate_l2.time_for(run.plan.frame_bytes.into());
        let nanos = sent_each.as_nanos() * shaped_each.as_nanos();
        Duration::from_nanos(nanos.isqrt() as u64)
    }
}

pub(super) fn named(direction: Direction) -> String {
    format!("shaper, {direction}")
}

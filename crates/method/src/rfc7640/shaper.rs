//! Shapers: bursts that fill the queue, at what rate and in what trains they come out.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstsLoad, BurstsReport, Direction, Dscp, Rate};

use super::bursts::{Offer, Outcome, arrivals, interval};
use super::policer::{first, sent_rate};
use super::stateful::{self, Room};
use super::{Run, ShaperPlan, ShaperStep, Step, Trains};

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
    let trains = trains(run, direction, &[(run.plan.dscp, *shaper)], sent_l2)?;
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
        stateless: first(stateless),
        trains: trains.into_iter().next().unwrap_or_default(),
        stateful,
    }));
    Ok(())
}

/// How each of these shapers lets frames go, all at the same time; bursts are sent at this rate.
pub(super) fn trains(
    run: &mut Run<'_>,
    direction: Direction,
    shapers: &[(Dscp, ShaperPlan)],
    sent_l2: Option<Rate>,
) -> Result<Vec<Trains>, Abort> {
    if shapers.is_empty() {
        return Ok(Vec::new());
    }
    let offer = |(dscp, shaper): &(Dscp, ShaperPlan)| {
        let offer = Test { direction, shaper }.trains_offer(run, sent_l2, shapers.len() as u32);
        Offer { classes: vec![*dscp], ..offer }
    };
    let offers: Vec<Offer> = shapers.iter().map(offer).collect();
    let name = format!("shaper, {direction}: the trains of a burst");
    let (_, outcomes) = run.offer_together_often(&name, &offers)?;
    let gaps = shapers
        .iter()
        .zip(&offers)
        .map(|((_, shaper), offer)| Test { direction, shaper }.gap(run, offer.load.period));
    let of_shaper = |((gap, offer), outcomes): ((Duration, &Offer), &Vec<Outcome>)| {
        let curves = outcomes.iter().flat_map(|outcome| &outcome.reports);
        medians(curves.map(|report| Curve::of(report, &offer.load).trains(gap)).collect())
    };
    Ok(gaps.zip(&offers).zip(&outcomes).map(of_shaper).collect())
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

    /// One burst whose frames are sent one by one, so that the arrival of each is known.
    fn trains_offer(&self, run: &Run<'_>, sent_l2: Option<Rate>, senders: u32) -> Offer {
        let offer = self.offer(run);
        let fast = Rate::bps(self.shaper.rate_l2.as_bps().saturating_mul(TRAIN_FACTOR));
        let rate_l2 = sent_l2.map_or(fast, |sent| sent.min(fast));
        let period =
            rate_l2.time_for(run.plan.frame_bytes.into()).max(FRAME_INTERVAL_MIN * senders);
        Offer {
            name: format!("shaper, {}: the trains of a burst", self.direction),
            load: BurstsLoad {
                frames_per_burst: 1,
                bursts: offer.load.frames_per_burst,
                period,
                rate_l1: None,
                ..offer.load
            },
            late_max: Duration::from_millis(5),
            idle: offer.load.period,
            ..offer
        }
    }

    /// Frames farther apart are of two trains: half-way, by ratio, between how they are sent and how
    /// a shaper lets them go one by one.
    fn gap(&self, run: &Run<'_>, sent_each: Duration) -> Duration {
        let shaped_each = self.shaper.rate_l2.time_for(run.plan.frame_bytes.into());
        let nanos = sent_each.as_nanos() * shaped_each.as_nanos();
        Duration::from_nanos(nanos.isqrt() as u64)
    }
}

/// When each frame of a burst arrived, in the order of arrival.
struct Curve {
    arrived: Vec<Duration>,
    /// From one frame to the next where they are sent.
    sent_each: Duration,
    frame_bytes: u32,
}

impl Curve {
    fn of(report: &BurstsReport, load: &BurstsLoad) -> Self {
        let at = |burst: &fp_model::BurstReport| {
            let due = load.period * burst.burst;
            arrivals(burst).next().map(|(_, at)| due + at)
        };
        let mut arrived: Vec<Duration> = report.bursts.iter().filter_map(at).collect();
        arrived.sort_unstable();
        Self { arrived, sent_each: load.period, frame_bytes: load.frame_bytes }
    }

    //= rfc7640 4.1
    /// Cuts the curve where nothing came for longer than `gap`.
    fn trains(&self, gap: Duration) -> Trains {
        if self.arrived.is_empty() {
            return Trains::default();
        }
        let starts: Vec<usize> = (1..self.arrived.len())
            .filter(|&frame| self.arrived[frame] - self.arrived[frame - 1] > gap)
            .collect();
        let first = starts.first().copied().unwrap_or(self.arrived.len());
        // A sender that is held up cuts a train in two, so that the first one may still go on.
        let shaped_from = first.max(self.arrived.len() / 2);
        let shaped: Vec<usize> = starts.into_iter().filter(|start| *start >= shaped_from).collect();
        let rate_l2 = self.rate(&shaped);
        // The last train may have ended because the burst did.
        let whole = || shaped.windows(2);
        Trains {
            rate_l2,
            bucket_bytes: rate_l2.and_then(|rate| self.bucket_bytes(first, &shaped, rate)),
            first_train_bytes: Some(self.bytes(first)),
            train_bytes: median(whole().map(|pair| self.bytes(pair[1] - pair[0])).collect()),
            train_interval: median(
                whole().map(|pair| self.arrived[pair[1]] - self.arrived[pair[0]]).collect(),
            ),
        }
    }

    /// The median over trains that are half of all these apart, so that no single late one decides.
    fn rate(&self, starts: &[usize]) -> Option<Rate> {
        let apart = (starts.len() / 2).max(1);
        let pairs = starts.iter().zip(starts.get(apart..)?);
        let rate = |(from, until): (&usize, &usize)| {
            Rate::over(self.bytes(until - from), self.arrived[*until] - self.arrived[*from])
        };
        median(pairs.map(rate).collect())
    }

    /// What came out until a train began, with its first frame, beyond what the rate explains. The
    /// burst begins when its first frame would have come had it waited no longer than the quickest of
    /// the first train: a host that has been idle may take a while to move.
    fn bucket_bytes(&self, first: usize, starts: &[usize], rate: Rate) -> Option<u64> {
        let quickest = self.arrived[..first].iter().zip(0_u32..);
        let began = quickest.map(|(at, frame)| at.saturating_sub(self.sent_each * frame)).min()?;
        let beyond = |start: &usize| {
            let explained = rate.bytes_in(self.arrived[*start] - began);
            self.bytes(start + 1).saturating_sub(explained)
        };
        median(starts.iter().map(beyond).collect())
    }

    fn bytes(&self, frames: usize) -> u64 {
        frames as u64 * u64::from(self.frame_bytes)
    }
}

fn medians(runs: Vec<Trains>) -> Trains {
    Trains {
        rate_l2: median(runs.iter().filter_map(|run| run.rate_l2).collect()),
        bucket_bytes: median(runs.iter().filter_map(|run| run.bucket_bytes).collect()),
        first_train_bytes: median(runs.iter().filter_map(|run| run.first_train_bytes).collect()),
        train_bytes: median(runs.iter().filter_map(|run| run.train_bytes).collect()),
        train_interval: median(runs.iter().filter_map(|run| run.train_interval).collect()),
    }
}

fn median<T: Copy + Ord>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

pub(super) fn named(direction: Direction) -> String {
    format!("shaper, {direction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_micros(50);

    /// Trains of `frames`, whose frames are 10 µs apart, one each millisecond.
    fn curve(trains: &[u32]) -> Curve {
        let train = |(place, frames): (usize, &u32)| {
            let start = Duration::from_millis(place as u64);
            (0..*frames).map(move |frame| start + Duration::from_micros(10) * frame)
        };
        let arrived = trains.iter().enumerate().flat_map(train).collect();
        Curve { arrived, sent_each: Duration::from_micros(10), frame_bytes: 1000 }
    }

    //= rfc7640 4.1
    #[test]
    fn trains_are_told_apart_by_the_silence_between_them() {
        let trains = curve(&[7, 3, 3, 3, 3, 1]).trains(GAP);
        assert_eq!(trains.first_train_bytes, Some(7000));
        assert_eq!(trains.train_bytes, Some(3000));
        assert_eq!(trains.train_interval, Some(Duration::from_millis(1)));
        // Of 20 frames the last trains begin with the 13th, 16th and 19th: six frames in 2 ms.
        assert_eq!(trains.rate_l2, Some(Rate::mbps(24)));
        // In the 4 ms until the 17th frame came, 12,000 bytes are explained.
        assert_eq!(trains.bucket_bytes, Some(5000));
    }

    #[test]
    fn a_first_frame_that_comes_late_makes_no_bucket_deeper() {
        let mut late = curve(&[7, 3, 3, 3, 3, 1]);
        // The host moved after 30 µs, and the first four frames came together.
        late.arrived[..4].fill(Duration::from_micros(30));
        assert_eq!(late.trains(GAP).bucket_bytes, Some(5000));
    }

    #[test]
    fn a_burst_that_is_not_shaped_is_one_train() {
        let trains = curve(&[9]).trains(GAP);
        assert_eq!((trains.first_train_bytes, trains.train_bytes), (Some(9000), None));
        assert_eq!(trains.rate_l2, None);
        assert_eq!(curve(&[]).trains(GAP), Trains::default());
    }
}

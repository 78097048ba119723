//! One load, offered once or until the tester has not spoilt it.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, FlowReport, FrameSizes, FramesLoad, FramesReport, Layer, Load, Observation, Pace,
    PacketLayout, Rate, SentBy, Step as PaceStep, Testbed, Timing, Trial,
};

use super::steps::{FrameRate, TrialRow};
use super::{Run, Way};
use crate::tester::{REPEATS, TOLERATED, reports};

/// A tester at its limit falls short by more than this, ...
const FAR_SHORT: f64 = 0.05;
/// ... and the next time by as much, give or take this.
const ALIKE: f64 = 0.02;
/// How often a trial is repeated whose losses the host may have caused, as ETSI GS NFV-TST 009 does with bursts.
pub(super) const VERIFICATIONS: u32 = 2;
/// So many times at most in a trial is a sender as late as it is once: of longer pauses there are few.
const STALLS: f64 = 3.0;
/// A queue that is longer than was waited for is waited for, and the load offered again; but what
/// takes longer than this is lost.
const WAIT_MAX: Duration = Duration::from_secs(4);
/// Frames that come first: neighbours are resolved, caches warm. RFC 2544 section 23 b.
pub(super) const LEARNING: Duration = Duration::from_millis(100);
/// After an overload that emptied a bucket or filled a queue, so much of a trial's length passes in
/// silence: the last frames of the overload, should the host send them late, must not be what
/// spoils the trial. A rate that is too high by this share would still pass.
const SILENCE: f64 = 0.0005;
/// Frames that arrive more slowly than they left fill a queue: a longer trial would lose some.
const GROWTH_MIN: f64 = 0.001;
/// The 99th percentile of normal delays is above the median by this many mean differences of neighbours: 2.326·√π / 2.
const VARIES: f64 = 2.062;

/// What is to be offered.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) purpose: &'static str,
    pub(super) way: Way,
    /// Each way.
    pub(super) rate: FrameRate,
    pub(super) steady: Duration,
    /// Offered before.
    pub(super) drain: Option<Drain>,
}

/// What empties the bucket of a policer before a trial, so that a short one is as strict as a long one.
#[derive(Clone, Debug)]
pub(super) struct Drain {
    /// Rates of layer 1, and for how long each.
    pub(super) steps: Vec<(Rate, Duration)>,
    /// How long what they queued takes to leave.
    pub(super) queued: Duration,
}

impl Drain {
    fn lasts(&self) -> Duration {
        self.steps.iter().map(|(_, lasts)| *lasts).sum()
    }

    /// Between what is offered before and a trial that lasts `steady`. A bucket that was just emptied, or
    /// a queue that was just filled, has no room for the first frame until the time between two has
    /// passed.
    pub(super) fn silence(&self, steady: Duration, one_frame: Duration) -> Duration {
        steady.mul_f64(SILENCE) + one_frame + self.queued
    }
}

impl Offer {
    pub(super) const fn plain(way: Way, rate: FrameRate, steady: Duration) -> Self {
        Self { purpose: "", way, rate, steady, drain: None }
    }

    fn pace(&self, silence: Duration) -> Pace {
        let rate = self.rate.at(Layer::L2);
        let Some(drain) = &self.drain else { return Pace::Constant { rate } };
        let step = |rate, lasts| PaceStep { rate, lasts };
        let before = drain
            .steps
            .iter()
            .map(|(rate_l1, lasts)| step(self.rate.with_rate(*rate_l1).at(Layer::L2), *lasts));
        let trial = [step(Rate::ZERO, silence), step(rate, self.steady)];
        Pace::Steps { steps: before.chain(trial).collect() }
    }

    fn silence(&self) -> Duration {
        let one_frame = Duration::from_secs_f64(1.0 / self.rate.frames_per_second().max(1.0));
        self.drain.as_ref().map_or(Duration::ZERO, |drain| drain.silence(self.steady, one_frame))
    }
}

/// What became of it, both ways together where frames went both ways.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) offered: FrameRate,
    pub(super) steady: Duration,
    pub(super) planned_frames: u64,
    pub(super) sent_frames: u64,
    pub(super) received_frames: u64,
    pub(super) dropped_by_tester: u64,
    pub(super) out_of_order_frames: Option<u64>,
    pub(super) duplicate_frames: Option<u64>,
    /// Lost in the network, of the worse direction.
    pub(super) loss_ratio: f64,
    /// Of the slower direction.
    pub(super) sent_l1: Rate,
    pub(super) received_l1: Rate,
    /// A queue grew all the time.
    pub(super) fills_a_queue: bool,
    /// The tester could not send or receive it as planned.
    pub(super) tester_limit: bool,
    pub(super) repeats: u32,
    pub(super) reports: Vec<FramesReport>,
}

impl Offered {
    /// Whether no more was lost than the plan accepts, and nothing was about to be.
    pub(super) fn passes(&self, accepted_loss_ratio: f64) -> bool {
        self.loss_ratio <= accepted_loss_ratio && !self.fills_a_queue
    }

    /// The share of the load that did not come through at the rate at which it was offered.
    pub(super) fn shortfall(&self) -> f64 {
        let came_through = self.received_l1.as_bps() as f64;
        1.0 - came_through / self.offered.rate_l1.as_bps().max(1) as f64
    }

    pub(super) fn row(&self, accepted_loss_ratio: f64) -> TrialRow {
        TrialRow {
            offered: self.offered,
            lasts: self.steady,
            planned_frames: self.planned_frames,
            sent_frames: self.sent_frames,
            received_frames: self.received_frames,
            dropped_by_tester: self.dropped_by_tester,
            out_of_order_frames: self.out_of_order_frames,
            duplicate_frames: self.duplicate_frames,
            sent_by: self.sent_by(),
            passed: self.passes(accepted_loss_ratio),
            tester_limit: self.tester_limit,
            repeats: self.repeats,
            confirmation: false,
        }
    }

    fn sent_by(&self) -> SentBy {
        let is_whole = |report: &FramesReport| report.sent_by == SentBy::PacketSocket;
        match self.reports.iter().all(is_whole) {
            true => SentBy::PacketSocket,
            false => SentBy::UdpSocket,
        }
    }

    /// How much longer than others frames were on their way; `None` where none arrived.
    fn longest_wait(&self) -> Option<Duration> {
        self.reports.iter().map(|report| report.delay_growth_p99).min().flatten()
    }

    fn unsent(&self) -> f64 {
        let unsent = self.planned_frames.saturating_sub(self.sent_frames);
        unsent as f64 / self.planned_frames.max(1) as f64
    }

    /// Frames that the tester has both sent and not dropped itself.
    const fn carried(&self) -> u64 {
        self.sent_frames.saturating_sub(self.dropped_by_tester)
    }

    /// Whether nothing speaks against it but what a host that stood still makes too, though seldom
    /// again and again, and a network that is too slow always: delays that look like a queue, and
    /// losses of no more frames than were sent late, too close behind each other.
    pub(super) fn may_be_the_hosts(&self) -> bool {
        let is_lossless = self.loss_ratio == 0.0;
        let speaks_against = if is_lossless { self.fills_a_queue } else { self.lost_by_lateness() };
        speaks_against && !self.tester_limit
    }

    fn lost_by_lateness(&self) -> bool {
        let frames_per_second = self.offered.frames_per_second();
        self.reports.iter().all(|report| {
            let lost = report.sent_frames.saturating_sub(report.received_frames);
            let crowded = report.gaps.lateness.max.as_secs_f64() * frames_per_second;
            lost as f64 <= STALLS * crowded
        })
    }

    fn falls_short_like(&self, other: &Self) -> bool {
        let planned = self.planned_frames.max(1) as f64;
        let [mine, theirs] = [self.carried() as f64 / planned, other.carried() as f64 / planned];
        mine.max(theirs) < 1.0 - FAR_SHORT && (mine - theirs).abs() <= ALIKE
    }
}

impl Run<'_> {
    /// Offers a load until the tester has sent and received it as planned, six times at most; the
    /// best of them. A tester that falls far short twice alike has met its limit, not a busy host.
    pub(super) fn offer(&mut self, offer: &Offer) -> Result<Offered, Abort> {
        let mut best = self.offer_once(offer)?;
        for repeats in 1..=REPEATS {
            if !best.tester_limit {
                break;
            }
            let again = self.offer_once(offer)?;
            self.health.repeats += 1;
            let alike = best.falls_short_like(&again);
            let is_better = !again.tester_limit || again.carried() > best.carried();
            best = Offered { repeats, ..if is_better { again } else { best } };
            if alike {
                break;
            }
        }
        for _ in 0..VERIFICATIONS {
            if !best.may_be_the_hosts() {
                break;
            }
            let again = self.offer_once(offer)?;
            self.health.repeats += 1;
            if !again.tester_limit && again.loss_ratio <= best.loss_ratio {
                best = Offered { repeats: best.repeats + 1, ..again };
            }
        }
        Ok(best)
    }

    /// Offers a load, whatever the tester makes of it; again, if frames waited so long in the
    /// network that the last of them may have come too late to be counted.
    pub(super) fn offer_once(&mut self, offer: &Offer) -> Result<Offered, Abort> {
        loop {
            let waited_for = self.plan.durations.settle + self.queue;
            let offered = self.offer_as_it_is(offer)?;
            let is_overload = offered.loss_ratio > 0.0 || offered.fills_a_queue;
            // Of those that have come; where none has, they may all still wait.
            let waited = offered.longest_wait().unwrap_or(waited_for * 2);
            if !is_overload || waited * 2 < waited_for || waited_for > WAIT_MAX {
                return Ok(offered);
            }
            self.queue = waited.mul_f64(1.5);
            self.come_to_rest()?;
            if waited < waited_for {
                return Ok(offered);
            }
        }
    }

    fn offer_as_it_is(&mut self, offer: &Offer) -> Result<Offered, Abort> {
        let trial = self.trial(offer);
        self.health.trials += 1;
        let seen = self.run(&trial)?;
        let reports = reports(&trial, &seen, FlowReport::frames)?;
        if reports.iter().any(|report| report.sent_frames == 0) {
            return Err(Abort::Testbed(format!("no frame could be sent in '{}'", trial.name)));
        }
        Ok(judged(offer, &seen, reports.into_iter().cloned().collect()))
    }

    fn trial(&self, offer: &Offer) -> Trial {
        let silence = offer.silence();
        let pace = offer.pace(silence);
        let flow = |direction: &fp_model::Direction| {
            let sizes = FrameSizes::fixed(offer.rate.frame_bytes);
            let load = Load::Frames(FramesLoad::new(sizes, pace.clone()).unwatched());
            self.plan.flow(*direction, load)
        };
        let warm_up = offer.drain.as_ref().map_or(LEARNING, |drain| drain.lasts() + silence);
        Trial {
            name: format!(
                "{}, {}: {} bytes, {:.0} frames/s",
                offer.purpose,
                offer.way,
                offer.rate.frame_bytes,
                offer.rate.frames_per_second()
            ),
            flows: offer.way.directions().iter().map(flow).collect(),
            timing: Timing { warm_up, steady: offer.steady, settle: self.settle() },
        }
    }
}

//= rfc2544 10
fn judged(offer: &Offer, seen: &Observation, reports: Vec<FramesReport>) -> Offered {
    let sum = |count: fn(&FramesReport) -> u64| reports.iter().map(count).sum::<u64>();
    let known =
        |count: fn(&FramesReport) -> Option<u64>| reports.iter().map(count).sum::<Option<u64>>();
    let dropped = seen.dropped_packets();
    let lost = |report: &FramesReport| report.sent_frames.saturating_sub(report.received_frames);
    let ratio = |report: &FramesReport| {
        let in_the_network = lost(report).saturating_sub(dropped);
        in_the_network as f64 / report.sent_frames.max(1) as f64
    };
    let lost_frames: u64 = reports.iter().map(lost).sum();
    // Lost by the tester alone: what the network would have done is not known.
    let spoilt = lost_frames > 0 && lost_frames <= dropped;
    let on_the_line = offer.rate.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD;
    let rate = |frames: u64, time: Duration| Rate::over(frames * u64::from(on_the_line), time);
    let slower = |rates: &mut dyn Iterator<Item = Rate>| rates.min().unwrap_or_default();
    let mut sent_l1 = reports.iter().map(|report| rate(report.sent_frames, report.sent_in));
    let mut received_l1 = reports
        .iter()
        .map(|report| rate(report.received_frames, report.received_in.unwrap_or(report.sent_in)));
    let mut offered = Offered {
        offered: offer.rate,
        steady: offer.steady,
        planned_frames: sum(|report| report.planned_frames),
        sent_frames: sum(|report| report.sent_frames),
        received_frames: sum(|report| report.received_frames),
        dropped_by_tester: dropped,
        out_of_order_frames: known(|report| report.out_of_order_frames),
        duplicate_frames: known(|report| report.duplicate_frames),
        loss_ratio: if spoilt {
            lost_frames as f64 / sum(|report| report.sent_frames) as f64
        } else {
            reports.iter().map(ratio).fold(0.0, f64::max)
        },
        sent_l1: slower(&mut sent_l1),
        received_l1: slower(&mut received_l1),
        fills_a_queue: reports.iter().any(grows),
        tester_limit: spoilt,
        repeats: 0,
        reports: Vec::new(),
    };
    let stretched = reports.iter().any(|report| {
        // Whole frames seldom fill a trial to the end.
        let tolerated = TOLERATED.max(2.0 / report.sent_frames.max(1) as f64);
        (report.sent_in.as_secs_f64() / offer.steady.as_secs_f64() - 1.0).abs() > tolerated
    });
    let late = reports.iter().any(grows_by_lateness);
    offered.tester_limit |= offered.unsent() > TOLERATED || stretched || late;
    Offered { reports, ..offered }
}

/// Whether frames arrived more slowly than they left because a queue grew all the time: then the last
/// ones have waited for as long as the arrivals took more, and those in the middle for half of it, or more
/// where others made room. Where an end or the host stood still for a moment only the frames of that moment
/// have waited, or, on a line that is full, all frames after it: those in the middle for nothing or for as
/// long as the last.
fn grows(report: &FramesReport) -> bool {
    let Some(growth) = Growth::of(report) else { return false };
    growth.shortfall > GROWTH_MIN
        && growth.last_s >= 0.8 * growth.later_s
        && growth.median_s >= 0.8 * growth.later_s / 2.0
        && growth.last_s - growth.median_s > growth.varies_s
}

/// Whether such a queue may have come from the sender: frames that it sent late all at once wait for
/// each other, and at the rate of the line they do so until the end.
fn grows_by_lateness(report: &FramesReport) -> bool {
    let Some(growth) = Growth::of(report) else { return false };
    let by_itself_s = growth.last_s - report.gaps.lateness.max.as_secs_f64();
    grows(report) && by_itself_s < 0.8 * growth.later_s
}

struct Growth {
    /// The share of the rate sent that did not arrive in the same time,
    shortfall: f64,
    /// and how much longer the arrivals took for it.
    later_s: f64,
    /// How much longer than the fastest of the steady frames the last ones have waited, and half of
    /// them. A queue that was there before, from frames sent late in the warm-up, does not count.
    last_s: f64,
    median_s: f64,
    /// How far these are apart where delays vary by themselves.
    varies_s: f64,
}

impl Growth {
    fn of(report: &FramesReport) -> Option<Self> {
        let arrived = report.received_frames as f64 / report.sent_frames.max(1) as f64;
        let sent_s = report.sent_in.as_secs_f64();
        let needed_s = report.received_in?.as_secs_f64() / arrived;
        let (delay, jitter) = (report.delay?, report.jitter?);
        Some(Self {
            shortfall: 1.0 - sent_s / needed_s,
            later_s: needed_s - sent_s,
            last_s: delay.p99.saturating_sub(delay.min).as_secs_f64(),
            median_s: delay.p50.saturating_sub(delay.min).as_secs_f64(),
            varies_s: VARIES * jitter.mean.unwrap_or(jitter.rfc3550).as_secs_f64(),
        })
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{DelaySummary, Jitter};

    use super::*;

    /// A trial of a second whose 1000 frames arrived over `arrived_ms`, half of them `median_ms` later than the
    /// first and the last ones by `last_ms`.
    fn grows_of([arrived_ms, median_ms, last_ms]: [u64; 3], jitter_ms: u64) -> bool {
        let ms = Duration::from_millis;
        let delay = DelaySummary { min: ms(10), p50: ms(10 + median_ms), ..Default::default() };
        grows(&FramesReport {
            sent_frames: 1000,
            received_frames: 1000,
            sent_in: ms(1000),
            received_in: Some(ms(arrived_ms)),
            delay: Some(DelaySummary { p99: ms(10 + last_ms), ..delay }),
            jitter: Some(Jitter { rfc3550: ms(0), mean: Some(ms(jitter_ms)) }),
            ..FramesReport::default()
        })
    }

    #[test]
    fn a_queue_grows_however_fast_and_where_others_make_room() {
        assert!(grows_of([1010, 5, 10], 0));
        assert!(grows_of([1600, 300, 595], 0));
        assert!(grows_of([1250, 220, 245], 2));
    }

    #[test]
    fn a_host_that_stood_still_is_no_queue() {
        assert!(!grows_of([1010, 0, 10], 0));
        assert!(!grows_of([1010, 10, 10], 0));
        assert!(!grows_of([1010, 10, 14], 2));
    }
}

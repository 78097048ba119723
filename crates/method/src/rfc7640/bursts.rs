//! Trials of bursts, run again where the tester spoilt them, and the stateless metrics of them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::slice;
use core::time::Duration;

use fp_model::{
    Abort, ArrivedRun, BurstReport, BurstSpacing, BurstsLoad, BurstsReport, Direction, Dscp,
    FlowReport, FlowSpec, Load, PacketLayout, RttSummary, Testbed as _, Timing, Trial,
};

use super::trains::{Curve, Sought};
use super::{Run, Stateless};
use crate::path::settle;
use crate::tester::{REPEATS, repeated, reports};

/// The path falls idle, and host and far end are ready, before the first burst.
const IDLE_MIN: Duration = Duration::from_millis(20);
/// Intervals are longer by this factor: two clocks differ, and rates that are equal only by them would lead to
/// loss.
const CLOCK_SLACK: f64 = 1.001;
/// A burst may be late by this share of the interval, within these bounds. Intervals are longer by
/// as much: what is late once does not take from the next.
const LATE_SHARE_MAX: u32 = 20;
const LATE_LEAST: Duration = Duration::from_micros(100);
const LATE_MOST: Duration = Duration::from_millis(1);
/// A burst that lasts so much longer than planned, and a little more, is not the burst planned, ...
const SLOWER_MAX: f64 = 1.10;
const SLOWER_SPARE: Duration = Duration::from_micros(50);
/// ... and a trial is spoilt where so many are not.
const SLOW_BURSTS_SHARE_MAX: f64 = 0.1;

/// Bursts of one class of traffic or several, all at the same times.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub(super) name: String,
    pub(super) direction: Direction,
    pub(super) classes: Vec<Dscp>,
    pub(super) load: BurstsLoad,
    /// No burst may begin later than this.
    pub(super) late_max: Duration,
    /// Before the first burst: buckets fill, queues empty.
    pub(super) idle: Duration,
    /// After the last burst, beside the round trip: queues empty.
    pub(super) drain: Duration,
    /// Bursts of one frame are to show these trains, of which the first must tell when it began.
    pub(super) trains: Option<Sought>,
}

/// The time from one burst to the next where a bucket or a queue takes `least` to recover, and how
/// late a burst may then be.
pub(super) fn interval(least: Duration) -> (Duration, Duration) {
    let late_max = (least / LATE_SHARE_MAX).clamp(LATE_LEAST, LATE_MOST);
    (least.mul_f64(CLOCK_SLACK) + late_max, late_max)
}

impl Offer {
    pub(super) fn burst_bytes(&self) -> u64 {
        u64::from(self.load.frames_per_burst) * u64::from(self.load.frame_bytes)
    }
}

/// What a trial gave, class by class.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) reports: Vec<BurstsReport>,
    repeated: u32,
    is_spoilt: bool,
}

impl Outcome {
    pub(super) fn lost_frames(&self) -> u64 {
        self.reports.iter().map(lost_frames).sum()
    }
}

impl Run<'_> {
    /// Bursts of `frames` in one direction, at line rate, for as long as a run takes.
    pub(super) fn bursts(
        &self,
        name: String,
        direction: Direction,
        frames: u32,
        (period, late_max): (Duration, Duration),
    ) -> Offer {
        let bursts = (self.plan.trial.as_nanos() / period.as_nanos()).clamp(1, u32::MAX.into());
        Offer {
            name,
            direction,
            classes: vec![self.plan.dscp],
            load: BurstsLoad {
                frame_bytes: self.plan.frame_bytes,
                frames_per_burst: frames,
                bursts: bursts as u32,
                period,
                rate_l1: self.plan.line_rate_l1,
                spacing: BurstSpacing::OnSchedule,
            },
            late_max,
            idle: period,
            drain: Duration::ZERO,
            trains: None,
        }
    }

    /// Runs a trial until the tester has not spoilt it, so often at most.
    pub(super) fn offer(&mut self, offer: &Offer) -> Result<Outcome, Abort> {
        let outcomes = self.offer_together(&offer.name, slice::from_ref(offer))?;
        let reports = outcomes.iter().flat_map(|outcome| outcome.reports.clone()).collect();
        let of_all = |is: fn(&Outcome) -> bool| outcomes.iter().any(is);
        let repeated = outcomes.iter().map(|outcome| outcome.repeated).max().unwrap_or_default();
        Ok(Outcome { reports, repeated, is_spoilt: of_all(|outcome| outcome.is_spoilt) })
    }

    /// The same with several offers in one trial, and an outcome for each.
    pub(super) fn offer_together(
        &mut self,
        name: &str,
        offers: &[Offer],
    ) -> Result<Vec<Outcome>, Abort> {
        let trial = self.trial_of(name, offers);
        let offer = |trials: u32| {
            let seen = self.run(&trial)?;
            let reports = reports(&trial, &seen, FlowReport::bursts)?;
            let is_sound = |(offer, reports): (&Offer, &[&BurstsReport])| {
                reports.iter().all(|report| is_as_planned(report, offer) && is_told(report, offer))
            };
            let is_spoilt = seen.dropped_packets() > 0 || !by_offer(offers, &reports).all(is_sound);
            Ok((seen, is_spoilt, trials - 1))
        };
        let (seen, is_spoilt, repeated) = repeated(REPEATS, offer, |(_, spoilt, _)| *spoilt)?;
        let reports = reports(&trial, &seen, FlowReport::bursts)?;
        self.health.add_bursts(&reports, &seen);
        self.health.spoilt_trials += u32::from(is_spoilt);
        let outcome = |(_, reports): (&Offer, &[&BurstsReport])| Outcome {
            reports: reports.iter().copied().cloned().collect(),
            repeated,
            is_spoilt,
        };
        Ok(by_offer(offers, &reports).map(outcome).collect())
    }

    fn trial_of(&self, name: &str, offers: &[Offer]) -> Trial {
        let flows = offers.iter().flat_map(|offer| {
            let load = Load::Bursts(offer.load);
            let flow = move |dscp: &Dscp| {
                FlowSpec::new(offer.direction, self.plan.family, *dscp, load.clone())
            };
            offer.classes.iter().map(flow)
        });
        let longest = |time: &dyn Fn(&Offer) -> Duration| offers.iter().map(time).max();
        let timing = Timing {
            warm_up: longest(&|offer| offer.idle).unwrap_or_default().max(IDLE_MIN),
            steady: longest(&|offer| offer.load.period * offer.load.bursts).unwrap_or_default(),
            settle: longest(&|offer| self.loss_timeout(offer)).unwrap_or_default(),
        };
        Trial { name: name.into(), flows: flows.collect(), timing }
    }

    //= rfc7640 4.1
    /// When a frame that has not arrived is lost.
    pub(super) fn loss_timeout(&self, offer: &Offer) -> Duration {
        settle(self.baseline_rtt) + offer.drain
    }

    /// `runs` trials of the same kind, and the metrics of each class over all of them.
    pub(super) fn offer_often(
        &mut self,
        offer: &Offer,
    ) -> Result<(Vec<Stateless>, Vec<Outcome>), Abort> {
        let mut outcomes = Vec::new();
        for _ in 0..self.plan.runs {
            outcomes.push(self.offer(offer)?);
        }
        let loss_timeout = self.loss_timeout(offer);
        let of_class = |class| stateless(offer, &outcomes, class, loss_timeout);
        Ok(((0..offer.classes.len()).map(of_class).collect(), outcomes))
    }

    /// The same with several offers of one class each, in trials of all of them.
    pub(super) fn offer_together_often(
        &mut self,
        name: &str,
        offers: &[Offer],
    ) -> Result<(Vec<Stateless>, Vec<Vec<Outcome>>), Abort> {
        let mut outcomes = vec![Vec::new(); offers.len()];
        for _ in 0..self.plan.runs {
            let of_each = self.offer_together(name, offers)?;
            outcomes.iter_mut().zip(of_each).for_each(|(all, one)| all.push(one));
        }
        let of_offer = |(offer, outcomes): (&Offer, &Vec<Outcome>)| {
            stateless(offer, outcomes, 0, self.loss_timeout(offer))
        };
        Ok((offers.iter().zip(&outcomes).map(of_offer).collect(), outcomes))
    }
}

/// The reports of a trial, offer by offer.
fn by_offer<'a>(
    offers: &'a [Offer],
    reports: &'a [&'a BurstsReport],
) -> impl Iterator<Item = (&'a Offer, &'a [&'a BurstsReport])> + Clone {
    offers.iter().scan(reports, |left, offer| {
        let (of_offer, others) = left.split_at_checked(offer.classes.len())?;
        *left = others;
        Some((offer, of_offer))
    })
}

/// Every burst was sent whole, in time and, where it had a rate, nearly at that rate.
fn is_as_planned(report: &BurstsReport, Offer { load, late_max, .. }: &Offer) -> bool {
    let all_sent = report.bursts.len() == report.planned_bursts as usize;
    let is_sent = |burst: &BurstReport| {
        burst.sent_frames == load.frames_per_burst && burst.sent_from <= *late_max
    };
    if !all_sent || !report.bursts.iter().all(is_sent) {
        return false;
    }
    let Some(rate_l1) = load.rate_l1 else { return true };
    let on_the_line = u64::from(load.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD);
    let planned = rate_l1.time_for(on_the_line * u64::from(load.frames_per_burst - 1));
    let limit = planned.mul_f64(SLOWER_MAX) + SLOWER_SPARE;
    let slow = report.bursts.iter().filter(|burst| burst.sent_in() > limit).count();
    slow as f64 <= SLOW_BURSTS_SHARE_MAX * report.bursts.len() as f64
}

/// What came of it tells what it is to tell.
fn is_told(report: &BurstsReport, offer: &Offer) -> bool {
    offer.trains.is_none_or(|sought| Curve::of(report, &offer.load).begins_in_time(sought))
}

pub(super) fn lost_frames(report: &BurstsReport) -> u64 {
    report.bursts.iter().map(lost_of_burst).sum()
}

fn lost_of_burst(burst: &BurstReport) -> u64 {
    u64::from(burst.sent_frames.saturating_sub(burst.received_frames))
}

//= rfc7640 4.1
/// The metrics of one class over several trials.
fn stateless(
    offer: &Offer,
    outcomes: &[Outcome],
    class: usize,
    loss_timeout: Duration,
) -> Stateless {
    let reports: Vec<&BurstsReport> =
        outcomes.iter().map(|outcome| &outcome.reports[class]).collect();
    let bursts: Vec<&BurstReport> = reports.iter().flat_map(|report| &report.bursts).collect();
    let received_frames = bursts.iter().map(|burst| u64::from(burst.received_frames)).sum();
    let delay = RttSummary::of(bursts.iter().flat_map(|burst| delays(burst)).collect());
    let sum = |count: fn(&BurstsReport) -> u64| reports.iter().map(|report| count(report)).sum();
    Stateless {
        burst_bytes: offer.burst_bytes(),
        interval: offer.load.period,
        runs: outcomes.len() as u32,
        bursts: bursts.len() as u64,
        whole_bursts: bursts.iter().filter(|burst| lost_of_burst(burst) == 0).count() as u64,
        sent_frames: bursts.iter().map(|burst| u64::from(burst.sent_frames)).sum(),
        received_frames,
        received_bytes: received_frames * u64::from(offer.load.frame_bytes),
        lost_frames: sum(lost_frames),
        out_of_order_frames: sum(|report| report.out_of_order_frames),
        duplicate_frames: sum(|report| report.duplicate_frames),
        corrupt_frames: sum(|report| report.corrupt_frames),
        delay,
        delay_variation_p99: delay.map(|delay| delay.p99 - delay.min),
        loss_timeout,
        repeated_trials: outcomes.iter().map(|outcome| outcome.repeated).sum(),
        spoilt_trials: outcomes.iter().map(|outcome| u32::from(outcome.is_spoilt)).sum(),
    }
}

/// The one-way delay of every frame that arrived. A burst leaves evenly, and between the ends of a
/// run of arrivals the frames arrive evenly, as far as is known.
fn delays(burst: &BurstReport) -> impl Iterator<Item = Duration> {
    let last = burst.sent_frames.saturating_sub(1);
    let lasted = burst.sent_in();
    let sent_from = burst.sent_from;
    let sent_at = move |frame: u32| sent_from + part(lasted, frame.min(last), last);
    arrivals(burst).map(move |(frame, at)| at.saturating_sub(sent_at(frame)))
}

/// The frames of a burst that arrived, with the time since the burst was due.
pub(super) fn arrivals(burst: &BurstReport) -> impl Iterator<Item = (u32, Duration)> {
    burst.arrived.iter().flat_map(|run| {
        let ArrivedRun { first, frames, from, until, .. } = *run;
        let lasted = until.saturating_sub(from);
        (0..frames).map(move |k| (first + k, from + part(lasted, k, frames - 1)))
    })
}

/// `of` times `k` / `n`; all of it where `n` is 0.
fn part(of: Duration, k: u32, n: u32) -> Duration {
    let nanos = of.as_nanos() as u64;
    let share = u128::from(nanos) * u128::from(k) / u128::from(n.max(1));
    Duration::from_nanos(share as u64)
}

/// How many frames of every burst came through before the first was lost.
pub(super) fn whole_prefix(reports: &[BurstsReport]) -> Option<u32> {
    let prefix = |burst: &BurstReport| {
        burst.arrived.iter().fold(0, |reached, run| {
            if run.first == reached { reached + run.frames } else { reached }
        })
    };
    reports.iter().flat_map(|report| &report.bursts).map(prefix).min()
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fp_model::Rate;

    use super::*;

    const fn run(first: u32, frames: u32, from_us: u64, until_us: u64) -> ArrivedRun {
        ArrivedRun {
            first,
            frames,
            dscp: None,
            from: Duration::from_micros(from_us),
            until: Duration::from_micros(until_us),
        }
    }

    /// Five frames, one each 10 µs; they arrive 100 µs later, the fourth not at all, the last one
    /// 20 µs later still.
    fn burst() -> BurstReport {
        BurstReport {
            burst: 0,
            sent_frames: 5,
            received_frames: 4,
            sent_from: Duration::from_micros(2),
            sent_until: Duration::from_micros(42),
            arrived: vec![run(0, 3, 102, 122), run(4, 1, 162, 162)],
            ..BurstReport::default()
        }
    }

    fn offer(bursts: u32) -> Offer {
        let load = BurstsLoad {
            frame_bytes: 1000,
            frames_per_burst: 5,
            bursts,
            period: Duration::from_millis(1),
            rate_l1: Some(Rate::mbps(1000)),
            spacing: BurstSpacing::OnSchedule,
        };
        Offer {
            name: String::new(),
            direction: Direction::Upload,
            classes: vec![Dscp::BEST_EFFORT],
            load,
            late_max: Duration::from_micros(100),
            idle: Duration::ZERO,
            drain: Duration::ZERO,
            trains: None,
        }
    }

    fn report(bursts: Vec<BurstReport>) -> BurstsReport {
        BurstsReport { planned_bursts: 2, bursts, ..BurstsReport::default() }
    }

    //= rfc7640 4.1
    #[test]
    fn lost_frames_delay_and_its_variation_are_those_of_the_frames() {
        let outcome =
            Outcome { reports: vec![report(vec![burst()])], repeated: 0, is_spoilt: false };
        let timeout = Duration::from_millis(100);
        let seen = stateless(&offer(1), &[outcome.clone(), outcome], 0, timeout);
        assert_eq!((seen.sent_frames, seen.received_frames, seen.lost_frames), (10, 8, 2));
        assert_eq!((seen.bursts, seen.whole_bursts, seen.loss_timeout), (2, 0, timeout));
        assert_eq!(seen.received_burst_bytes_mean(), 4000);
        let delay = seen.delay.unwrap();
        assert_eq!(delay.min, Duration::from_micros(100));
        assert_eq!(delay.max, Duration::from_micros(120));
        // 100, 100, 100, 120, twice.
        assert_eq!(delay.mean, Duration::from_micros(105));
        assert_eq!(seen.delay_variation_p99, Some(Duration::from_micros(20)));
    }

    #[test]
    fn a_trial_is_spoilt_where_frames_are_missing_or_bursts_late_or_slow() {
        let of = |bursts| is_as_planned(&report(bursts), &offer(2));
        // 4·1020·8 bit at 1 Gbit/s are 32.64 µs; a tenth and 50 µs more are 85.9 µs.
        let slow = BurstReport { sent_until: Duration::from_micros(90), ..burst() };
        let late = Duration::from_micros(101);
        let late = BurstReport { sent_from: late, sent_until: late, ..burst() };
        assert!(of(vec![burst(), burst()]));
        assert!(!of(vec![burst()]));
        assert!(!of(vec![burst(), BurstReport { sent_frames: 4, ..burst() }]));
        assert!(!of(vec![burst(), slow]));
        assert!(!of(vec![burst(), late]));
    }

    #[test]
    fn what_comes_before_the_first_loss_is_the_prefix() {
        let whole = BurstReport { arrived: vec![run(0, 3, 0, 0), run(3, 2, 0, 0)], ..burst() };
        assert_eq!(whole_prefix(&[report(vec![whole.clone()])]), Some(5));
        assert_eq!(whole_prefix(&[report(vec![whole]), report(vec![burst()])]), Some(3));
        assert_eq!(whole_prefix(&[report(vec![])]), None);
    }
}

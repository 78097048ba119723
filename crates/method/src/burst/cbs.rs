//! The CBS test: bursts of whole frames as large as the CBS, as often as the CIR allows, lose nothing.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, ArrivedRun, BurstReport, BurstSpacing, BurstsLoad, BurstsReport, Direction, LayeredRate,
};

use super::first::First;
use super::port::{Port, names, refill_time};
use super::{BurstTimes, CbsStep, Flaw, Goal, Offer, Policer, Run, Seen, Step, cbs_plan, median};
use crate::infer::rate::{LINK_LOSES_MOST, Quiet};
use crate::tester::{CLOCK_S, REPEATS, repeated};
use crate::{Bytes, Seconds};

/// A burst that takes longer gives the bucket this share of itself back, and tests that much less.
pub(super) const REFILL_SHARE_MAX: f64 = 0.01;
/// With fewer places in first halves of bursts an even loss is not told from an uneven one.
const PLACES_MIN: f64 = 4.0;
/// Where the refill of one burst takes longer than the test.
const BURSTS_MIN: u32 = 2;

/// Runs the test with frames of one length in all directions at once.
pub(super) fn test(
    run: &mut Run<'_>,
    looked: &[(Port, First)],
    frame_bytes: u32,
) -> Result<(), Abort> {
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(()) };
    let Some(planned) = Planned::new(run, cir, cbs_bytes, frame_bytes) else { return Ok(()) };
    let directions: Vec<Direction> = looked.iter().map(|(port, _)| port.direction).collect();
    let load = planned.load;
    let offers: Vec<_> =
        directions.iter().map(|direction| Offer { direction: *direction, load }).collect();
    let name = format!("CBS, {}: frames of {frame_bytes} bytes", names(&directions));
    let idle = refill_time(cir.rate, cbs_bytes);
    let offer = |trials: u32| {
        let seen = run.bursts(name.clone(), &offers, idle)?;
        let mut is_open = false;
        let mut judge = |((port, first), seen): (&(Port, First), &Seen)| {
            let mut step = planned.judge(port, seen, looked.len() > 1, trials);
            let off_schedule = step.flaw == Some(Flaw::OffSchedule);
            let has_lost = step.pass == Some(false) || off_schedule;
            if let Some(quiet) = first.quiet().filter(|_| has_lost) {
                let is_deep = first.is_deep_enough(&planned, run.plan.tolerance_percent);
                match by_chance(&seen.report.bursts, quiet, is_deep) {
                    Some(true) => (step.flaw, step.pass) = (None, Some(true)),
                    // Such a loss does not come again.
                    None => is_open |= !off_schedule,
                    Some(false) => {}
                }
            }
            step
        };
        let steps: Vec<CbsStep> = looked.iter().zip(&seen).map(&mut judge).collect();
        let has_flaw = steps.iter().any(|step| step.flaw.is_some());
        Ok((steps, has_flaw || is_open && trials == 1))
    };
    let (steps, _) = repeated(REPEATS, offer, |(_, is_spoilt)| *is_spoilt)?;
    run.report.steps.extend(steps.into_iter().map(Step::Cbs));
    Ok(())
}

/// Whether what is lost at any rate explains what was lost of the bursts; `None` where only the last one
/// lost any. A bucket that is too small for them drops of each from the first one on which it does; trains of
/// frames may have shown that it `is_deep` enough.
fn by_chance(bursts: &[BurstReport], quiet: &Quiet, is_deep: bool) -> Option<bool> {
    let lost = |burst: &BurstReport| burst.sent_frames.saturating_sub(burst.received_frames);
    let lost_frames: f64 = bursts.iter().map(|burst| f64::from(lost(burst))).sum();
    let sent: f64 = bursts.iter().map(|burst| f64::from(burst.sent_frames)).sum();
    let first = bursts.iter().position(|burst| lost(burst) > 0).unwrap_or(0);
    let spares_some = bursts[first..].iter().any(|burst| lost(burst) == 0);
    if lost_frames > LINK_LOSES_MOST * sent {
        return Some(false);
    }
    if is_even(bursts, if is_deep { 1.0 } else { PLACES_MIN }) {
        return Some(true);
    }
    if !quiet.explains(lost_frames, sent) {
        return Some(false);
    }
    if spares_some || quiet.lost > 0.0 {
        return Some(true);
    }
    (first + 1 < bursts.len()).then_some(false)
}

/// Whether the first halves of bursts lose as much as the second halves, and in as many places: a bucket or
/// a queue that is full or empty when a burst begins drops of the second one.
fn is_even(bursts: &[BurstReport], places_min: f64) -> bool {
    let halves = |burst: &BurstReport| {
        let middle = burst.sent_frames / 2;
        let (mut next, mut halves) = (0, [(0.0, 0.0); 2]);
        let ends = burst.arrived.iter().map(|run| (run.first, run.first + run.frames));
        for (first, end) in ends.chain([(burst.sent_frames, burst.sent_frames)]) {
            for (half, (from, to)) in
                [(0, middle), (middle, burst.sent_frames)].into_iter().enumerate()
            {
                let missing = first.min(to).saturating_sub(next.max(from));
                halves[half].0 += f64::from(missing);
                halves[half].1 += f64::from(u8::from(missing > 0));
            }
            next = end;
        }
        halves
    };
    let (mut lost, mut places) = ([0.0; 2], [0.0; 2]);
    for of_burst in bursts.iter().map(halves) {
        for half in 0..2 {
            lost[half] += of_burst[half].0;
            places[half] += of_burst[half].1;
        }
    }
    let all_places = places[0] + places[1];
    let each = (lost[0] + lost[1]) / f64::max(all_places, 1.0);
    // Three standard errors of a difference, of places and of frames, which come in runs.
    let certain = 3.0 * libm::sqrt(all_places);
    places[0] >= places_min
        && places[1] - places[0] <= certain
        && lost[1] - lost[0] <= certain * each * core::f64::consts::SQRT_2
}

impl First {
    /// Whether trains of frames have shown the bucket to be as deep as planned, within the tolerance.
    fn is_deep_enough(&self, planned: &Planned, tolerance_percent: f64) -> bool {
        let Some(known) = self.known() else { return false };
        let depth = known.depth_bytes(planned.frame_bytes, planned.charged_bytes);
        depth.at_least >= planned.cbs_bytes as f64 * (1.0 - tolerance_percent / 100.0)
    }
}

/// The bursts of one frame length.
struct Planned {
    load: BurstsLoad,
    frame_bytes: u32,
    charged_bytes: f64,
    cir: LayeredRate,
    cbs_bytes: u64,
}

impl Planned {
    /// `None` where not even one frame fits into the CBS, which the plan's check refuses.
    fn new(run: &Run<'_>, cir: LayeredRate, cbs_bytes: u64, frame_bytes: u32) -> Option<Self> {
        let charged = run.plan.charged_bytes(frame_bytes, cir.layer);
        let policer = Policer { cir_l2: cir.rate.into(), cbs: Bytes::whole(cbs_bytes) };
        let exact = cbs_plan(policer, Bytes::whole(charged.into()), Seconds::from(run.plan.test))?;
        let frames_per_burst = u32::try_from(exact.frames_per_burst.to_u64()?).ok()?;
        let bursts = u32::try_from(exact.bursts.to_u64()?).ok()?.max(BURSTS_MIN);
        let period = Duration::from_secs_f64(exact.period.to_f64()? * run.plan.period_guard);
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst,
            bursts,
            period,
            rate_l1: None,
            spacing: BurstSpacing::Apart,
        };
        Some(Self { load, frame_bytes, charged_bytes: f64::from(charged), cir, cbs_bytes })
    }

    fn judge(&self, port: &Port, seen: &Seen, bidirectional: bool, trials: u32) -> CbsStep {
        let count = Count::of(seen);
        let slot_s = port.slot_s(self.frame_bytes);
        let flaw = self.flaw(seen, &count, slot_s);
        let frame_bytes = u64::from(self.frame_bytes);
        let bursts = seen.report.bursts.len();
        CbsStep {
            direction: port.direction,
            bidirectional,
            frame_bytes: self.frame_bytes,
            cir: self.cir,
            configured_burst_bytes: self.cbs_bytes,
            tx_burst_bytes: u64::from(self.load.frames_per_burst) * frame_bytes,
            rx_burst_bytes_mean: (count.received * frame_bytes) as f64 / bursts.max(1) as f64,
            frames_sent: count.sent,
            frames_received: count.received,
            bursts: bursts as u32,
            period: self.load.period,
            times: times(seen, slot_s, self.load.frames_per_burst),
            frames_marked: count.received - count.unmarked,
            trials,
            flaw,
            pass: flaw.is_none().then_some(count.received == count.sent),
        }
    }

    fn flaw(&self, seen: &Seen, count: &Count, slot_s: f64) -> Option<Flaw> {
        if let Some(spoilt) = seen.spoilt() {
            return Some(spoilt);
        }
        if count.received < count.sent {
            // A frame that was lost cannot show that it was late.
            let overtaken_s = seen.emulation.overtaken_max.as_secs_f64();
            if overtaken_s * self.cir_bytes_s() >= self.charged_bytes {
                return Some(Flaw::EmulationLate);
            }
            if self.lateness_explains_losses(&seen.report, slot_s) {
                return Some(Flaw::OffSchedule);
            }
        }
        let lags = seen.report.bursts.iter().map(|burst| behind_the_line(burst, slot_s));
        let lag = median(lags.collect()).unwrap_or(0.0);
        if lag * self.cir_bytes_s() > REFILL_SHARE_MAX * self.cbs_bytes as f64 {
            return Some(Flaw::SlowBursts);
        }
        None
    }

    /// Whether each burst lost no more than a policer as configured may have dropped of it, because
    /// one before was late.
    ///
    /// While a full bucket waits for frames that are late its tokens overflow; the next burst finds
    /// so many less, and so do those after it, until the time to spare between two has made up for
    /// it. Frames are late in the sender, which says so, or between it and the policer, which their
    /// arrival shows.
    fn lateness_explains_losses(&self, report: &BurstsReport, slot_s: f64) -> bool {
        let delays =
            report.bursts.iter().filter_map(|burst| Some(begin(burst)? - sent_from(burst)));
        let least_delay = delays.fold(f64::INFINITY, f64::min);
        let full = self.cbs_bytes as f64 + self.cir_bytes_s() * self.line_time(slot_s);
        let needed = f64::from(self.load.frames_per_burst) * self.charged_bytes;
        let mut late: f64 = 0.0;
        report.bursts.iter().all(|burst| {
            late = (late - self.spare_s()).max(0.0);
            let short_s = (late - sent_from(burst)).max(0.0) + CLOCK_S;
            let missing = needed + self.cir_bytes_s() * short_s - full;
            late = late.max(self.late(burst, least_delay, slot_s));
            let lost = burst.sent_frames.saturating_sub(burst.received_frames);
            lost == 0 || f64::from(lost - 1) * self.charged_bytes < missing
        })
    }

    /// For how long at most a bucket stayed full after this burst was due: until the first frame
    /// came, or a later one for which those before had left room. A pause within a run may have
    /// come as early as after its first frame.
    fn late(&self, burst: &BurstReport, least_delay: f64, slot_s: f64) -> f64 {
        let refill_s = self.charged_bytes / self.cir_bytes_s();
        let behind = |run: &ArrivedRun| {
            let lasted = run.until.saturating_sub(run.from).as_secs_f64();
            let paused = lasted - f64::from(run.frames.saturating_sub(1)) * slot_s;
            let full = (paused - refill_s).max(0.0);
            run.from.as_secs_f64() + full - least_delay - f64::from(run.first) * refill_s
        };
        burst.arrived.iter().map(behind).fold(sent_from(burst), f64::max)
    }

    /// By how much bursts are farther apart than their refill takes.
    fn spare_s(&self) -> f64 {
        let burst_bytes = f64::from(self.load.frames_per_burst) * self.charged_bytes;
        self.load.period.as_secs_f64() - burst_bytes / self.cir_bytes_s()
    }

    fn line_time(&self, slot_s: f64) -> f64 {
        f64::from(self.load.frames_per_burst.saturating_sub(1)) * slot_s
    }

    fn cir_bytes_s(&self) -> f64 {
        self.cir.rate.as_bps() as f64 / 8.0
    }
}

fn sent_from(burst: &BurstReport) -> f64 {
    burst.sent_from.as_secs_f64()
}

/// When the first frame arrived, if it did.
fn begin(burst: &BurstReport) -> Option<f64> {
    let first = burst.arrived.first().filter(|run| run.first == 0)?;
    Some(first.from.as_secs_f64())
}

/// Frames of a trial.
pub(super) struct Count {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Of those received, marked like the first of their burst.
    pub(super) unmarked: u64,
}

impl Count {
    pub(super) fn of(seen: &Seen) -> Self {
        let sum = |frames: fn(&BurstReport) -> u32| {
            seen.report.bursts.iter().map(|burst| u64::from(frames(burst))).sum()
        };
        Self {
            sent: sum(|burst| burst.sent_frames),
            received: sum(|burst| burst.received_frames),
            unmarked: seen.report.bursts.iter().map(unmarked).sum(),
        }
    }
}

/// Frames of a burst that came marked like its first one.
fn unmarked(burst: &BurstReport) -> u64 {
    let plain = burst.arrived.first().and_then(|run| run.dscp);
    let runs = burst.arrived.iter().filter(|run| run.dscp == plain);
    runs.map(|run| u64::from(run.frames)).sum()
}

/// By how many seconds a sender fell behind a line whose frames follow each other every `slot_s`.
fn behind_the_line(burst: &BurstReport, slot_s: f64) -> f64 {
    let sent_in = burst.sent_in().as_secs_f64();
    (sent_in - f64::from(burst.sent_frames.saturating_sub(1)) * slot_s).max(0.0)
}

/// The middle of the bursts' times.
pub(super) fn times(seen: &Seen, slot_s: f64, frames_per_burst: u32) -> BurstTimes {
    let middle = |lasts: fn(&BurstReport) -> Option<Duration>| {
        let seconds = seen.report.bursts.iter().filter_map(lasts).map(|time| time.as_secs_f64());
        median(seconds.collect()).map(Duration::from_secs_f64)
    };
    let at_line_rate = f64::from(frames_per_burst.saturating_sub(1)) * slot_s;
    BurstTimes {
        at_line_rate: Duration::from_secs_f64(at_line_rate),
        sent: middle(|burst| Some(burst.sent_in())).unwrap_or_default(),
        received: middle(BurstReport::arrived_in),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fp_model::{Layer, Rate};

    use super::*;

    /// 20 bytes more than 1,000 at a gigabit.
    const SLOT_S: f64 = 8.16e-6;

    /// Ten frames of 1,000 bytes, which fill the bucket; at 1,000 bytes a millisecond they are paid
    /// for in 10 ms, 10 µs before the next ones come.
    fn planned() -> Planned {
        Planned {
            load: BurstsLoad {
                frame_bytes: 1000,
                frames_per_burst: 10,
                bursts: 4,
                period: Duration::from_micros(10_010),
                rate_l1: None,
                spacing: BurstSpacing::Apart,
            },
            frame_bytes: 1000,
            charged_bytes: 1000.0,
            cir: LayeredRate { rate: Rate::mbps(8), layer: Layer::L2 },
            cbs_bytes: 10_000,
        }
    }

    /// A burst that leaves and arrives so late, after 5 ms on the way, and loses its last frames.
    fn burst(number: u32, sent_late_us: u64, arrived_late_us: u64, lost: u32) -> BurstReport {
        let at = |us| Duration::from_micros(us);
        let begin = 5000 + arrived_late_us;
        let run = ArrivedRun {
            first: 0,
            frames: 10 - lost,
            dscp: None,
            from: at(begin),
            until: at(begin + 73),
        };
        BurstReport {
            burst: number,
            sent_frames: 10,
            received_frames: 10 - lost,
            sent_from: at(sent_late_us),
            sent_until: at(sent_late_us + 73),
            arrived: vec![run],
            ..BurstReport::default()
        }
    }

    fn explained(late_us: [(u64, u64); 2], lost: [u32; 2]) -> bool {
        let [first, second] =
            [0, 1].map(|k| burst(k as u32 + 1, late_us[k].0, late_us[k].1, lost[k]));
        let bursts = vec![burst(0, 0, 0, 0), first, second];
        let report = BurstsReport { planned_bursts: 3, bursts, ..BurstsReport::default() };
        planned().lateness_explains_losses(&report, SLOT_S)
    }

    /// 3 ms are 3,000 bytes, of which the 10 µs to spare and the 73 µs of a burst give 83 back.
    #[test]
    fn a_burst_that_comes_late_takes_from_the_next_one_what_the_bucket_had_no_room_for() {
        for late in [(3000, 3000), (0, 3000)] {
            assert!(explained([late, (0, 0)], [0, 3]), "{late:?}");
            assert!(!explained([late, (0, 0)], [0, 4]), "{late:?}");
            // Its own bucket was full, and that of one that is as late as well.
            assert!(!explained([late, (0, 0)], [1, 0]), "{late:?}");
        }
        assert!(!explained([(3000, 3000), (3000, 3000)], [0, 1]));
    }

    /// After the first frame the bucket lacks 1,000 bytes, which one of 3 ms gives back: 2,000 bytes
    /// overflow.
    #[test]
    fn a_pause_within_a_run_of_frames_counts_wherever_it_was() {
        let paused = |lost| {
            let mut first = burst(1, 0, 0, 0);
            first.arrived[0].until += Duration::from_millis(3);
            let bursts = vec![burst(0, 0, 0, 0), first, burst(2, 0, 0, lost)];
            let report = BurstsReport { planned_bursts: 3, bursts, ..BurstsReport::default() };
            planned().lateness_explains_losses(&report, SLOT_S)
        };
        assert!(paused(2));
        assert!(!paused(3));
    }

    #[test]
    fn losses_of_bursts_that_come_in_time_are_the_networks() {
        assert!(!explained([(0, 0), (0, 0)], [0, 1]));
        assert!(!explained([(0, 20), (20, 20)], [1, 1]));
    }
}

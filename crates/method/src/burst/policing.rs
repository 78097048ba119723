//! The policing test: bursts that a policer must cut, and the CBS that explains where it did.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstSpacing, BurstsLoad, Direction, LayeredRate};

use super::cbs::{Count, REFILL_SHARE_MAX, REPEATS, times};
use super::estimate::{self, Refill};
use super::overload::{Policed, names, refill_time};
use super::passage::Passage;
use super::{Bounds, BurstTimes, Flaw, Goal, Offer, PolicingStep, Run, Seen, Step};

/// 135 KB for 64 KB.
const BURST: f64 = 135.0 / 64.0;
/// More bursts say nothing new.
const BURSTS_MAX: u32 = 40;
const BURSTS_MIN: u32 = 3;
/// After the bucket is empty it admits single frames, each at another fill: enough of them that the
/// fills lie closer together than this share of the CBS.
const RESOLUTION: f64 = 0.001;
const ADMISSIONS_MIN: f64 = 1.2;
const ADMISSIONS_MAX: f64 = 200.0;
const FRAMES_MAX: f64 = 200_000.0;
/// Standard deviations of the time by which frames come unevenly.
const UNEVEN: f64 = 3.0;

/// Runs the test with frames of one length in all directions at once.
pub(super) fn test(run: &mut Run<'_>, policers: &[Policed], frame_bytes: u32) -> Result<(), Abort> {
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(()) };
    if policers.is_empty() {
        return Ok(());
    }
    let charged_bytes = run.plan.charged_bytes(frame_bytes, cir.layer);
    let planned: Vec<Planned> = policers
        .iter()
        .map(|policed| Planned::new(run, policed, cir, cbs_bytes, [frame_bytes, charged_bytes]))
        .collect();
    let offers: Vec<_> = planned
        .iter()
        .map(|planned| Offer { direction: planned.policed.port.direction, load: planned.load })
        .collect();
    let directions: Vec<Direction> =
        policers.iter().map(|policed| policed.port.direction).collect();
    let name = format!("policing, {}: frames of {frame_bytes} bytes", names(&directions));
    let idle = refill_time(cir.rate, cbs_bytes);
    let mut trials = 0;
    let steps = loop {
        let seen = run.bursts(name.clone(), &offers, idle)?;
        trials += 1;
        let tolerance = run.plan.tolerance_percent;
        let steps: Vec<PolicingStep> = planned
            .iter()
            .zip(&seen)
            .map(|(planned, seen)| planned.judge(seen, tolerance, planned_alone(&offers), trials))
            .collect();
        let is_known = policers.iter().all(|policed| policed.known.is_some());
        if is_known || trials > REPEATS || steps.iter().all(|step| step.pass.is_some()) {
            break steps;
        }
    };
    run.report.steps.extend(steps.into_iter().map(Step::Policing));
    Ok(())
}

/// Whether the other direction is loaded as well.
const fn planned_alone(offers: &[Offer]) -> bool {
    offers.len() > 1
}

/// The bursts of one frame length in one direction.
struct Planned {
    load: BurstsLoad,
    policed: Policed,
    refill: Refill,
    frame_bytes: u32,
    charged_bytes: f64,
    cir: LayeredRate,
    cbs_bytes: u64,
}

impl Planned {
    fn new(
        run: &Run<'_>,
        policed: &Policed,
        cir: LayeredRate,
        cbs_bytes: u64,
        [frame_bytes, charged_bytes]: [u32; 2],
    ) -> Self {
        let slot_s = policed.port.slot_s(frame_bytes);
        // A policer with a deeper bucket than configured must be emptied as well.
        let depth = policed.depth_bytes.unwrap_or_default().max(cbs_bytes as f64);
        let configured = Refill { bytes_s: cir.rate.as_bps() as f64 / 8.0, uncertainty: 0.0 };
        let refill = policed.refill.unwrap_or(configured);
        let charged_bytes = f64::from(charged_bytes);
        let frames = frames_per_burst(depth, charged_bytes, refill.bytes_s * slot_s);
        let burst_s = f64::from(frames) * slot_s;
        let refilled_s = depth / refill.bytes_s;
        let idle_s = 1.25 * refilled_s.min(60.0) + 0.001;
        let period = Duration::from_secs_f64(burst_s + idle_s);
        let fitting = run.plan.test.as_secs_f64() / period.as_secs_f64();
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst: frames,
            bursts: (fitting as u32).clamp(BURSTS_MIN, BURSTS_MAX),
            period,
            rate_l1: policed.port.pace(frames, frame_bytes),
            spacing: BurstSpacing::Apart,
        };
        Self { load, policed: *policed, refill, frame_bytes, charged_bytes, cir, cbs_bytes }
    }

    fn judge(
        &self,
        seen: &Seen,
        tolerance_percent: f64,
        bidirectional: bool,
        trials: u32,
    ) -> PolicingStep {
        let count = Count::of(seen);
        let slot_s = self.policed.port.slot_s(self.frame_bytes);
        let bursts = Passage::of_all(seen);
        let by_bursts = self.estimate(&bursts, slot_s);
        let last_passed =
            estimate::by_last_passed(&bursts, slot_s, self.charged_bytes, self.refill);
        let configured = self.cbs_bytes as f64;
        let percent = |bytes: f64| 100.0 * (bytes / configured - 1.0);
        let times = times(seen, slot_s, self.load.frames_per_burst);
        let flaw = self.flaw(seen, &count, &times, by_bursts.is_some());
        let behind = times.sent.saturating_sub(times.at_line_rate);
        let estimate = self.by_trains().or(by_bursts.map(|bounds| self.doubted(bounds)));
        let verdict = match &estimate {
            Some(bounds) => estimate::within(
                [percent(bounds.at_least), percent(bounds.at_most)],
                percent(bounds.estimate),
                tolerance_percent,
            ),
            // All of a burst of twice the CBS has passed.
            None => Some(false),
        };
        // Trains of frames may have shown what these bursts do not.
        let is_late = self.is_much(behind);
        let is_open = self.policed.known.is_none() || verdict.is_none() && is_late;
        let flaw = flaw.filter(|_| is_open);
        let frame_bytes = u64::from(self.frame_bytes);
        PolicingStep {
            direction: self.policed.port.direction,
            bidirectional,
            frame_bytes: self.frame_bytes,
            cir: self.cir,
            configured_burst_bytes: self.cbs_bytes,
            tx_burst_bytes: u64::from(self.load.frames_per_burst) * frame_bytes,
            rx_burst_bytes_mean: (count.unmarked * frame_bytes) as f64 / bursts.len().max(1) as f64,
            frames_sent: count.sent,
            frames_received: count.unmarked,
            bursts: bursts.len() as u32,
            times,
            estimate,
            estimate_last_passed_bytes: estimate.and(last_passed),
            deviation_percent: estimate.map(|bounds| percent(bounds.estimate)),
            trials,
            flaw,
            pass: if flaw.is_some() { None } else { verdict },
        }
    }

    /// The depth of the bucket and how sure that is. A burst that is paced begins with a single
    /// frame, and the bucket may be full again before the next one comes: it admits one more. What
    /// only a bucket of less than nothing explains was dropped by something else, such as a queue.
    fn estimate(&self, bursts: &[Passage], slot_s: f64) -> Option<Bounds> {
        let depth = estimate::by_bounds(bursts, slot_s, self.charged_bytes, self.refill)?;
        let alone = self.load.rate_l1.map_or(0.0, |_| self.charged_bytes);
        let [estimate, at_least, at_most] =
            [depth.bytes, depth.at_least - alone, depth.below].map(|bytes| bytes.max(0.0));
        Some(Bounds { estimate, at_least, at_most })
    }

    /// Whether a bucket wins more in this time than a test of it may leave open.
    fn is_much(&self, time: Duration) -> bool {
        time.as_secs_f64() * self.refill.bytes_s > REFILL_SHARE_MAX * self.cbs_bytes as f64
    }

    /// Where frames are lost at any rate, and trains have shown no bucket that explains them, bursts say no
    /// more than that they did not pass.
    fn doubted(&self, bounds: Bounds) -> Bounds {
        if self.policed.quiet.is_none_or(|quiet| quiet.lost == 0.0) {
            return self.respaced(bounds);
        }
        let sent = f64::from(self.load.frames_per_burst) * self.charged_bytes;
        Bounds { at_least: 0.0, at_most: bounds.at_most.max(sent), ..bounds }
    }

    /// What bursts show by when frames arrive is off by what the bucket wins in the time by which those come
    /// unevenly, within three standard deviations.
    fn respaced(&self, bounds: Bounds) -> Bounds {
        let uneven_s = self.policed.quiet.map_or(0.0, |quiet| UNEVEN * quiet.scattered());
        let room = uneven_s * self.refill.bytes_s;
        let Bounds { estimate, at_least, at_most } = bounds;
        Bounds { estimate, at_least: (at_least - room).max(0.0), at_most: at_most + room }
    }

    /// The depth as trains of frames have shown it, which were slower than the line, so that no queue in
    /// front of the policer or behind it has a say.
    fn by_trains(&self) -> Option<Bounds> {
        Some(self.policed.known?.depth_bytes(self.frame_bytes, self.charged_bytes))
    }

    fn flaw(
        &self,
        seen: &Seen,
        count: &Count,
        times: &BurstTimes,
        has_estimate: bool,
    ) -> Option<Flaw> {
        let planned = u64::from(seen.report.planned_bursts) * u64::from(self.load.frames_per_burst);
        if count.sent < planned {
            return Some(Flaw::FramesUnsent);
        }
        if seen.dropped_frames > 0 {
            return Some(Flaw::FramesDropped);
        }
        // What the bucket got back meanwhile is seen from when frames arrive.
        let behind = times.sent.saturating_sub(times.at_line_rate);
        if self.is_much(behind) && self.is_much(seen.emulation.late_p99) {
            return Some(Flaw::EmulationLate);
        }
        // Bursts in pieces may show no bucket although one has dropped of them, or may be none that
        // it would drop of.
        let says_nothing = count.received < count.sent || self.is_within_policer(seen);
        (!has_estimate && says_nothing).then_some(Flaw::SlowBursts)
    }
}

impl Planned {
    /// Whether the sender was so slow that the policer as configured lets every burst through, but
    /// for a frame.
    fn is_within_policer(&self, seen: &Seen) -> bool {
        let burst_bytes = f64::from(self.load.frames_per_burst - 1) * self.charged_bytes;
        let cir_bytes_s = self.cir.rate.as_bps() as f64 / 8.0;
        seen.report.bursts.iter().all(|burst| {
            let lasted = burst.sent_until.saturating_sub(burst.sent_from).as_secs_f64();
            burst_bytes <= self.cbs_bytes as f64 + cir_bytes_s * lasted
        })
    }
}

/// Twice the bucket and more, so that after it is empty enough frames are admitted one by one.
///
/// At a high CIR a single one of them leaves the refill of a whole frame's time open; where the next
/// one is admitted at another fill of the bucket, only the difference.
pub(super) fn frames_per_burst(cbs_bytes: f64, frame_bytes: f64, refill_bytes: f64) -> u32 {
    let spent = (frame_bytes - refill_bytes).max(0.01 * frame_bytes);
    let empty_after = cbs_bytes / spent;
    let admissions =
        (refill_bytes / (RESOLUTION * cbs_bytes)).clamp(ADMISSIONS_MIN, ADMISSIONS_MAX);
    let between = frame_bytes / refill_bytes.min(spent).max(1e-9);
    let frames = (BURST * cbs_bytes / frame_bytes).max(empty_after + admissions * between);
    libm::ceil(frames.min(FRAMES_MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 61.52 bytes come back in the 12.304 µs of a frame of 1518 bytes at a gigabit.
    #[test]
    fn bursts_are_those_of_the_application_note_where_these_suffice() {
        // 135,000 of 1518 bytes are 88.9; of 64 bytes 2109.4, after which 3.36 bytes come back.
        assert_eq!(frames_per_burst(64_000.0, 1518.0, 61.52), 89);
        assert_eq!(frames_per_burst(64_000.0, 64.0, 3.36), 2110);
    }

    /// At 500 Mbit/s, half the line, a bucket of 8000 bytes is empty after 11 frames, and 769 bytes
    /// come back in the time of a frame: a tenth of the bucket.
    #[test]
    fn a_small_bucket_that_fills_fast_gets_longer_bursts() {
        let frames = frames_per_burst(8_000.0, 1518.0, 769.0);
        assert!((100..=450).contains(&frames), "{frames}");
    }
}

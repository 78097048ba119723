//! The policing test: bursts that a policer must cut, beside the CBS that trains of frames have shown.

use alloc::format;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstSpacing, BurstsLoad, Direction, LayeredRate};

use super::cbs::{Count, times};
use super::discovery::{EMPTIES, FRAMES_MAX};
use super::first::First;
use super::port::{Port, names, refill_time};
use super::verdict::within;
use super::{Flaw, Goal, Offer, PolicingStep, Run, Seen, Step};
use crate::tester::{REPEATS, repeated};

/// 135 KB for 64 KB.
const BURST: f64 = 135.0 / 64.0;
/// More bursts say nothing new.
const BURSTS_MAX: u32 = 40;
const BURSTS_MIN: u32 = 3;

/// Runs the test with frames of one length in all directions at once.
pub(super) fn test(
    run: &mut Run<'_>,
    looked: &[(Port, First)],
    frame_bytes: u32,
) -> Result<(), Abort> {
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(()) };
    let charged_bytes = run.plan.charged_bytes(frame_bytes, cir.layer);
    let planned: Vec<Planned<'_>> = looked
        .iter()
        .map(|looked| Planned::new(run, looked, cir, cbs_bytes, [frame_bytes, charged_bytes]))
        .collect();
    let directions: Vec<Direction> = looked.iter().map(|(port, _)| port.direction).collect();
    let offer =
        |planned: &Planned<'_>| Offer { direction: planned.port.direction, load: planned.load };
    let offers: Vec<Offer> = planned.iter().map(offer).collect();
    let name = format!("policing, {}: frames of {frame_bytes} bytes", names(&directions));
    let idle = refill_time(cir.rate, cbs_bytes);
    let offer = |trials: u32| {
        let seen = run.bursts(name.clone(), &offers, idle)?;
        let tolerance = run.plan.tolerance_percent;
        let judged = planned.iter().zip(&seen);
        let steps: Vec<PolicingStep> = judged
            .map(|(planned, seen)| planned.judge(seen, tolerance, offers.len() > 1, trials))
            .collect();
        Ok(steps)
    };
    let is_spoilt = |steps: &Vec<PolicingStep>| steps.iter().any(|step| step.flaw.is_some());
    let steps = repeated(REPEATS, offer, is_spoilt)?;
    run.report.steps.extend(steps.into_iter().map(Step::Policing));
    Ok(())
}

/// The bursts of one frame length in one direction.
struct Planned<'a> {
    load: BurstsLoad,
    port: &'a Port,
    first: &'a First,
    frame_bytes: u32,
    charged_bytes: f64,
    cir: LayeredRate,
    cbs_bytes: u64,
}

impl<'a> Planned<'a> {
    fn new(
        run: &Run<'_>,
        (port, first): &'a (Port, First),
        cir: LayeredRate,
        cbs_bytes: u64,
        [frame_bytes, charged_bytes]: [u32; 2],
    ) -> Self {
        let slot_s = port.slot_s(frame_bytes);
        let charged_bytes = f64::from(charged_bytes);
        let known = first.known().map(|known| {
            let depth_bytes = known.depth_bytes(frame_bytes, charged_bytes).estimate;
            (known.bytes_s(frame_bytes, charged_bytes).estimate, depth_bytes)
        });
        let (bytes_s, depth_bytes) = known.unwrap_or((cir.rate.as_bps() as f64 / 8.0, 0.0));
        // A policer with a deeper bucket than configured must be emptied as well.
        let depth_bytes = depth_bytes.max(cbs_bytes as f64);
        let frames = frames_per_burst(depth_bytes, charged_bytes, bytes_s * slot_s);
        let burst_s = f64::from(frames) * slot_s;
        let idle_s = 1.25 * (depth_bytes / bytes_s).min(60.0) + 0.001;
        let period = Duration::from_secs_f64(burst_s + idle_s);
        let fitting = run.plan.test.as_secs_f64() / period.as_secs_f64();
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst: frames,
            bursts: (fitting as u32).clamp(BURSTS_MIN, BURSTS_MAX),
            period,
            rate_l1: port.pace(frames, frame_bytes),
            spacing: BurstSpacing::Apart,
        };
        Self { load, port, first, frame_bytes, charged_bytes, cir, cbs_bytes }
    }

    /// The depth is that of the trains, which were slower than the line, so that no queue in front of the
    /// policer or behind it has a say. Where they did not tell, bursts that pass whole are no policer's,
    /// and others may have met anything.
    fn judge(
        &self,
        seen: &Seen,
        tolerance_percent: f64,
        bidirectional: bool,
        trials: u32,
    ) -> PolicingStep {
        let count = Count::of(seen);
        let known = self.first.known();
        let estimate = known.map(|known| known.depth_bytes(self.frame_bytes, self.charged_bytes));
        let passes_all = count.unmarked == count.sent;
        let says_nothing = passes_all && self.is_within_policer(seen);
        let is_slow = says_nothing && !self.fits_policer(0.0);
        let flaw = seen.spoilt().or_else(|| is_slow.then_some(Flaw::SlowBursts));
        let flaw = flaw.filter(|_| known.is_none());
        let percent = |bytes: f64| 100.0 * (bytes / self.cbs_bytes as f64 - 1.0);
        let verdict = match &estimate {
            Some(bounds) => within(
                [percent(bounds.at_least), percent(bounds.at_most)],
                percent(bounds.estimate),
                tolerance_percent,
            ),
            None => (passes_all && !says_nothing && flaw.is_none()).then_some(false),
        };
        let frame_bytes = u64::from(self.frame_bytes);
        let bursts = seen.report.bursts.len() as u32;
        PolicingStep {
            direction: self.port.direction,
            bidirectional,
            frame_bytes: self.frame_bytes,
            cir: self.cir,
            configured_burst_bytes: self.cbs_bytes,
            tx_burst_bytes: u64::from(self.load.frames_per_burst) * frame_bytes,
            rx_burst_bytes_mean: (count.unmarked * frame_bytes) as f64 / f64::from(bursts.max(1)),
            frames_sent: count.sent,
            frames_received: count.unmarked,
            bursts,
            times: times(seen, self.port.slot_s(self.frame_bytes), self.load.frames_per_burst),
            estimate,
            deviation_percent: estimate.map(|bounds| percent(bounds.estimate)),
            trials,
            flaw,
            pass: verdict,
        }
    }

    /// Whether the sender was so slow that the policer as configured lets every burst through, but for a frame.
    fn is_within_policer(&self, seen: &Seen) -> bool {
        let bursts = &seen.report.bursts;
        bursts.iter().all(|burst| self.fits_policer(burst.sent_in().as_secs_f64()))
    }

    /// Whether the policer as configured lets a burst through whole that takes this time, or the time that
    /// it takes on the line if that is longer.
    fn fits_policer(&self, lasted_s: f64) -> bool {
        let frames = f64::from(self.load.frames_per_burst - 1);
        let lasted_s = lasted_s.max(frames * self.port.slot_s(self.frame_bytes));
        let won_bytes = self.cir.rate.as_bps() as f64 / 8.0 * lasted_s;
        frames * self.charged_bytes <= self.cbs_bytes as f64 + won_bytes
    }
}

/// Twice the bucket, and where the line is hardly faster than the CIR enough to empty it.
fn frames_per_burst(cbs_bytes: f64, frame_bytes: f64, refill_bytes: f64) -> u32 {
    let spent = (frame_bytes - refill_bytes).max(0.01 * frame_bytes);
    let frames = (BURST * cbs_bytes / frame_bytes).max(EMPTIES * cbs_bytes / spent);
    libm::ceil(frames.min(FRAMES_MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 135,000 of 1518 bytes are 88.9. Where nine tenths of a frame come back in its time, a bucket of 42
    /// frames is empty after 421.
    #[test]
    fn bursts_are_those_of_the_application_note_unless_these_do_not_empty_the_bucket() {
        assert_eq!(frames_per_burst(64_000.0, 1518.0, 61.52), 89);
        assert_eq!(frames_per_burst(64_000.0, 64.0, 3.36), 2110);
        let long = frames_per_burst(64_000.0, 1518.0, 0.9 * 1518.0);
        assert!((421..=600).contains(&long), "{long}");
    }
}

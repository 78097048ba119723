//! Shapers and lines: the rate of what makes frames wait, and the bucket that lets the first ones go.

use alloc::format;
use core::time::Duration;

use fp_model::{Abort, BurstReport, BurstsLoad, Layer, Rate};

use super::charge::{SHORT_FRAME_MIN, charge_of};
use super::{LASTS, Search, Seen, UNKNOWN_IDLE, rate_bounds};
use crate::burst::overload::Port;
use crate::burst::passage::Passage;
use crate::burst::waiting::held_back;
use crate::burst::{Charge, Discovered, Lengths, median};

/// No queue is waited for longer.
const QUEUED_S_MAX: f64 = 20.0;
/// The first frames of a burst, and by how much they come faster than the rest out of a shaper's
/// bucket.
const FIRST_FRAMES: u32 = 16;
const FASTER: f64 = 0.7;
const FASTER_S: f64 = 100e-6;
/// A path that takes this much longer than its sender holds frames back.
const HELD_BACK: f64 = 1.005;
/// A line counts 20 bytes of a frame that a shaper may not count, a shaper of IP packets 38: frames
/// of a third of the length then pass by up to 5 % faster. Its bucket is the sooner empty the faster
/// they come.
const FASTER_PACE: f64 = 1.5;

impl Search<'_, '_> {
    /// Nothing but a line, unless it counts its bytes otherwise than a line does.
    pub(super) fn line_or_shaper(
        &mut self,
        lengths: &Lengths,
        seen: &Seen,
    ) -> Result<Discovered, Abort> {
        let Some(burst) = seen.report.bursts.first() else { return Ok(self.no_policer(seen)) };
        let passage = Passage::of(burst, |_| true);
        let ends = passage.spans.first().zip(passage.spans.last());
        let took = ends.map_or(0.0, |(first, last)| last.until - first.from);
        if took <= passage.sent_in * HELD_BACK {
            return Ok(self.no_policer(seen));
        }
        let found = self.shaper(lengths, seen)?;
        match &found {
            Discovered::Shaper { charge: Charge { layer: Some((layer, _)), .. }, .. }
                if *layer != Layer::L1 =>
            {
                Ok(found)
            }
            _ => Ok(self.no_policer(seen)),
        }
    }

    /// One burst faster than a line that was taken for one by longer frames: should it be a shaper
    /// that counts fewer bytes of a frame than a line does, it carries more of these.
    fn burst_faster(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        idle: Duration,
    ) -> Result<Seen, Abort> {
        let load = self.port.load(frame_bytes, lasts);
        let rate_l1 = load.rate_l1.map(|_| Rate::bps((self.port.line_bps * FASTER_PACE) as u64));
        self.trial(&format!("frames of {frame_bytes} bytes"), BurstsLoad { rate_l1, ..load }, idle)
    }

    /// For how long the frames of a burst may still be on their way behind it.
    pub(super) fn queued(&self, seen: &Seen) -> Duration {
        let burst = seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let lasts = burst.and_then(|burst| {
            let held = held_back(&burst, self.slot_s(), self.slot_s())?;
            Some(f64::from(burst.frames) / held.refill.bytes_s)
        });
        Duration::from_secs_f64(lasts.unwrap_or(0.0).clamp(0.0, QUEUED_S_MAX))
    }

    /// Rate and bucket of what makes frames wait.
    pub(super) fn shaper(&mut self, lengths: &Lengths, seen: &Seen) -> Result<Discovered, Abort> {
        let long = seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let (Some(long), frame_bytes) = (long, self.frame_bytes) else {
            return Ok(self.no_policer(seen));
        };
        let Some(held) = held_back(&long, self.slot_s(), self.slot_s()) else {
            return Ok(self.no_policer(seen));
        };
        let short_bytes = SHORT_FRAME_MIN
            .max(lengths.tested.iter().copied().min().unwrap_or(SHORT_FRAME_MIN))
            .max(frame_bytes / 3);
        let idle = UNKNOWN_IDLE + self.queued(seen);
        let short_seen = self.burst_faster(short_bytes, LASTS[2], idle)?;
        let short_burst =
            short_seen.report.bursts.first().map(|burst| Passage::of(burst, |_| true));
        let short_slot = self.port.slot_s(short_bytes);
        let short =
            short_burst.and_then(|burst| held_back(&burst, short_slot, burst.sent_spacing()));
        let rates = short.map(|short| [short.refill, held.refill]);
        let charge = charge_of(
            [f64::from(short_bytes), f64::from(frame_bytes)],
            rates,
            self.run.plan.framing_bytes(),
        );
        let charged = self.charged(&charge);
        let lost = long.frames.saturating_sub(long.passed_frames());
        Ok(Discovered::Shaper {
            rate_bps: rate_bounds(held.refill).scaled(8.0 * charged),
            charge,
            bucket_bytes: held.bucket_frames.scaled(charged),
            delay: Duration::from_secs_f64(held.waited.max(0.0)),
            loss_percent: 100.0 * f64::from(lost) / f64::from(long.frames.max(1)),
        })
    }
}

/// The line by the first frames of the bursts, where these came much faster than the later ones: out
/// of a shaper's bucket.
pub(super) fn before_a_shaper(seen: &Seen, port: Port, frame_bytes: u32) -> Port {
    let slot_s = port.slot_s(frame_bytes);
    let first_slot_s = |burst: &BurstReport| {
        let run = burst.arrived.first()?;
        let lasts = run.until.saturating_sub(run.from).as_secs_f64();
        (run.frames >= FIRST_FRAMES).then(|| lasts / f64::from(run.frames - 1))
    };
    let firsts = seen.report.bursts.iter().filter_map(first_slot_s);
    match median(firsts.filter(|slot| *slot > 0.0).collect()) {
        Some(first_s)
            if first_s < FASTER * slot_s
                && (slot_s - first_s) * f64::from(FIRST_FRAMES) > FASTER_S =>
        {
            Port { line_bps: port.line_bps * slot_s / first_s, ..port }
        }
        Some(_) | None => port,
    }
}

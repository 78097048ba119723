//! What a frame is charged: the frames that pass in a second, compared at two lengths.

use alloc::format;
use core::time::Duration;

use fp_model::{Abort, Layer, PacketLayout, Rate};

use super::Search;
use super::buckets::Buckets;
use super::policer::REFINE_BURSTS;
use crate::burst::estimate::Refill;
use crate::burst::passage::Passage;
use crate::burst::{Bounds, Charge, Lengths, overload};

/// The second frame length, with which small frames are still sent in time.
pub(super) const SHORT_FRAMES_S: f64 = 150_000.0;
pub(super) const SHORT_FRAME_MIN: u32 = 128;
pub(super) const SHORT_FRAMES_LAST_S: f64 = 0.04;
/// Of bursts that last longer so many have to do.
const SHORT_FRAMES_LONG: Duration = Duration::from_millis(100);
const LONG_BURSTS: u32 = 2;
/// A charge that is none of the known ones is measured again so often.
const CHARGE_REPEATS: u32 = 4;
/// How far the rates of a pair of lengths may be off a known way of counting.
const OFFSET_TOLERANCE: f64 = 1.5;

/// How many frames of the second length pass in a second.
#[derive(Clone, Copy)]
pub(super) struct ShortFrames {
    pub(super) frame_bytes: u32,
    pub(super) refill: Refill,
}

impl Search<'_, '_> {
    /// What a frame of the longest length costs.
    pub(super) fn charged(&self, charge: &Charge) -> f64 {
        let offset = charge.layer.map_or(charge.offset_bytes.estimate, |(_, bytes)| bytes.into());
        f64::from(self.frame_bytes) + offset
    }

    /// Compares the frames that pass in a second at two lengths.
    pub(super) fn charge(
        &mut self,
        lengths: &Lengths,
        buckets: &Buckets,
    ) -> Result<(Charge, Option<ShortFrames>), Abort> {
        let (long, long_bytes) = (buckets.refill, f64::from(self.frame_bytes));
        let least_bytes = lengths.tested.iter().copied().min().unwrap_or(SHORT_FRAME_MIN);
        let short_bytes = self.short_frame(least_bytes, 1.5 * long.bytes_s * long_bytes);
        let short_frames_s = long.bytes_s * long_bytes / f64::from(short_bytes);
        let watched_s = 1.5 * buckets.watched_s(short_frames_s);
        let lasts = Duration::from_secs_f64(watched_s.max(SHORT_FRAMES_LAST_S));
        let lengths_bytes = [f64::from(short_bytes), long_bytes];
        let framing_bytes = self.run.plan.framing_bytes();
        let mut trials = 0;
        // A sender that stalls lets tokens go to waste, and what a frame costs seems odd.
        loop {
            let short = self.rate_of(short_bytes, lasts, short_frames_s)?;
            let rates = short.map(|short| [short, long]);
            let charge = charge_of(lengths_bytes, rates, framing_bytes);
            trials += 1;
            if charge.layer.is_some() || trials > CHARGE_REPEATS {
                let short = short.map(|refill| ShortFrames { frame_bytes: short_bytes, refill });
                return Ok((charge, short));
            }
        }
    }

    /// The shortest frames, of `least_bytes` at least, of which the host sends so many bytes in a
    /// second in time.
    pub(super) fn short_frame(&self, least_bytes: u32, bytes_s: f64) -> u32 {
        (libm::ceil(bytes_s / SHORT_FRAMES_S) as u32)
            .clamp(SHORT_FRAME_MIN, self.frame_bytes * 2 / 3)
            .max(least_bytes)
    }

    /// Frames of one length that pass in a second, offered at about twice that.
    fn rate_of(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        expected_frames_s: f64,
    ) -> Result<Option<Refill>, Abort> {
        let slot_s = self.port.slot_s(frame_bytes);
        let offered_frames_s = (3.0 * expected_frames_s).max(20_000.0).min(1.0 / slot_s);
        let on_the_line = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
        let mut load = self.port.load(frame_bytes, lasts);
        load.frames_per_burst = (lasts.as_secs_f64() * offered_frames_s) as u32;
        load.rate_l1 = Some(Rate::bps((offered_frames_s * on_the_line) as u64));
        load.bursts = if lasts > SHORT_FRAMES_LONG { LONG_BURSTS } else { REFINE_BURSTS };
        load.period = lasts.mul_f64(1.3);
        let seen = self.trial(&format!("frames of {frame_bytes} bytes"), load, Duration::ZERO)?;
        let passages = Passage::of_all(&seen);
        let slot_s = 1.0 / offered_frames_s;
        Ok(overload::bucket(&passages, slot_s, 1.0).map(|(refill, _)| refill))
    }
}

/// What the rates of two lengths say a frame costs beside its length.
pub(super) fn charge_of(
    [short_bytes, long_bytes]: [f64; 2],
    rates: Option<[Refill; 2]>,
    framing_bytes: u32,
) -> Charge {
    let Some([short, long]) = rates else {
        let unknown = Bounds { estimate: 0.0, at_least: f64::NEG_INFINITY, at_most: f64::INFINITY };
        return Charge { offset_bytes: unknown, layer: None };
    };
    // Both lengths cost the same bytes in a second: f·(L + offset).
    let offset = |short_s: f64, long_s: f64| {
        (long_s * long_bytes - short_s * short_bytes) / (short_s - long_s)
    };
    let estimate = offset(short.bytes_s, long.bytes_s);
    let [short_off, long_off] = [short, long].map(|refill| refill.bytes_s * refill.uncertainty);
    let ends = [
        offset(short.bytes_s + short_off, long.bytes_s - long_off),
        offset(short.bytes_s - short_off, long.bytes_s + long_off),
    ];
    let at_least = ends[0].min(ends[1]);
    let at_most = ends[0].max(ends[1]);
    let known = [
        (Layer::L2, 0),
        (Layer::L2, -4),
        (Layer::L3, -i64::from(framing_bytes) as i32),
        (Layer::L1, PacketLayout::ETHERNET_L1_OVERHEAD as i32),
    ];
    let nearest = known
        .into_iter()
        .map(|(layer, bytes)| ((estimate - f64::from(bytes)).abs(), layer, bytes))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(off, ..)| *off <= OFFSET_TOLERANCE)
        .map(|(_, layer, bytes)| (layer, bytes));
    Charge { offset_bytes: Bounds { estimate, at_least, at_most }, layer: nearest }
}

//! A policer, refined: the rate by long bursts, the depth by short ones.

use alloc::format;
use core::time::Duration;

use fp_model::{Abort, BurstsLoad};

use super::apart::{Apart, Looking, as_two_buckets};
use super::buckets::{Buckets, excess, marked};
use super::{Search, Seen, depth_bounds, rate_bounds};
use crate::burst::estimate::{self, Refill};
use crate::burst::passage::Passage;
use crate::burst::{Alone, Bounds, Charge, Discovered, Lengths, policing};

/// A bucket of which a first idea is known is given so much of the time that it takes to fill.
const REFILLED: f64 = 1.6;
/// Waited at most for a bucket to be full again.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Bursts in which the bucket is measured.
pub(super) const REFINE_BURSTS: u32 = 5;
const REFINE_LAST_S: f64 = 1.0;
/// Bursts that show the depth of the bucket.
const SHORT_BURSTS_LAST: Duration = Duration::from_millis(1200);
const SHORT_BURSTS_MIN: u32 = 1;
const SHORT_BURSTS_MAX: u32 = 40;
/// A bucket that was not full is given three times as long.
const REFINEMENTS: u32 = 4;

impl Search<'_, '_> {
    /// Refines what one burst has shown of a policer; here in frames.
    pub(super) fn policer(
        &mut self,
        lengths: &Lengths,
        refill: Refill,
        frames: f64,
    ) -> Result<Discovered, Abort> {
        let mut buckets = Buckets { refill, frames, excess: None };
        let mut seen = None;
        for _ in 0..REFINEMENTS {
            let idle = buckets.refilled_after().mul_f64(REFILLED).min(IDLE_MAX);
            let lasts = buckets.emptied_after(self.slot_s());
            let bursts = (REFINE_LAST_S / (idle + lasts).as_secs_f64()) as u32;
            let bursts = bursts.clamp(1, REFINE_BURSTS);
            let refined = self.burst(self.frame_bytes, lasts, bursts, idle)?;
            let Some(found) = Buckets::of(&refined, self.slot_s()) else { break };
            buckets = found;
            seen = Some(refined);
            // Less than what the pause could have filled: the buckets were full.
            if buckets.refilled_after() < idle.mul_f64(0.9) {
                break;
            }
        }
        let Some(seen) = seen else { return self.nothing_to_refine() };
        let (charge, short_frames) = self.charge(lengths, buckets.refill)?;
        let apart = match short_frames.filter(|_| marked(&seen).is_empty()) {
            Some(short_frames) => {
                self.second_bucket(Looking::new(self, short_frames, &charge, &buckets, frames))?
            }
            None => Apart::NotLooked,
        };
        if let Apart::Two(two) = apart {
            return Ok(as_two_buckets(&two, charge));
        }
        let short = self.short_bursts(&buckets)?;
        let alone = match apart {
            Apart::One(alone) => Some(alone),
            Apart::NotLooked | Apart::Two(_) => None,
        };
        Ok(self.as_policer([&seen, &short], charge, buckets.refill, alone))
    }

    /// Bursts that hardly more than empty the committed bucket, as fast as the sender can: they show
    /// its depth best, and many of them what stalls of the sender hide in one.
    fn short_bursts(&mut self, buckets: &Buckets) -> Result<Seen, Abort> {
        let slot_s = self.slot_s();
        let frames_s = buckets.refill.bytes_s;
        let frames = policing::frames_per_burst(buckets.frames, 1.0, frames_s * slot_s);
        let idle = buckets.refilled_after().mul_f64(1.3).min(IDLE_MAX);
        let lasts = Duration::from_secs_f64(f64::from(frames) * slot_s);
        let bursts = (SHORT_BURSTS_LAST.as_secs_f64() / (idle + lasts).as_secs_f64()) as u32;
        let bursts = bursts.clamp(SHORT_BURSTS_MIN, SHORT_BURSTS_MAX);
        let load = BurstsLoad {
            frame_bytes: self.frame_bytes,
            frames_per_burst: frames,
            bursts,
            period: lasts + idle,
            rate_l1: self.port.pace(frames, self.frame_bytes),
        };
        self.trial(&format!("bursts of {frames} frames"), load, idle)
    }

    fn nothing_to_refine(&self) -> Result<Discovered, Abort> {
        Err(Abort::Testbed(format!(
            "{}: what dropped frames in one burst dropped none in the next: try again",
            self.port.direction
        )))
    }

    /// The same in bytes as they are charged: the rate by long bursts, the depth by short ones.
    fn as_policer(
        &self,
        [long, short]: [&Seen; 2],
        charge: Charge,
        refill: Refill,
        alone: Option<Alone>,
    ) -> Discovered {
        let (slot_s, charged) = (self.slot_s(), self.charged(&charge));
        let unknown = Bounds { estimate: 0.0, at_least: 0.0, at_most: f64::INFINITY };
        let depth = estimate::by_bounds(&Passage::of_all(short), slot_s, 1.0, refill);
        Discovered::Policer {
            cir_bps: rate_bounds(refill).scaled(8.0 * charged),
            cbs_bytes: depth.map_or(unknown, |depth| depth_bounds(&depth).scaled(charged)),
            charge,
            excess: excess(long, slot_s, charged),
            alone,
            marked: marked(long),
        }
    }
}

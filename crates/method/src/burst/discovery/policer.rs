//! A policer, refined: the rate by long bursts, the depth by short ones.

use alloc::format;
use core::time::Duration;

use fp_model::{Abort, BurstSpacing, BurstsLoad};

use super::apart::{Apart, Looking, as_two_buckets};
use super::buckets::{Buckets, excess, marked};
use super::{Search, Seen, depth_bounds, rate_bounds};
use crate::burst::estimate;
use crate::burst::passage::Passage;
use crate::burst::{Alone, Bounds, Charge, Discovered, Lengths, overload, policing};

/// A bucket of which a first idea is known is given so much of the time that it takes to fill, one
/// that takes long so much, and one that was not full the next time so much of the last pause.
const REFILLED: f64 = 1.6;
const REFILLED_SLOWLY: f64 = 1.25;
const NOT_FULL: f64 = 2.0;
/// A pause that brings more than what was found by this share has met the bucket full.
const SURELY_FULL: f64 = 0.9;
/// A bucket that had been deeper by more than this share and two frames was not full.
pub(super) const DEEPER: f64 = 1.03;
const DEEPER_FRAMES: f64 = 2.0;
/// Waited at most for a bucket to be full again.
const IDLE_MAX: Duration = Duration::from_secs(30);
/// Bursts in which the bucket is measured.
pub(super) const REFINE_BURSTS: u32 = 5;
const REFINE_LAST_S: f64 = 1.0;
const REFINEMENTS: u32 = 4;
/// Of a bucket that takes longer to fill no stall of the sender hides much, and one burst shows its
/// depth: it wins a hundredth in a stall of 3 ms.
const SLOW: Duration = Duration::from_millis(300);
/// Bursts that show the depth of the bucket.
const SHORT_BURSTS_LAST: Duration = Duration::from_millis(1200);
const SHORT_BURSTS_MIN: u32 = 1;
const SHORT_BURSTS_MAX: u32 = 40;

/// A policer as bursts have shown it that were to meet it full.
struct Refined {
    buckets: Buckets,
    seen: Seen,
    /// `false` of one that takes too long to fill.
    was_full: bool,
}

impl Search<'_, '_> {
    /// Refines what one burst has shown of a policer; here in frames.
    pub(super) fn policer(
        &mut self,
        lengths: &Lengths,
        first: Buckets,
    ) -> Result<Discovered, Abort> {
        let frames = first.frames;
        let at_first = first.at_least(self.drawn.depth_frames(first.refill.bytes_s));
        let Some(refined) = self.refine(at_first, frames)? else { return self.nothing_to_refine() };
        let Refined { buckets, seen, .. } = &refined;
        let (charge, short_frames) = self.charge(lengths, buckets)?;
        let apart = match short_frames.filter(|_| refined.was_full && marked(seen).is_empty()) {
            Some(short_frames) => {
                self.second_bucket(Looking::new(self, short_frames, &charge, buckets, frames))?
            }
            None => Apart::NotLooked,
        };
        let alone = match apart {
            Apart::Two(two) => return Ok(as_two_buckets(&two, charge)),
            Apart::One(alone) => Some(alone),
            Apart::NotLooked => None,
        };
        let short = match buckets.refilled_after() > SLOW {
            true => None,
            false => Some(self.short_bursts(buckets)?),
        };
        Ok(self.as_policer(&refined, short.as_ref(), charge, alone))
    }

    /// Bursts that empty the buckets after they were full, as far as is known; they had been
    /// `rested_frames` deep when nothing had been sent for a while.
    fn refine(
        &mut self,
        mut buckets: Buckets,
        rested_frames: f64,
    ) -> Result<Option<Refined>, Abort> {
        let fills = buckets.refilled_after();
        let mut idle = fills.mul_f64(if fills > SLOW { REFILLED_SLOWLY } else { REFILLED });
        let mut refined = None;
        for _ in 0..REFINEMENTS {
            idle = idle.min(IDLE_MAX);
            let lasts = buckets.emptied_after(self.slot_s());
            let bursts = (REFINE_LAST_S / (idle + lasts).as_secs_f64()) as u32;
            let bursts = bursts.clamp(1, REFINE_BURSTS);
            let seen = self.burst(self.frame_bytes, lasts, bursts, idle)?;
            let Some(found) = Buckets::of(&seen, self.slot_s()) else { break };
            let was_full = found.refilled_after() < idle.mul_f64(SURELY_FULL)
                && rested_frames <= found.frames * DEEPER + DEEPER_FRAMES;
            refined = Some(Refined { buckets: found, seen, was_full });
            buckets = found;
            if was_full || idle >= IDLE_MAX {
                break;
            }
            idle = idle.max(buckets.refilled_after()).mul_f64(NOT_FULL);
        }
        Ok(refined)
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
            spacing: BurstSpacing::Apart,
        };
        self.trial(&format!("bursts of {frames} frames"), load, idle)
    }

    fn nothing_to_refine(&self) -> Result<Discovered, Abort> {
        Err(Abort::Testbed(format!(
            "{}: what dropped frames in one burst dropped none in the next: try again",
            self.port.direction
        )))
    }

    /// The same in bytes as they are charged: the rate by long bursts, the depth by `short` ones if
    /// there were any.
    fn as_policer(
        &self,
        refined: &Refined,
        short: Option<&Seen>,
        charge: Charge,
        alone: Option<Alone>,
    ) -> Discovered {
        let Refined { buckets, seen: long, was_full } = refined;
        let (slot_s, charged) = (self.slot_s(), self.charged(&charge));
        let depth = match short {
            Some(short) => {
                estimate::by_bounds(&Passage::of_all(short), slot_s, 1.0, buckets.refill)
            }
            None => {
                overload::bucket(&Passage::of_all(long), slot_s, 1.0).and_then(|(_, depth)| depth)
            }
        };
        let unknown = Bounds { estimate: buckets.frames, at_least: 0.0, at_most: f64::INFINITY };
        let cbs_frames = depth.map_or(unknown, |depth| depth_bounds(&depth));
        let at_most = if *was_full { cbs_frames.at_most } else { f64::INFINITY };
        Discovered::Policer {
            cir_bps: rate_bounds(buckets.refill).scaled(8.0 * charged),
            cbs_bytes: Bounds { at_most, ..cbs_frames }.scaled(charged),
            charge,
            excess: excess(long, slot_s, charged),
            alone,
            marked: marked(long),
        }
    }
}

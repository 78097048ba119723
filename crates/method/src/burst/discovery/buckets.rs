//! The buckets of a policer as long bursts show them, the marked second one included.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{BurstReport, Dscp};

use super::{Seen, depth_bounds, rate_bounds, second};
use crate::burst::estimate::{Depth, Refill};
use crate::burst::passage::Passage;
use crate::burst::{SecondBucket, median, overload};

/// Both buckets of a policer, in frames.
pub(super) struct Buckets {
    pub(super) refill: Refill,
    pub(super) frames: f64,
    pub(super) excess: Option<(f64, f64)>,
}

impl Buckets {
    pub(super) fn of(seen: &Seen, slot_s: f64) -> Option<Self> {
        let bursts = Passage::of_all(seen);
        let (refill, depth) = overload::bucket(&bursts, slot_s, 1.0)?;
        let excess = second(seen, slot_s, 1.0)
            .and_then(|(refill, depth)| Some((refill.bytes_s, depth?.bytes)));
        let frames = frames_deep(&bursts, depth, refill)?;
        (frames >= 1.0).then_some(Self { refill, frames, excess })
    }

    /// How long both take to be full.
    pub(super) fn refilled_after(&self) -> Duration {
        let committed = self.frames / self.refill.bytes_s;
        let excess = self.excess.map_or(0.0, |(frames_s, frames)| frames / frames_s);
        Duration::from_secs_f64(committed.max(excess).clamp(0.005, 60.0))
    }

    /// How long a burst empties both and then shows their refill.
    pub(super) fn emptied_after(&self, slot_s: f64) -> Duration {
        let (excess_frames_s, excess_frames) = self.excess.unwrap_or((0.0, 0.0));
        let spent = 1.0 / slot_s - self.refill.bytes_s - excess_frames_s;
        let drain = (self.frames + excess_frames) / spent.max(0.01 / slot_s);
        let slowest = match self.excess {
            Some((frames_s, _)) => frames_s.min(self.refill.bytes_s),
            None => self.refill.bytes_s,
        };
        Duration::from_secs_f64((1.2 * drain + (40.0 / slowest).max(0.03)).min(60.0))
    }
}

/// The depth that the fewest frames contradict; of two buckets none may be, and what nearly all frames
/// show is an idea of it.
pub(super) fn frames_deep(bursts: &[Passage], depth: Option<Depth>, refill: Refill) -> Option<f64> {
    let shown = || bursts.iter().filter_map(|burst| second::depth(burst, refill)).collect();
    depth.map(|depth| depth.bytes).or_else(|| median(shown()))
}

/// The excess bucket: what of the frames beyond the committed one passed nevertheless, marked.
pub(super) fn excess(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<SecondBucket> {
    let dscp = Some(*marked(seen).first()?);
    let Some((refill, depth)) = second(seen, slot_s, charged_bytes) else {
        return Some(SecondBucket { rate_bps: None, depth_bytes: None, dscp });
    };
    let rate_bps = Some(rate_bounds(refill).scaled(8.0));
    Some(SecondBucket { rate_bps, depth_bytes: depth.map(|depth| depth_bounds(&depth)), dscp })
}

fn second(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<(Refill, Option<Depth>)> {
    let dscp = *marked(seen).first()?;
    let bursts: Vec<Passage> =
        seen.report.bursts.iter().filter_map(|burst| beyond(burst, dscp)).collect();
    overload::bucket(&bursts, slot_s, charged_bytes)
}

/// The frames of a burst as a second bucket met them, from the first that it was asked for.
fn beyond(burst: &BurstReport, marked: Dscp) -> Option<Passage> {
    let is_marked = |run: &fp_model::ArrivedRun| run.dscp == Some(marked);
    let begin = burst.arrived.iter().find(|run| is_marked(run))?.first;
    Some(Passage::between(burst, begin, is_marked, |run| !is_marked(run)))
}

/// Code points of frames that came marked otherwise than the first of their burst.
pub(super) fn marked(seen: &Seen) -> Vec<Dscp> {
    let mut found = Vec::new();
    for burst in &seen.report.bursts {
        let plain = burst.arrived.first().and_then(|run| run.dscp);
        for dscp in burst.arrived.iter().filter_map(|run| run.dscp) {
            if Some(dscp) != plain && !found.contains(&dscp) {
                found.push(dscp);
            }
        }
    }
    found
}

//! The buckets of a policer as long bursts show them, the marked second one included.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{BurstReport, Dscp};

use super::{Seen, depth_bounds, rate_bounds, second};
use crate::burst::estimate::{Depth, Refill};
use crate::burst::passage::Passage;
use crate::burst::{SecondBucket, median, overload};

/// Both buckets of a policer, in frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buckets {
    pub(super) refill: Refill,
    pub(super) frames: f64,
    pub(super) excess: Option<(f64, f64)>,
    /// They refill unevenly, as two buckets do that leave no mark: that takes longer to measure.
    is_uneven: bool,
}

/// Frames whose admission shows the refill, and how long they may take that show an uneven one.
const WATCHED_FRAMES: f64 = 40.0;
const WATCHED_UNEVEN_FRAMES: f64 = 250.0;
const WATCHED_UNEVEN_MAX_S: f64 = 0.8;
const WATCHED_MIN_S: f64 = 0.03;

impl Buckets {
    pub(super) fn of(seen: &Seen, slot_s: f64) -> Option<Self> {
        let bursts = Passage::of_all(seen);
        let (refill, depth) = overload::bucket(&bursts, slot_s, 1.0)?;
        let excess = second(seen, slot_s, 1.0)
            .and_then(|(refill, depth)| Some((refill.bytes_s, depth?.bytes)));
        let frames = frames_deep(&bursts, depth, refill)?;
        let stray = |burst: &Passage| burst.strays(refill.bytes_s);
        let stray_frames = median(bursts.iter().filter_map(stray).collect())?;
        let admitted = bursts.iter().map(Passage::admitted).fold(1.0, f64::max);
        let uncertainty = refill.uncertainty.max(stray_frames / admitted);
        let refill = Refill { uncertainty, ..refill };
        let is_uneven = stray_frames > overload::UNEVEN_FRAMES;
        (frames >= 1.0).then_some(Self { refill, frames, excess, is_uneven })
    }

    /// Less than this was seen of them.
    pub(super) fn at_least(self, frames: f64) -> Self {
        Self { frames: self.frames.max(frames), ..self }
    }

    /// How long admissions are watched to know a refill of so many frames a second.
    pub(super) fn watched_s(&self, frames_s: f64) -> f64 {
        let watched_s = WATCHED_FRAMES / frames_s;
        let uneven_s = (WATCHED_UNEVEN_FRAMES / frames_s).min(WATCHED_UNEVEN_MAX_S);
        if self.is_uneven { watched_s.max(uneven_s) } else { watched_s }
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
        let watched_s = self.watched_s(slowest).max(WATCHED_MIN_S);
        Duration::from_secs_f64((1.2 * drain + watched_s).min(60.0))
    }
}

/// The depth that the fewest frames contradict; of two buckets none may be, and what nearly all frames
/// show is an idea of it.
fn frames_deep(bursts: &[Passage], depth: Option<Depth>, refill: Refill) -> Option<f64> {
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

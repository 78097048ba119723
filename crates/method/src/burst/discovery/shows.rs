//! What one burst shows: a policer, frames that wait, or too little to tell.

use alloc::vec;
use alloc::vec::Vec;

use fp_model::BurstReport;

use super::buckets::Buckets;
use super::{Search, Seen};
use crate::burst::estimate::{Depth, Refill};
use crate::burst::passage::{Passage, Point, slope};
use crate::burst::{median, overload};

/// Frames that came one by one out of an empty bucket, so that a refill can be seen.
const ADMISSIONS_MIN: usize = 12;
/// A burst in which frames wait so much of its duration is not policed but held back.
const WAITING_SHARE: f64 = 0.005;
const WAITING_MIN_S: f64 = 0.001;
/// What a policer passes is under way as long as the first frame, but for stalls of the ends, which
/// last for a part of a burst: the wait that nine in ten late frames exceed is the path's.
const WAITING_FRAMES: f64 = 0.1;
/// And for so many times the gap between two frames that arrive.
const WAITING_GAPS: f64 = 3.0;
/// A gap of so many times the usual is a stall of the sender, or of the path's host.
const STALL_GAPS: f64 = 4.0;
const STALL_MIN_S: f64 = 0.000_3;
/// No stall of a receiver lasts as long.
pub(in crate::burst) const STALL_MAX_S: f64 = 0.06;

/// What one burst shows.
pub(super) enum Shows {
    /// Too little to tell.
    Nothing,
    Policer(Buckets),
    /// Everything was held back, frame by frame.
    Waiting,
    /// For longer than any stall of the tester.
    LongWaiting,
}

impl Search<'_, '_> {
    pub(super) fn shows(&self, seen: &Seen) -> Shows {
        let slot_s = self.slot_s();
        let Some(burst) = seen.report.bursts.first() else { return Shows::Nothing };
        if let Some(waited_s) = waited(burst, slot_s) {
            return if waited_s > STALL_MAX_S { Shows::LongWaiting } else { Shows::Waiting };
        }
        let conforming = Passage::of_all(seen);
        let enough = conforming.iter().all(|burst| burst.admissions().len() >= ADMISSIONS_MIN);
        let Some((refill, depth)) = overload::bucket(&conforming, slot_s, 1.0) else {
            return Shows::Nothing;
        };
        match Buckets::of(seen, slot_s) {
            Some(buckets) if enough && is_policed(&conforming, depth, refill, slot_s) => {
                Shows::Policer(buckets)
            }
            Some(_) | None => Shows::Nothing,
        }
    }
}

/// For how long the later frames of a burst were under way longer than its first one: nearly all of
/// them, not only those that met a stall of the receiver. `None` if hardly at all.
///
/// Frames come no earlier than the line lets them, one each `slot_s`, and no faster than the sender
/// sends them. What had been taken for the line may be slower than it: then it drops what would wait
/// too long, and the numbers of the late frames grow faster than a line's.
pub(in crate::burst) fn waited(burst: &BurstReport, slot_s: f64) -> Option<f64> {
    let passage = Passage::of(burst, |_| true);
    let (first, last) = passage.curve.first().zip(passage.curve.last())?;
    let half = passage.curve.len() / 2;
    let late = &passage.curve[half..];
    let numbers: Vec<_> = late.iter().map(|late| (f64::from(late.frame), late.at)).collect();
    let slot_s = slot_s.max(passage.sent_spacing());
    let slot_s = slope(&numbers).map_or(slot_s, |late_slot_s| late_slot_s.min(slot_s));
    let gap_s = gap(late);
    let stalled = stalled(&passage.curve, slot_s, STALL_MIN_S.max(STALL_GAPS * gap_s));
    let waited = late
        .iter()
        .zip(&stalled[half..])
        .map(|(late, stalled)| late.at - stalled - first.at - f64::from(late.frame) * slot_s);
    let mut waited: Vec<f64> = waited.collect();
    waited.sort_by(f64::total_cmp);
    let nearly_all = waited.get((waited.len() as f64 * WAITING_FRAMES) as usize).copied();
    let long = WAITING_MIN_S.max(WAITING_SHARE * (last.at - first.at));
    nearly_all.filter(|waited| *waited > long.max(WAITING_GAPS * gap_s))
}

/// Seconds from one frame that arrived to the next, the middle one of the gaps.
fn gap(curve: &[Point]) -> f64 {
    let gaps = curve
        .windows(2)
        .filter(|pair| pair[1].count > pair[0].count)
        .map(|pair| (pair[1].at - pair[0].at) / f64::from(pair[1].count - pair[0].count));
    median(gaps.collect()).unwrap_or(0.0)
}

/// For how long the sender or the path had stopped by each point: gaps above `long_s` beyond what a
/// line takes for the frames in them. Where a queue makes frames wait, it does so little by little.
fn stalled(curve: &[Point], slot_s: f64, long_s: f64) -> Vec<f64> {
    let mut stalled = 0.0;
    let mut by_then = vec![0.0; curve.len().min(1)];
    for pair in curve.windows(2) {
        let (frames, gap) = (f64::from(pair[1].frame - pair[0].frame), pair[1].at - pair[0].at);
        let per_frame = gap / f64::from((pair[1].count - pair[0].count).max(1));
        if per_frame > long_s {
            stalled += (gap - frames * slot_s).max(0.0);
        }
        by_then.push(stalled);
    }
    by_then
}

/// Whether drops begin where a bucket ends, and frames pass as its refill has it.
fn is_policed(bursts: &[Passage], depth: Option<Depth>, refill: Refill, slot_s: f64) -> bool {
    let refused = 1.0 - refill.bytes_s * slot_s;
    let regular = depth.is_some_and(|depth| depth.is_of_a_bucket())
        || bursts.iter().all(|burst| is_regular(burst, slot_s))
        || bursts.iter().all(|burst| is_even(burst, refill));
    regular && refused > 0.002
}

/// Tokens come evenly, so frames pass in about the same time after each other, however the sender
/// stalled now and then; what is lost by chance leaves gaps of any length.
fn is_regular(burst: &Passage, slot_s: f64) -> bool {
    const SLOTS_MIN: f64 = 4.0;
    const SPREAD_MAX: f64 = 0.5;
    let admissions = burst.admissions();
    let mut gaps: Vec<f64> = admissions.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    gaps.sort_by(f64::total_cmp);
    let quartile = |quarters: usize| gaps.get(gaps.len() * quarters / 4).copied().unwrap_or(0.0);
    let middle = quartile(2);
    middle >= SLOTS_MIN * slot_s && quartile(3) - quartile(1) <= SPREAD_MAX * middle
}

/// Two buckets admit frames each at its own beat, but no more and no fewer in any time than both get
/// tokens for: but for a frame of each, and what the slope is off by. What is lost by chance strays by
/// more, the longer it lasts.
fn is_even(burst: &Passage, refill: Refill) -> bool {
    const ADMISSIONS_MIN: usize = 60;
    const FRAMES_MAX: f64 = 4.0;
    let strays = burst.strays(refill.bytes_s).unwrap_or(f64::INFINITY);
    burst.admissions().len() >= ADMISSIONS_MIN && strays <= FRAMES_MAX
}

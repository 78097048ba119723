//! Frames of a burst that waited: for how long, and at which rate they came behind the bucket.

use alloc::vec;
use alloc::vec::Vec;

use super::estimate::Refill;
use super::median;
use super::passage::{Passage, Point, slope};

/// How exactly an arrival is known.
pub(super) const ARRIVAL_S: f64 = 10e-6;
/// A burst is held back, not policed, if its frames wait for this share of its duration.
const WAITING_SHARE: f64 = 0.005;
const WAITING_MIN_S: f64 = 0.001;
/// What a policer passes is under way as long as the first frame, but for stalls of the ends, which
/// last for a part of a burst: the wait that nine in ten late frames exceed is the path's.
const WAITING_FRAMES: f64 = 0.1;
/// A wait is one of frames held back from this multiple of the gap between two arrivals on.
const WAITING_GAPS: f64 = 3.0;
/// A gap of this multiple of the median is a stall of the sender or of the path's host.
const STALL_GAPS: f64 = 4.0;
const STALL_MIN_S: f64 = 0.000_3;
/// No stall of a receiver lasts as long.
pub(super) const STALL_MAX_S: f64 = 0.06;

/// Frames that are no farther behind the line's pace have not waited; a line through those that have
/// needs this number of points.
const FRAMES_BEHIND: f64 = 2.0;
const SHARE_BEHIND: f64 = 0.02;
const POINTS_MIN: usize = 4;

/// For how long the later frames of a burst were under way longer than its first one: nearly all of
/// them, not only those that met a stall of the receiver. `None` if hardly at all.
///
/// Frames come no earlier than the line lets them, one each `slot_s`, and no faster than the sender
/// sends them. What had been taken for the line may be slower than it: then it drops what would wait
/// too long, and the numbers of the late frames grow faster than a line's.
pub(super) fn waited(passage: &Passage, slot_s: f64) -> Option<f64> {
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

/// Frames that were held back and came one after the other, in frames.
pub(super) struct Held {
    pub(super) refill: Refill,
    /// Seconds.
    pub(super) waited: f64,
}

/// The later half of a burst, or less if more than half of it came out of a bucket: those frames come
/// as fast as they are sent, one each `pace_s`.
fn behind_the_bucket(curve: &[Point], pace_s: f64) -> Option<&[Point]> {
    let begin = curve.first()?.at;
    let in_time = |point: &&Point| {
        let frames = (point.at - begin) / pace_s;
        let passed = f64::from(point.count);
        frames <= passed + FRAMES_BEHIND.max(SHARE_BEHIND * passed)
    };
    let of_bucket = curve.iter().take_while(in_time).count();
    let half = curve.len() / 2;
    let from = if of_bucket + POINTS_MIN <= curve.len() { half.max(of_bucket) } else { half };
    curve.get(from..)
}

/// The rate at which the frames behind the bucket came, and for how long the last one had waited.
pub(super) fn held_back(burst: &Passage, slot_s: f64, pace_s: f64) -> Option<Held> {
    let begin = burst.curve.first()?.at;
    let late = behind_the_bucket(&burst.curve, pace_s)?;
    let points: Vec<_> =
        late.iter().map(|point| (point.at - begin, f64::from(point.count))).collect();
    let frames_s = slope(&points)?;
    let last = late.last()?;
    let (at, watched) = (last.at - begin, last.at - late.first()?.at);
    Some(Held {
        refill: Refill { bytes_s: frames_s, uncertainty: (slot_s + 20e-6) / watched.max(1e-6) },
        waited: at - f64::from(last.frame) * slot_s.min(burst.sent_spacing()),
    })
}

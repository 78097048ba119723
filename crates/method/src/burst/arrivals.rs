//! When the frames of a burst arrived, and how far apart those were that a line had sent.

use alloc::vec::Vec;

use fp_model::BurstReport;

/// Pairs of arrivals that draw the line through a burst.
const PAIRS_MAX: usize = 2000;
/// By so much more slowly than all frames those come that a queue took before it was full.
const QUEUED_SLOWER: f64 = 1.3;
/// And for longer than a receiver often is late.
const QUEUED_S_MIN: f64 = 300e-6;

/// One frame on the curve of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) frame: u32,
    /// Frames that arrived up to this one.
    count: u32,
    /// Seconds.
    pub(super) at: f64,
}

/// The first and the last frame of each run of a burst that arrived.
pub(super) fn arrivals(burst: &BurstReport) -> Vec<Arrival> {
    let mut count = 0;
    let mut curve: Vec<Arrival> = burst
        .arrived
        .iter()
        .flat_map(|run| {
            let first = Arrival { frame: run.first, count: count + 1, at: run.from.as_secs_f64() };
            count += run.frames;
            let last = run.first + run.frames - 1;
            [first, Arrival { frame: last, count, at: run.until.as_secs_f64() }]
        })
        .collect();
    curve.dedup();
    curve
}

/// Seconds from one frame of a burst to the next, by the arrivals of those that passed: lost ones counted,
/// unless frames came much more slowly already before the first loss. Then a queue filled up, and
/// what was lost took no time behind it. No line is faster than frames left.
pub(super) fn spacing(burst: &BurstReport) -> Option<f64> {
    let curve = arrivals(burst);
    let all = mean_spacing(&curve)?;
    let lossless = curve.partition_point(|arrival| arrival.count == arrival.frame + 1);
    let late = &curve[lossless / 3..lossless];
    let (first, last) = late.first().zip(late.last())?;
    let longer = last.at - first.at - f64::from(last.frame - first.frame) * all;
    let queued = mean_spacing(late).filter(|slot| *slot > QUEUED_SLOWER * all);
    let came = queued.filter(|_| longer > QUEUED_S_MIN).unwrap_or(all);
    Some(came.max(sent_spacing(burst).unwrap_or(0.0)))
}

/// Seconds from one frame of a burst to the next as they left.
pub(super) fn sent_spacing(burst: &BurstReport) -> Option<f64> {
    let gaps = burst.sent_frames.checked_sub(1).filter(|gaps| *gaps > 0)?;
    let lasted = burst.sent_until.checked_sub(burst.sent_from)?;
    Some(lasted.as_secs_f64() / f64::from(gaps)).filter(|each| *each > 0.0)
}

/// Seconds from one frame to the next, lost ones counted.
pub(super) fn mean_spacing(arrivals: &[Arrival]) -> Option<f64> {
    let point = |arrival: &Arrival| (f64::from(arrival.frame), arrival.at);
    slope(&arrivals.iter().map(point).collect::<Vec<_>>())
}

/// The slope of a line through points of which a quarter may lie anywhere: the mean of the middle
/// half of the slopes between points half the row apart.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let half = points.len().div_ceil(2);
    let pairs = points.iter().zip(points.get(half..)?);
    let step = pairs.len().div_ceil(PAIRS_MAX).max(1);
    let slopes = pairs
        .step_by(step)
        .filter(|((x, _), (later_x, _))| later_x > x)
        .map(|((x, y), (later_x, later_y))| (later_y - y) / (later_x - x));
    middle_mean(slopes.collect())
}

/// Steps in what is averaged, such as those of whole frames, do not show in it as in a median.
fn middle_mean(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let quarter = values.len() / 4;
    let middle = values.get(quarter..values.len() - quarter)?;
    (!middle.is_empty()).then(|| middle.iter().sum::<f64>() / middle.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_outliers_does_not_bend_the_line() {
        let late = |frame: u32| if frame % 5 == 3 { 60.0 } else { 0.0 };
        let points: Vec<_> =
            (0..41).map(|k| (f64::from(k), 12.0 * f64::from(k) + late(k))).collect();
        let slope = slope(&points).unwrap();
        assert!((slope - 12.0).abs() < 0.01, "{slope}");
        assert_eq!(super::slope(&[(0.0, 1.0)]), None);
    }
}

//! When the frames of a burst arrived, and how far apart those were that a line had sent.

use alloc::vec::Vec;

use fp_model::BurstReport;

/// Pairs of arrivals that draw the line through a burst.
const PAIRS_MAX: usize = 2000;
/// Frames that a queue took before it was full come more slowly than all of the burst, by this factor,
const QUEUED_SLOWER: f64 = 1.3;
/// and for longer than a receiver often is late.
const QUEUED_S_MIN: f64 = 300e-6;

/// One frame on the curve of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) frame: u32,
    /// Frames that arrived up to this one.
    pub(super) count: u32,
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
/// unless frames came much more slowly already before the first loss, by more than the `range_s` that
/// delays of frames differ by. Then a queue filled up, and what was lost took no time behind it. No line is
/// faster than frames left.
pub(super) fn spacing(burst: &BurstReport, range_s: f64) -> Option<f64> {
    let curve = arrivals(burst);
    let all = mean_spacing(&curve)?;
    let lossless = curve.partition_point(|arrival| arrival.count == arrival.frame + 1);
    let late = &curve[lossless / 3..lossless];
    let (first, last) = late.first().zip(late.last())?;
    let longer = last.at - first.at - f64::from(last.frame - first.frame) * all;
    let queued = mean_spacing(late).filter(|slot| *slot > QUEUED_SLOWER * all);
    let came = queued.filter(|_| longer > QUEUED_S_MIN.max(range_s)).unwrap_or(all);
    let came = spacing_at_most(&curve, range_s, came);
    Some(came.max(sent_spacing(burst).unwrap_or(0.0))).filter(|slot| *slot > 0.0)
}

/// How far apart frames are on a line, where they `came` much further apart than before any was lost: a shaper behind
/// it that has used its bucket up takes longer for later ones. Few frames may have shown half the range of delays.
fn spacing_at_most(curve: &[Arrival], range_s: f64, came: f64) -> f64 {
    let lossless = curve.iter().take_while(|arrival| arrival.count == arrival.frame + 1);
    let first = curve.first().map_or(0.0, |first| first.at);
    let each = lossless
        .skip(1)
        .map(|arrival| (arrival.at - first + 2.0 * range_s) / f64::from(arrival.frame).max(1.0));
    let least = each.fold(f64::INFINITY, f64::min);
    if came > QUEUED_SLOWER * least { least } else { came }
}

/// The same where a policer or a short queue drops of the burst, by frames that arrived one after the other
/// with none lost between them: what was dropped in the queue of a line took no time on it. The delays of
/// frames differ by up to `range_s`, independently. Those that overtake each other follow one another by
/// chance.
pub(super) fn spacing_in_runs(burst: &BurstReport, range_s: f64) -> Option<f64> {
    let all = spacing(burst, range_s)?;
    let (mut lasted_s, mut gaps, mut runs) = (0.0, 0.0, 1.0);
    let curve = arrivals(burst);
    for pair in curve.windows(2) {
        let [one, next] = [pair[0], pair[1]];
        if next.at < one.at {
            return Some(all);
        }
        if next.frame == one.frame + next.count - one.count {
            lasted_s += next.at - one.at;
            gaps += f64::from(next.frame - one.frame);
        } else {
            runs += 1.0;
        }
    }
    let in_runs = lasted_s / gaps;
    let error_s = range_s * libm::sqrt(2.0 * runs) / gaps;
    let is_slower = gaps > 0.0 && in_runs - error_s > all;
    Some(if is_slower { spacing_at_most(&curve, range_s, in_runs) } else { all })
}

/// Seconds from one frame of a burst to the next as they left.
pub(super) fn sent_spacing(burst: &BurstReport) -> Option<f64> {
    let gaps = burst.sent_frames.checked_sub(1).filter(|gaps| *gaps > 0)?;
    Some(burst.sent_in().as_secs_f64() / f64::from(gaps)).filter(|each| *each > 0.0)
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
    use core::time::Duration;

    use fp_model::ArrivedRun;

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

    /// Runs of these frames, the next one each 4 µs, of 250 that left one each 1 µs.
    fn thinned(runs: &[(u32, u32)]) -> BurstReport {
        let mut count = 0;
        let micros = |count: u32| Duration::from_micros(4 * u64::from(count));
        let arrived = runs.iter().map(|(first, frames)| {
            let (from, until) = (micros(count), micros(count + frames - 1));
            count += frames;
            ArrivedRun { first: *first, frames: *frames, dscp: None, from, until }
        });
        BurstReport {
            sent_frames: 250,
            sent_until: Duration::from_micros(249),
            arrived: arrived.collect(),
            ..BurstReport::default()
        }
    }

    /// A queue of three frames before a line of 4 µs a frame lets four frames through, and then one of each
    /// four.
    #[test]
    fn what_a_short_queue_drops_takes_no_time_on_its_line() {
        let then = (0..60).map(|place| (5 + 4 * place, 1));
        let burst = thinned(&[(0, 4)].into_iter().chain(then).collect::<Vec<_>>());
        let [all, in_runs] =
            [spacing(&burst, 0.0), spacing_in_runs(&burst, 0.0)].map(Option::unwrap);
        assert!((all - 1e-6).abs() < 0.02e-6, "{all}");
        assert!((in_runs - 4e-6).abs() < 1e-9, "{in_runs}");
        // Delays that differ by 10 µs explain as much between four frames.
        assert_eq!(spacing_in_runs(&burst, 10e-6), Some(all));
    }

    /// A shaper lets 128 frames go as they come, each 1 µs, and then one each 500 µs; 90 of the others overflow.
    #[test]
    fn what_a_shaper_lets_go_after_its_bucket_makes_the_line_in_front_no_slower() {
        let run = |first: u32, frames: u32, from: u64, each: u64| {
            let until = Duration::from_micros(from + each * u64::from(frames - 1));
            ArrivedRun { first, frames, dscp: None, from: Duration::from_micros(from), until }
        };
        let at_once = (0..4).map(|place| run(32 * place, 32, 32 * u64::from(place), 1));
        let then = [run(128, 31, 628, 500), run(249, 1, 16_128, 500)];
        let burst = BurstReport { arrived: at_once.chain(then).collect(), ..thinned(&[]) };
        for range_s in [0.0, 5e-6] {
            let of_line = [spacing(&burst, range_s), spacing_in_runs(&burst, range_s)];
            assert!(of_line.iter().flatten().all(|each| *each <= 1.1e-6), "{of_line:?}");
        }
    }

    /// The first run was cut for the curve.
    #[test]
    fn frames_between_which_none_is_missing_are_of_one_run() {
        let burst = thinned(&[(0, 2), (2, 2), (9, 1), (13, 1), (17, 1), (21, 1)]);
        assert_eq!(spacing_in_runs(&burst, 0.0).map(|each| libm::round(each * 1e9)), Some(4000.0));
    }
}

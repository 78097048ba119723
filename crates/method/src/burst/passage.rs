//! One burst as a policer's bucket met it: which frames it had tokens for, and when each came.

use alloc::vec::Vec;

use fp_model::{ArrivedRun, BurstReport};

/// Pairs of arrivals that draw the line through a burst.
const PAIRS_MAX: usize = 2000;
/// By so much more slowly than all frames those come that a queue took before it was full.
const QUEUED_SLOWER: f64 = 1.3;
/// And for longer than a receiver often is late.
const QUEUED_S_MIN: f64 = 300e-6;

/// The frames that two buckets let pass at once, and a little.
const AT_ONCE_FRAMES: f64 = 1.5;
/// What was held up comes after faster than by this share, at the rate of the line.
const CATCHES_UP: f64 = 0.1;

/// Successive frames that passed, none dropped between them; times in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) frames: u32,
    pub(super) from: f64,
    pub(super) until: f64,
}

/// One frame on the curve of arrivals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) frame: u32,
    /// Frames that arrived up to this one.
    pub(super) count: u32,
    pub(super) at: f64,
}

/// The frames of a burst that passed.
#[derive(Clone, Debug)]
pub(super) struct Passage {
    pub(super) spans: Vec<Span>,
    /// All frames of the burst, those that did not pass included.
    pub(super) frames: u32,
    /// From the first to the last frame, at the sender.
    pub(super) sent_in: f64,
    pub(super) curve: Vec<Point>,
}

impl Passage {
    /// Of the frames that `passed`; others may have arrived as well, marked otherwise.
    pub(super) fn of(burst: &BurstReport, passed: impl Fn(&ArrivedRun) -> bool) -> Self {
        Self::between(burst, 0, passed, |_| false)
    }

    /// The same from frame `begin` on, as a second bucket meets it: it is not asked for frames that
    /// are `elsewhere`.
    pub(super) fn between(
        burst: &BurstReport,
        begin: u32,
        passed: impl Fn(&ArrivedRun) -> bool,
        elsewhere: impl Fn(&ArrivedRun) -> bool,
    ) -> Self {
        let (mut spans, mut curve) = (Vec::<Span>::new(), Vec::new());
        let (mut next, mut count) = (begin, 0);
        for run in burst.arrived.iter().filter(|run| run.first >= begin) {
            let is_next = run.first == next;
            if passed(run) || (is_next && elsewhere(run)) {
                next = run.first + run.frames;
            }
            if !passed(run) {
                continue;
            }
            let (first, last) = (run.first - begin, run.first - begin + run.frames - 1);
            let (from, until) = (run.from.as_secs_f64(), run.until.as_secs_f64());
            curve.push(Point { frame: first, count: count + 1, at: from });
            count += run.frames;
            curve.push(Point { frame: last, count, at: until });
            match spans.last_mut() {
                Some(before) if is_next => {
                    (before.last, before.until) = (last, until);
                    before.frames += run.frames;
                }
                Some(_) | None => {
                    spans.push(Span { first, last, frames: run.frames, from, until });
                }
            }
        }
        curve.dedup();
        let sent_in = burst.sent_until.saturating_sub(burst.sent_from).as_secs_f64();
        let frames = burst.sent_frames.saturating_sub(begin);
        let sent_in = sent_in * share_of(frames, burst.sent_frames);
        Self { spans, frames, sent_in, curve }
    }

    /// The same burst, had it ended with its `spans`th span.
    pub(super) fn begin(&self, spans: usize) -> Self {
        let Some(cut) = self.spans.get(spans) else { return self.clone() };
        let frames = cut.first;
        let sent_in = self.sent_in * share_of(frames, self.frames);
        Self { spans: self.spans[..spans].to_vec(), frames, sent_in, ..self.clone() }
    }

    pub(super) fn passed_frames(&self) -> u32 {
        self.spans.iter().map(|span| span.frames).sum()
    }

    /// How long a burst of so many frames takes that leave `slot_s` apart.
    pub(super) fn line_time(&self, slot_s: f64) -> f64 {
        f64::from(self.frames.saturating_sub(1)) * slot_s
    }

    /// Seconds from one frame to the next, at the sender.
    pub(super) fn sent_spacing(&self) -> f64 {
        self.sent_in / f64::from(self.frames.max(2) - 1)
    }

    /// By how much the sender fell behind a line whose frames follow each other every `slot_s`.
    pub(super) fn behind_the_line(&self, slot_s: f64) -> f64 {
        (self.sent_in - self.line_time(slot_s)).max(0.0)
    }

    /// What each frame that passed, or did not, says of the bucket.
    ///
    /// In a burst that keeps the line busy frames come every `slot_s`, and the number of a frame
    /// tells when the policer saw it better than its arrival does, which release and reception make
    /// late by microseconds. A sender that falls behind the line spaces its frames itself.
    pub(super) fn constraints(&self, slot_s: f64) -> Vec<Constraint> {
        let spacing = slot_s.max(self.sent_spacing());
        let constraint = |frames: u32, frame: u32, passed| Constraint {
            frames,
            at: f64::from(frame) * spacing,
            passed,
        };
        let mut constraints = Vec::with_capacity(2 * self.spans.len() + 1);
        let (mut passed, mut next) = (0, 0);
        for span in &self.spans {
            if span.first > next {
                constraints.push(constraint(passed + 1, span.first - 1, false));
            }
            passed += span.frames;
            constraints.push(constraint(passed, span.last, true));
            next = span.last + 1;
        }
        if next < self.frames {
            constraints.push(constraint(passed + 1, self.frames - 1, false));
        }
        constraints
    }

    /// The instants at which tokens for one more frame had just come: number of frames that had
    /// passed with it, and arrival since the burst's first.
    pub(super) fn admissions(&self) -> Vec<(f64, f64)> {
        let Some(begin) = self.spans.first() else { return Vec::new() };
        let mut passed = 0.0;
        let mut points = Vec::new();
        for (place, span) in self.spans.iter().enumerate() {
            if place > 0 {
                points.push((span.from - begin.from, passed + 1.0));
            }
            passed += f64::from(span.frames);
        }
        points
    }

    /// The admissions that nothing held up on their way, be they those of one bucket or of two that
    /// refill by `frames_s` in a second.
    pub(super) fn admissions_on_time(&self, frames_s: f64) -> Vec<(f64, f64)> {
        on_time(&self.admissions(), frames_s, AT_ONCE_FRAMES / frames_s)
    }

    /// How far, in frames, the admissions on time stray from `frames_s` in a second: those of two
    /// buckets, each at its own beat, by up to a frame of each. The twentieth that strays farthest each way is not
    /// counted. `None` of none.
    pub(super) fn strays(&self, frames_s: f64) -> Option<f64> {
        let mut beyond: Vec<f64> = self
            .admissions_on_time(frames_s)
            .iter()
            .map(|(at, passed)| passed - frames_s * at)
            .collect();
        beyond.sort_by(f64::total_cmp);
        let twentieth = beyond.len() / 20;
        let least = beyond.get(twentieth)?;
        let most = beyond.get(beyond.len().checked_sub(twentieth + 1)?)?;
        Some(most - least)
    }
}

/// What the time between the first and the last of `part` frames is of that of `whole`.
fn share_of(part: u32, whole: u32) -> f64 {
    f64::from(part.saturating_sub(1)) / f64::from(whole.max(2) - 1)
}

/// A frame for which the bucket had tokens, or had not: with `frames` frames taken out of it and
/// `at` seconds of refill it was not overdrawn, or would have been.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Constraint {
    pub(super) frames: u32,
    pub(super) at: f64,
    pub(super) passed: bool,
}

/// Seconds from one frame to the next, by the arrivals of those that passed: lost ones counted,
/// unless frames came much more slowly already before the first loss. Then a queue filled up, and
/// what was lost took no time behind it.
pub(super) fn spacing(passage: &Passage) -> Option<f64> {
    let points = |points: &[Point]| -> Vec<(f64, f64)> {
        points.iter().map(|point| (f64::from(point.frame), point.at)).collect()
    };
    let all = slope(&points(&passage.curve))?;
    let lossless = passage.curve.partition_point(|point| point.count == point.frame + 1);
    let late = &passage.curve[lossless / 3..lossless];
    let (first, last) = late.first().zip(late.last())?;
    let longer = last.at - first.at - f64::from(last.frame - first.frame) * all;
    let queued = slope(&points(late)).filter(|slot| *slot > QUEUED_SLOWER * all);
    Some(queued.filter(|_| longer > QUEUED_S_MIN).unwrap_or(all))
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

/// Those of a bucket's admissions that nothing held up on their way. A bucket lets nothing pass faster
/// than it refills, `frames_s` in a second; so an arrival that later ones follow sooner than that, by
/// more than `early_s`, was itself late. One after which the row stays behind is not: tokens were
/// taken, or went to waste.
pub(super) fn on_time(points: &[(f64, f64)], frames_s: f64, early_s: f64) -> Vec<(f64, f64)> {
    let ahead = |(at, count): &(f64, f64)| at - (1.0 - CATCHES_UP) * count / frames_s;
    let mut soonest = f64::INFINITY;
    let mut kept: Vec<_> = points
        .iter()
        .rev()
        .filter(|point| {
            soonest = soonest.min(ahead(point));
            ahead(point) <= soonest + early_s
        })
        .copied()
        .collect();
    kept.reverse();
    kept
}

/// The slope of the steeper ones of the stretches of `span` between points, one that is found in many
/// of them: for a row that now and then falls behind, and never wins.
pub(super) fn slope_of_most(points: &[(f64, f64)], span: f64) -> Option<f64> {
    let whole = points.last()?.0 - points.first()?.0;
    let span = span.min(whole / 2.0);
    let mut slopes: Vec<f64> = points
        .iter()
        .filter_map(|(x, y)| {
            let (later_x, later_y) = points.get(points.partition_point(|(at, _)| at - x < span))?;
            (later_x > x).then(|| (later_y - y) / (later_x - x))
        })
        .collect();
    slopes.sort_by(f64::total_cmp);
    let quarters = slopes.len() / 4;
    let steeper = slopes.get(2 * quarters..slopes.len() - quarters)?;
    (!steeper.is_empty()).then(|| steeper.iter().sum::<f64>() / steeper.len() as f64)
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
    use alloc::vec;
    use core::time::Duration;

    use super::*;

    fn run(first: u32, frames: u32) -> ArrivedRun {
        let at = |frame| Duration::from_millis(27) + Duration::from_micros(12) * frame;
        let (from, until) = (at(first), at(first + frames - 1));
        ArrivedRun { first, frames, dscp: None, from, until }
    }

    fn burst(arrived: Vec<ArrivedRun>, sent_us: u64) -> BurstReport {
        BurstReport {
            sent_frames: 88,
            sent_until: Duration::from_micros(sent_us),
            arrived,
            ..BurstReport::default()
        }
    }

    #[test]
    fn runs_that_were_cut_for_the_curve_are_one_span() {
        let passage =
            Passage::of(&burst(vec![run(0, 32), run(32, 11), run(46, 1)], 87 * 12), |_| true);
        let spans: Vec<_> = passage.spans.iter().map(|span| (span.first, span.last)).collect();
        assert_eq!(spans, [(0, 42), (46, 46)]);
        assert_eq!(passage.passed_frames(), 44);
    }

    /// A burst at line rate: the number of a frame is its time.
    #[test]
    fn each_edge_of_a_gap_constrains_the_bucket() {
        let passage = Passage::of(&burst(vec![run(0, 43), run(46, 1)], 87 * 12), |_| true);
        let slot_s = 12e-6;
        let seen: Vec<_> = passage
            .constraints(slot_s)
            .into_iter()
            .map(|constraint| {
                (constraint.frames, libm::round(constraint.at / slot_s), constraint.passed)
            })
            .collect();
        assert_eq!(
            seen,
            [(43, 42.0, true), (44, 45.0, false), (44, 46.0, true), (45, 87.0, false)]
        );
    }

    #[test]
    fn a_sender_slower_than_the_line_spaces_its_frames_itself() {
        let passage = Passage::of(&burst(vec![run(0, 43), run(46, 1)], 87 * 12), |_| true);
        // A line of 10 µs: the burst took a fifth longer than it would have at line rate.
        let constraints = passage.constraints(10e-6);
        assert!((constraints[0].at - 42.0 * 12e-6).abs() < 1e-9);
        assert!((passage.behind_the_line(10e-6) - 87.0 * 2e-6).abs() < 1e-9);
    }

    /// One each 6 ms; every tenth comes 0.3 ms late, and so does all that follows.
    #[test]
    fn a_row_that_falls_behind_now_and_then_is_as_steep_as_most_of_it() {
        let behind = |k: u32| 0.3 * f64::from(k / 10);
        let points: Vec<_> =
            (0..41).map(|k| (6.0 * f64::from(k) + behind(k), f64::from(k))).collect();
        let steep = slope_of_most(&points, 25.0).unwrap();
        assert!((steep * 6.0 - 1.0).abs() < 1e-9, "{steep}");
        assert!((slope(&points).unwrap() * 6.0 - 1.0).abs() > 4e-3);
        assert_eq!(slope_of_most(&[(0.0, 1.0)], 25.0), None);
    }

    /// A frame each 0.3 ms. Three times in the first 20 ms nothing comes on for 4 ms, and what was held
    /// comes at once: the row that is left has the bucket's own slope. No frame is taken for late
    /// because tokens went to waste after it.
    #[test]
    fn what_was_held_up_is_told_from_what_the_bucket_let_go_later() {
        let held = |k: u32| {
            let since = [4, 32, 54].into_iter().filter_map(|begin| k.checked_sub(begin)).min();
            since.filter(|since| *since < 14).map_or(0.0, |since| f64::from(14 - since) * 0.29)
        };
        let wasted = |k: u32| if k >= 90 { 2.0 } else { 0.0 };
        let row = |late: &dyn Fn(u32) -> f64| -> Vec<(f64, f64)> {
            (0..200).map(|k| (0.3 * f64::from(k) + late(k), f64::from(k))).collect()
        };
        let steep = |points: &[(f64, f64)]| slope_of_most(points, 25.0).unwrap() * 0.3;
        let late = row(&held);
        assert!((steep(&late) - 1.0).abs() > 0.005, "{}", steep(&late));
        let kept = on_time(&late, 3.3, 0.02);
        assert_eq!(kept.len(), 200 - 3 * 14);
        assert!((steep(&kept) - 1.0).abs() < 1e-9, "{}", steep(&kept));
        assert_eq!(on_time(&row(&wasted), 3.3, 0.02), row(&wasted));
    }

    #[test]
    fn a_quarter_of_outliers_does_not_bend_the_line() {
        let late = |k: u32| if k % 5 == 3 { 60.0 } else { 0.0 };
        let points: Vec<_> =
            (0..41).map(|k| (f64::from(k), 12.0 * f64::from(k) + late(k))).collect();
        let slope = slope(&points).unwrap();
        assert!((slope - 12.0).abs() < 0.01, "{slope}");
        assert_eq!(super::slope(&[(0.0, 1.0)]), None);
    }
}

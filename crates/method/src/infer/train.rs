//! How a train of frames of several rates arrived: counts, rates and delays of its parts, each with its standard
//! error. Times are means over many frames, so that jitter and a host that stands still hardly enter.

use alloc::vec::Vec;
use core::ops::Range;

use fp_model::{FramesReport, Step};

/// What is certain enough to be acted on: as rare by chance as one in ten thousand.
pub(crate) const CERTAIN: f64 = 4.0;
/// Two hosts' clocks that nobody steers run up to 100 parts in a million fast or slow, each.
pub(crate) const CLOCKS_APART: f64 = 200e-6;
/// Neighbouring frames are delayed together, so that errors are taken from the means of batches.
pub(crate) const BATCHES: usize = 16;
/// With fewer frames a rate is taken from the times of departure.
pub(super) const LEAST_FRAMES: f64 = 8.0;
/// A mark of time that two ends can tell apart: below it delays do not differ.
pub(super) const CLOCK_STEP: f64 = 1e-6;

/// Two rates beyond this share of each other are the same: a first look is known so well.
pub(crate) const SAME: f64 = 0.97;

/// How a train of several rates arrived.
#[derive(Clone, Debug)]
pub(crate) struct Train {
    pub(super) slices: Vec<Slice>,
    /// The slice with which each step begins, and one past the last.
    pub(super) steps: Vec<usize>,
    /// The rate of each step.
    pub(super) offered: Vec<f64>,
    pub(super) frame_bits: f64,
    /// Frames of a slice.
    pub(crate) each: f64,
    /// Frames that others had overtaken.
    pub(super) out_of_order: f64,
    /// Runs of lost frames.
    pub(super) loss_events: f64,
    /// Frames that came once more.
    pub(crate) duplicates: f64,
    /// From the shortest delay to the longest.
    pub(super) range: f64,
    /// From the shortest delay to the mean of all.
    pub(super) longer: f64,
}

/// Successive frames; times in seconds from the start of the train.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) frames: f64,
    pub(super) arrived: f64,
    /// When its first frame was due.
    pub(super) due: f64,
    /// Of those that arrived.
    pub(super) arrived_at: f64,
    pub(super) delay: f64,
    /// The shortest between one of them and the arrival before it.
    pub(super) gap: f64,
}

/// What came through while a part of a train was offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Through {
    /// Layer 2.
    pub(crate) bps: f64,
    pub(crate) frames: f64,
    /// Between the centres of the first and the last sixth of them, in seconds.
    pub(super) span: f64,
    /// The slices of such a sixth.
    pub(super) slices: f64,
}

/// A mean with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) error: f64,
}

impl Train {
    /// `None` where the receiver did not tell, or nothing was due.
    pub(crate) fn of(seen: &FramesReport, steps: &[Step], frame_bytes: u32) -> Option<Self> {
        let trace = seen.trace.as_ref().filter(|trace| !trace.slices.is_empty())?;
        let frame_bits = f64::from(frame_bytes) * 8.0;
        let each = f64::from(trace.frames_per_slice);
        let course = Course::of(steps, frame_bits);
        let planned = seen.planned_frames as f64;
        // What was never sent is not lost: the trial is repeated where that is more than a trifle.
        let sent = seen.sent_frames as f64 / planned.max(1.0);
        let slice = |(place, slice): (usize, &fp_model::TraceSlice)| {
            let first = place as f64 * each;
            let delay = slice.delay_ns as f64 / 1e9;
            Slice {
                frames: each.min(planned - first).max(f64::from(slice.arrived)) * sent,
                arrived: f64::from(slice.arrived),
                due: course.due(first),
                arrived_at: slice.sent_ns as f64 / 1e9 + delay,
                delay,
                gap: slice.gap_ns as f64 / 1e9,
            }
        };
        let begins = |first: &f64| (libm::ceil(first / each) as usize).min(trace.slices.len());
        Some(Self {
            slices: trace.slices.iter().enumerate().map(slice).collect(),
            steps: course.firsts.iter().map(begins).chain([trace.slices.len()]).collect(),
            offered: steps.iter().map(|step| step.rate.as_bps() as f64).collect(),
            frame_bits,
            each,
            out_of_order: seen.out_of_order_frames.unwrap_or(0) as f64,
            loss_events: seen.loss_events.unwrap_or(0) as f64,
            duplicates: seen.duplicate_frames.unwrap_or(0) as f64,
            range: seen.delay.map_or(0.0, |delay| (delay.max - delay.min).as_secs_f64()),
            longer: seen.delay.map_or(0.0, |delay| (delay.mean - delay.min).as_secs_f64()),
        })
    }

    pub(crate) const fn steps(&self) -> usize {
        self.steps.len() - 1
    }

    /// The slices of a step.
    pub(crate) fn step(&self, step: usize) -> Range<usize> {
        self.steps[step]..self.steps[step + 1]
    }

    /// The slices of a step without the first quarter, in which the rate before may still show.
    pub(crate) fn settled(&self, step: usize) -> Range<usize> {
        let all = self.step(step);
        all.start + all.len() / 4..all.end
    }

    pub(crate) fn whole(&self) -> Range<usize> {
        0..self.slices.len()
    }

    pub(crate) fn second_half(&self) -> Range<usize> {
        self.slices.len() / 2..self.slices.len()
    }

    pub(crate) fn frames(&self, of: Range<usize>) -> f64 {
        self.slices[of].iter().map(|slice| slice.frames).sum()
    }

    pub(crate) fn arrived(&self, of: Range<usize>) -> f64 {
        self.slices[of].iter().map(|slice| slice.arrived).sum()
    }

    /// Never below zero.
    pub(crate) fn lost(&self, of: Range<usize>) -> f64 {
        (self.frames(of.clone()) - self.arrived(of)).max(0.0)
    }

    pub(crate) fn loss(&self, of: Range<usize>) -> f64 {
        self.lost(of.clone()) / self.frames(of).max(1.0)
    }

    /// From when the first frame of these slices was due to when the next one after them was.
    pub(super) fn lasts(&self, of: Range<usize>) -> f64 {
        let Some(first) = self.slices.get(of.start) else { return 0.0 };
        let one = |at: usize| self.slices[at].due - self.slices[at.saturating_sub(1)].due;
        let until = self.slices.get(of.end).map_or_else(
            || self.slices.last().map_or(0.0, |last| last.due) + one(self.slices.len() - 1),
            |next| next.due,
        );
        until - first.due
    }

    /// The standard error of what arrived of a range, as a share of that: where frames are lost in runs, few of
    /// its slices lose many.
    pub(super) fn uneven(&self, of: Range<usize>) -> f64 {
        let (count, arrived) = (of.len() as f64, self.arrived(of.clone()).max(1.0));
        let mean = self.lost(of.clone()) / count;
        let off = self.slices[of].iter().map(|slice| slice.frames - slice.arrived - mean);
        libm::sqrt(off.map(|off| off * off).sum::<f64>() * count / (count - 1.0).max(1.0)) / arrived
    }

    /// When the slice was due in which this number of lost frames was reached.
    pub(crate) fn lost_by(&self, frames: f64) -> Option<f64> {
        let mut lost = 0.0;
        let slice = self.slices.iter().find(|slice| {
            lost += slice.frames - slice.arrived;
            lost >= frames
        })?;
        Some(slice.due)
    }

    /// Frames lost of the slices before the one that arrived then.
    pub(crate) fn lost_before(&self, arrived_at: f64) -> f64 {
        let is_before = |slice: &&Slice| slice.arrived == 0.0 || slice.arrived_at < arrived_at;
        self.lost(0..self.slices.iter().take_while(is_before).count())
    }

    pub(super) fn that_arrived(&self, of: Range<usize>) -> impl DoubleEndedIterator<Item = &Slice> {
        self.slices[of].iter().filter(|slice| slice.arrived > 0.0)
    }

    /// Frames that had arrived by the middle of each slice, and when that was.
    pub(crate) fn curve(&self) -> Vec<(f64, f64)> {
        let mut before = 0.0;
        let point = |slice: &Slice| {
            before += slice.arrived;
            (slice.arrived_at, before - (slice.arrived - 1.0) / 2.0)
        };
        self.that_arrived(self.whole()).map(point).collect()
    }

    /// When a frame arrived before which more had left than `frames` and `frames_s` of them in each second since
    /// the first one.
    pub(crate) fn outruns(&self, frames: f64, frames_s: f64) -> Option<f64> {
        let mut sent = 0.0;
        self.slices.iter().find_map(|slice| {
            let before = sent;
            sent += slice.frames;
            let left_at = slice.arrived_at - slice.delay;
            let is_outrun = slice.arrived > 0.0 && before > frames + frames_s * left_at;
            is_outrun.then_some(slice.arrived_at)
        })
    }

    /// When the first frame left, and how long the frames of some slices were under way in the mean.
    pub(crate) fn under_way(&self, of: Range<usize>) -> Option<f64> {
        self.delay(of).map(|delay| delay.mean)
    }

    /// What came through, by the times of arrival.
    pub(crate) fn through(&self, of: Range<usize>) -> Through {
        let frames = self.arrived(of.clone());
        let lasts = self.lasts(of.clone()).max(1e-9);
        let by_departure =
            Through { bps: frames * self.frame_bits / lasts, frames, span: lasts, slices: 1.0 };
        if frames < LEAST_FRAMES {
            return by_departure;
        }
        let first = centre(self.that_arrived(of.clone()), frames / 6.0);
        let last = centre(self.that_arrived(of).rev(), frames / 6.0);
        let span = last.at - first.at;
        if span <= 0.0 {
            return by_departure;
        }
        let between = frames - (first.frames + last.frames) / 2.0;
        Through {
            bps: between * self.frame_bits / span,
            frames,
            span,
            slices: first.slices.min(last.slices),
        }
    }

    /// The gap between two frames that a line sends one right after the other, by the median slice; and whether
    /// hardly one of ten has a shorter one, as jitter behind the line would give them.
    pub(super) fn gap(&self, of: Range<usize>) -> Option<(f64, bool)> {
        let mut gaps: Vec<f64> = self.that_arrived(of).map(|slice| slice.gap).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let [tenth, middle] = [gaps.get(gaps.len() / 10)?, gaps.get(gaps.len() / 2)?];
        Some((*middle, *tenth > SAME * middle))
    }

    /// The delay of those that arrived, from batches.
    pub(super) fn delay(&self, of: Range<usize>) -> Option<Mean> {
        let slices: Vec<&Slice> = self.that_arrived(of).collect();
        let mean = mean_of(slices.iter().copied())?;
        let error = if slices.len() < 2 * BATCHES {
            scatter(&slices, mean) / libm::sqrt(slices.len() as f64)
        } else {
            let each = slices.len() / BATCHES;
            let batches = slices.chunks_exact(each).take(BATCHES);
            let means = batches.filter_map(|batch| mean_of(batch.iter().copied()));
            let sum: f64 = means.map(|batch| (batch - mean) * (batch - mean)).sum();
            libm::sqrt(sum / (BATCHES - 1) as f64 / BATCHES as f64)
        };
        Some(Mean { mean, error })
    }

    /// By how much the delay grew from the first third of the frames to the last, and its error:
    /// the scatter about the trend, which itself must not count.
    pub(super) fn growth(&self, of: Range<usize>) -> Mean {
        let slices: Vec<&Slice> = self.that_arrived(of).collect();
        let third = slices.len() / 3;
        if slices.len() < LEAST_FRAMES as usize + 1 {
            return Mean { mean: 0.0, error: 1.0 };
        }
        let first = mean_of(slices[..third].iter().copied()).unwrap_or(0.0);
        let last = mean_of(slices[slices.len() - third..].iter().copied()).unwrap_or(0.0);
        let error = about_the_trend(&slices) * libm::sqrt(2.0 / third as f64);
        Mean { mean: last - first, error: error + CLOCK_STEP }
    }

    /// Whether more was offered than fits: whether more was lost than `floor`, the most that is lost
    /// at any rate; and whether the delay grew, as a filling queue's does.
    pub(crate) fn overload(&self, floor: f64) -> Overload {
        let (frames, whole) = (self.frames(self.whole()).max(1.0), self.whole());
        // Lost frames come in bursts: their count has up to four times the variance. A quarter more
        // than the rate, whatever is lost besides, loses a fifth: a third of that is far from chance.
        let chance = 3.0 * libm::sqrt(4.0 * floor / frames);
        let lasts = self.lasts(whole.clone());
        let growth = self.growth(whole.clone());
        Overload {
            loses: self.loss(whole) > floor + 0.06 + chance,
            // An offer of 1.18 times the rate delays by 0.18 of its time, two thirds of it between
            // the middles of the first and of the last third.
            grows: growth.mean > (0.12 * lasts).max(CERTAIN * growth.error),
        }
    }

    /// Whether the delay fell, by more than two clocks run apart, as that of a queue does that an
    /// earlier trial filled.
    pub(crate) fn empties(&self, of: Range<usize>) -> bool {
        let growth = self.growth(of.clone());
        -growth.mean > (2.0 * CLOCKS_APART * self.lasts(of)).max(CERTAIN * growth.error)
    }

    /// Whether the delay grew all the while, as that of a queue that does not drop yet.
    pub(crate) fn fills(&self, of: Range<usize>) -> bool {
        let growth = self.growth(of.clone());
        growth.mean > (0.1 * self.lasts(of)).max(CERTAIN * growth.error)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Overload {
    pub(crate) loses: bool,
    pub(crate) grows: bool,
}

/// When each frame of a train of several rates is due.
struct Course {
    /// The number of the first frame of each step, when it is due, and the time of one frame.
    firsts: Vec<f64>,
    begins: Vec<(f64, f64)>,
}

impl Course {
    pub(super) fn of(steps: &[Step], frame_bits: f64) -> Self {
        let (mut first, mut at) = (0.0, 0.0);
        let mut course = Self { firsts: Vec::new(), begins: Vec::new() };
        for step in steps {
            let each = frame_bits / step.rate.as_bps().max(1) as f64;
            course.firsts.push(first);
            course.begins.push((at, each));
            first += step.lasts.as_secs_f64() / each;
            at += step.lasts.as_secs_f64();
        }
        course
    }

    pub(super) fn due(&self, frame: f64) -> f64 {
        let step = self.firsts.partition_point(|first| *first <= frame).saturating_sub(1);
        let (at, each) = self.begins[step];
        at + (frame - self.firsts[step]) * each
    }
}

/// The middle of the first frames of some slices.
struct Centre {
    at: f64,
    pub(super) frames: f64,
    pub(super) slices: f64,
}

fn centre<'a>(slices: impl Iterator<Item = &'a Slice>, frames: f64) -> Centre {
    let mut centre = Centre { at: 0.0, frames: 0.0, slices: 0.0 };
    for slice in slices {
        if centre.frames >= frames.max(2.0) {
            break;
        }
        centre.at += slice.arrived_at * slice.arrived;
        centre.frames += slice.arrived;
        centre.slices += 1.0;
    }
    Centre { at: centre.at / centre.frames.max(1.0), ..centre }
}

pub(super) fn mean_of<'a>(slices: impl Iterator<Item = &'a Slice>) -> Option<f64> {
    let mut sum = (0.0, 0.0);
    for slice in slices {
        sum = (sum.0 + slice.delay * slice.arrived, sum.1 + slice.arrived);
    }
    (sum.1 > 0.0).then(|| sum.0 / sum.1)
}

/// Standard deviation of the delays of slices.
pub(super) fn scatter(slices: &[&Slice], mean: f64) -> f64 {
    let squares: f64 = slices.iter().map(|slice| (slice.delay - mean) * (slice.delay - mean)).sum();
    libm::sqrt(squares / slices.len().saturating_sub(1).max(1) as f64)
}

/// The same about the line of least squares.
pub(super) fn about_the_trend(slices: &[&Slice]) -> f64 {
    let count = slices.len() as f64;
    let at = slices.iter().map(|slice| slice.due).sum::<f64>() / count;
    let delay = slices.iter().map(|slice| slice.delay).sum::<f64>() / count;
    let (mut both, mut times, mut delays) = (0.0, 0.0, 0.0);
    for slice in slices {
        let (x, y) = (slice.due - at, slice.delay - delay);
        both += x * y;
        times += x * x;
        delays += y * y;
    }
    let left = if times > 0.0 { delays - both * both / times } else { delays };
    libm::sqrt(left.max(0.0) / (count - 2.0).max(1.0))
}

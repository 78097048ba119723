//! What the sender of a stream has done: frames sent, when, and against what was planned.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Gaps, SentBy};
use serde::{Deserialize, Serialize};

use super::deviations::DeviationHistogram;
use super::losses::Losses;
use super::schedule::{Due, Schedule};
use super::span::Span;

/// Keeps count of the frames that leave, in the order of their numbers.
#[derive(Debug)]
pub struct DepartureTally {
    schedule: Arc<Schedule>,
    seconds: Vec<u64>,
    /// The second in which the last frame was due, and how many of it have left.
    second: usize,
    left_in_second: u64,
    span: Span,
    lateness: DeviationHistogram,
    gap: DeviationHistogram,
    /// When the last frame left and when it was due.
    last: Option<(Duration, Duration)>,
    sent: SentFrames,
}

/// What the sender knows of the frames of the steady time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SentFrames {
    pub planned_frames: u64,
    pub sent_frames: u64,
    pub sent_bytes: u64,
    pub sent_in: Duration,
    /// Seconds in which frames were due that were not sent, and how many.
    pub unsent_in_seconds: Vec<(u32, u64)>,
    pub gaps: Gaps,
    pub sent_by: SentBy,
}

impl DepartureTally {
    pub fn new(schedule: Arc<Schedule>) -> Self {
        Self {
            seconds: schedule.seconds(),
            second: 0,
            left_in_second: 0,
            span: Span::of(&schedule),
            lateness: DeviationHistogram::new(),
            gap: DeviationHistogram::new(),
            last: None,
            sent: SentFrames { planned_frames: schedule.planned_frames(), ..SentFrames::default() },
            schedule,
        }
    }

    /// How many steady frames before `sequence` have not been sent, as it is told with a frame: in
    /// 24 bits. So many as are `leaving` will have been by then.
    pub fn unsent_before(&self, sequence: u64, leaving: u64) -> u32 {
        let due = sequence.saturating_sub(self.schedule.steady_from());
        due.saturating_sub(self.sent.sent_frames + leaving) as u32 & Losses::UNSENT_MASK
    }

    /// A frame has left, so long after the start of the trial. Returns its length in bytes.
    pub fn on_departure(&mut self, due: Due, left_at: Duration) -> u64 {
        let frame_bytes = u64::from(self.schedule.sizes().of(due.sequence));
        if due.sequence < self.schedule.steady_from() {
            return frame_bytes;
        }
        self.sent.sent_frames += 1;
        self.sent.sent_bytes += frame_bytes;
        self.go_to_second_of(due.sequence);
        self.left_in_second += 1;
        let left_ns = left_at.as_nanos() as u64;
        self.span.add(&self.schedule, due.sequence, left_ns as i64);
        self.lateness.add(left_at.saturating_sub(due.at).as_nanos() as u64);
        if let Some((last_left, last_due)) = self.last.replace((left_at, due.at)) {
            let gap_ns = left_at.saturating_sub(last_left).as_nanos() as u64;
            let planned_ns = due.at.saturating_sub(last_due).as_nanos() as u64;
            self.gap.add(gap_ns.abs_diff(planned_ns));
        }
        frame_bytes
    }

    fn go_to_second_of(&mut self, sequence: u64) {
        while self.seconds.get(self.second + 1).is_some_and(|end| *end <= sequence) {
            self.close_second();
        }
    }

    fn close_second(&mut self) {
        let due = self.seconds[self.second + 1] - self.seconds[self.second];
        if due > self.left_in_second {
            let unsent = (self.second as u32, due - self.left_in_second);
            self.sent.unsent_in_seconds.push(unsent);
        }
        (self.second, self.left_in_second) = (self.second + 1, 0);
    }

    pub fn finish(mut self, sent_by: SentBy) -> SentFrames {
        while self.second + 1 < self.seconds.len() {
            self.close_second();
        }
        // A single frame stands for its share of the steady time.
        let one_frame = || self.schedule.one_frame_stands_for();
        self.sent.sent_in = match self.sent.sent_frames {
            0 => Duration::ZERO,
            1 => one_frame(),
            _ => self.span.stood_for(&self.schedule).unwrap_or_default(),
        };
        self.sent.gaps =
            Gaps { lateness: self.lateness.into_deviations(), gap: self.gap.into_deviations() };
        self.sent.sent_by = sent_by;
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{FrameSizes, FramesLoad, Pace, Rate, Timing};

    use super::*;

    /// 100 frames of 1,000 bytes a second: the first ten are warm-up, then 2.5 s are steady.
    fn schedule() -> Arc<Schedule> {
        let pace = Pace::Constant { rate: Rate::bps(800_000) };
        let load = FramesLoad::new(FrameSizes::fixed(1000), pace);
        let timing = Timing {
            warm_up: Duration::from_millis(100),
            steady: Duration::from_millis(2500),
            settle: Duration::ZERO,
        };
        Arc::new(Schedule::new(&load, &timing))
    }

    #[test]
    fn seconds_tell_of_frames_that_were_due_in_them_and_not_sent() {
        let schedule = schedule();
        let mut tally = DepartureTally::new(Arc::clone(&schedule));
        // Not sent: 3 of the warm-up; 20 of the first second, 10 … 109; all of the second, 110 …
        // 209; the last two of the third, 210 … 259.
        let unsent =
            |n: u64| (3..6).contains(&n) || (50..70).contains(&n) || (110..210).contains(&n);
        for due in schedule.frames_from(Duration::ZERO) {
            if !unsent(due.sequence) && due.sequence < 258 {
                tally.on_departure(due, due.at);
            }
        }
        assert_eq!(tally.unsent_before(258, 0), 120);
        let sent = tally.finish(SentBy::UdpSocket);
        assert_eq!((sent.planned_frames, sent.sent_frames), (250, 128));
        assert_eq!(sent.unsent_in_seconds, [(0, 20), (1, 100), (2, 2)]);
        assert_eq!(sent.sent_bytes, 128_000);
    }

    #[test]
    fn gaps_are_measured_against_those_that_were_planned() {
        let schedule = schedule();
        let mut tally = DepartureTally::new(Arc::clone(&schedule));
        let late = |n| Duration::from_micros(if n == 100 { 40 } else { 3 });
        for due in schedule.frames_from(Duration::ZERO).filter(|due| due.sequence != 150) {
            tally.on_departure(due, due.at + late(due.sequence));
        }
        let gaps = tally.finish(SentBy::UdpSocket).gaps;
        assert_eq!((gaps.lateness.count, gaps.gap.count), (249, 248));
        // All frames are 3 µs late but one, which follows 37 µs later and is followed 37 µs earlier.
        // The frame that is missing makes a gap of twice the interval, as planned.
        assert_eq!(gaps.lateness.max, Duration::from_micros(40));
        assert_eq!(gaps.lateness.log2_bins_us, [0, 0, 248, 0, 0, 0, 1]);
        assert_eq!(gaps.gap.max, Duration::from_micros(37));
        assert_eq!(gaps.gap.p99, Duration::ZERO);
        assert_eq!(gaps.gap.log2_bins_us, [246, 0, 0, 0, 0, 0, 2]);
    }
}

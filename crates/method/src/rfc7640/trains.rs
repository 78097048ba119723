//! The trains in which a shaper lets the frames of a burst go, each of them sent by itself.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{BurstReport, BurstsLoad, BurstsReport, Rate};

use super::Trains;
use super::bursts::arrivals;

/// When each frame of a burst left and arrived, in the order of arrival.
pub(super) struct Curve {
    frames: Vec<Passed>,
    /// From one frame to the next where they are sent.
    sent_each: Duration,
    frame_bytes: u32,
}

/// One frame; its times are those of both ends, as far as their clocks agree.
#[derive(Clone, Copy, Debug)]
struct Passed {
    sent: Duration,
    arrived: Duration,
}

impl Passed {
    fn delay_ns(&self) -> i64 {
        self.arrived.as_nanos() as i64 - self.sent.as_nanos() as i64
    }
}

/// What trains a curve is to show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sought {
    /// They are farther apart than this.
    pub(super) gap: Duration,
    /// How long the quickest frame of any other burst was under way.
    pub(super) quickest: Option<Duration>,
}

/// So much longer than the quickest frame of other bursts one may be under way, by what the clocks of
/// the ends have drifted meanwhile and what an idle host takes to move.
const LATE_MAX: Duration = Duration::from_micros(250);

impl Curve {
    /// Of bursts that have a single frame each.
    pub(super) fn of(report: &BurstsReport, load: &BurstsLoad) -> Self {
        let passed = |burst: &BurstReport| {
            let due = load.period * burst.burst;
            let (_, at) = arrivals(burst).next()?;
            Some(Passed { sent: due + burst.sent_from, arrived: due + at })
        };
        let mut frames: Vec<Passed> = report.bursts.iter().filter_map(passed).collect();
        frames.sort_unstable_by_key(|frame| frame.arrived);
        Self { frames, sent_each: load.period, frame_bytes: load.frame_bytes }
    }

    //= rfc7640 4.1
    /// Cuts the curve where nothing came for longer than `gap`.
    pub(super) fn trains(&self, gap: Duration) -> Trains {
        if self.frames.is_empty() {
            return Trains::default();
        }
        let starts = self.starts(gap);
        let first = starts.first().copied().unwrap_or(self.frames.len());
        // A sender that is held up cuts a train in two, so that the first one may still go on.
        let shaped_from = first.max(self.frames.len() / 2);
        let shaped: Vec<usize> = starts.into_iter().filter(|start| *start >= shaped_from).collect();
        let rate_l2 = self.rate(&shaped);
        let bucket_bytes = rate_l2.and_then(|rate| self.bucket_bytes(first, &shaped, rate));
        // The last train may have ended because the burst did.
        let whole = || shaped.windows(2);
        Trains {
            rate_l2,
            bucket_bytes,
            bucket_least_bytes: bucket_bytes,
            first_train_bytes: Some(self.bytes(first)),
            train_bytes: median(whole().map(|pair| self.bytes(pair[1] - pair[0])).collect()),
            train_interval: median(
                whole().map(|pair| self.arrived(pair[1]) - self.arrived(pair[0])).collect(),
            ),
        }
    }

    /// The first frame of each train but the first train.
    fn starts(&self, gap: Duration) -> Vec<usize> {
        let begins = |frame: &usize| self.arrived(*frame) - self.arrived(frame - 1) > gap;
        (1..self.frames.len()).filter(begins).collect()
    }

    /// Whether the first train tells when the burst began: one of its frames that were under way
    /// shortest was followed by the next one at about the distance at which they were sent.
    ///
    /// No shaper makes frames come closer together than they were sent. Where all of the first train
    /// comes at once, a host stood still until then, its own, that of an end or of the network, and
    /// from when it should have come cannot be told. Of a train of one frame it never can.
    ///
    /// A host that takes longer over a frame than half of that makes what was held up look as if it
    /// came in time, but for the delay: another burst has shown how quick the path can be.
    pub(super) fn begins_in_time(&self, sought: Sought) -> bool {
        let first = self.starts(sought.gap).first().copied().unwrap_or(self.frames.len());
        let Some(train) = self.frames.get(..first).filter(|train| train.len() > 1) else {
            return true;
        };
        let half = self.sent_each / 2;
        let quickest_ns = train.iter().map(Passed::delay_ns).min().unwrap_or_default();
        let due_ns = sought.quickest.map(|quickest| (quickest + LATE_MAX).as_nanos() as i64);
        if due_ns.is_some_and(|due_ns| quickest_ns > due_ns) {
            return false;
        }
        let in_time = |pair: &[Passed]| {
            pair[0].delay_ns() <= quickest_ns + half.as_nanos() as i64
                && pair[1].arrived - pair[0].arrived >= half
        };
        train.windows(2).any(in_time)
    }

    /// The median over trains that are half of all these apart, so that no single late one decides.
    fn rate(&self, starts: &[usize]) -> Option<Rate> {
        let apart = (starts.len() / 2).max(1);
        let pairs = starts.iter().zip(starts.get(apart..)?);
        let rate = |(from, until): (&usize, &usize)| {
            Rate::over(self.bytes(until - from), self.arrived(*until) - self.arrived(*from))
        };
        median(pairs.map(rate).collect())
    }

    /// What came out until a train began, with its first frame, beyond what the rate explains. The
    /// burst begins when its first frame would have come had it been under way no longer than the
    /// quickest of the first train: a host that has been idle may take a while to move.
    fn bucket_bytes(&self, first: usize, starts: &[usize], rate: Rate) -> Option<u64> {
        let train = self.frames.get(..first)?;
        let sent_ns = train.iter().map(|frame| frame.sent.as_nanos() as i64).min()?;
        let began_ns = sent_ns + train.iter().map(Passed::delay_ns).min()?;
        let beyond = |start: &usize| {
            let since_ns = self.arrived(*start).as_nanos() as i64 - began_ns;
            let explained = rate.bytes_in(Duration::from_nanos(since_ns.max(0) as u64));
            self.bytes(start + 1).saturating_sub(explained)
        };
        median(starts.iter().map(beyond).collect())
    }

    fn arrived(&self, frame: usize) -> Duration {
        self.frames[frame].arrived
    }

    fn bytes(&self, frames: usize) -> u64 {
        frames as u64 * u64::from(self.frame_bytes)
    }
}

impl Trains {
    /// Of several runs the medians. A bucket is as deep as the run says that saw the least of it: what
    /// is late when a burst begins makes it deeper by all that came meanwhile, and nothing that a host
    /// does makes it shallower in more than a few trains.
    pub(super) fn of_runs(runs: &[Self]) -> Self {
        fn middle<T: Copy + Ord>(runs: &[Trains], of: fn(&Trains) -> Option<T>) -> Option<T> {
            median(runs.iter().filter_map(of).collect())
        }
        Self {
            rate_l2: middle(runs, |run| run.rate_l2),
            bucket_bytes: middle(runs, |run| run.bucket_bytes),
            bucket_least_bytes: runs.iter().filter_map(|run| run.bucket_least_bytes).min(),
            first_train_bytes: middle(runs, |run| run.first_train_bytes),
            train_bytes: middle(runs, |run| run.train_bytes),
            train_interval: middle(runs, |run| run.train_interval),
        }
    }
}

fn median<T: Copy + Ord>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_micros(50);
    const SOUGHT: Sought = Sought { gap: GAP, quickest: None };
    const SENT_EACH: Duration = Duration::from_micros(10);
    const DELAY: Duration = Duration::from_millis(3);

    /// Trains of `frames`, whose frames are 10 µs apart, one each millisecond; sent one each 10 µs.
    fn curve(trains: &[u32]) -> Curve {
        let train = |(place, frames): (usize, &u32)| {
            let start = DELAY + Duration::from_millis(place as u64);
            (0..*frames).map(move |frame| start + SENT_EACH * frame)
        };
        let arrived = trains.iter().enumerate().flat_map(train);
        let passed = |(frame, arrived)| Passed { sent: SENT_EACH * frame, arrived };
        let frames = (0..).zip(arrived).map(passed).collect();
        Curve { frames, sent_each: SENT_EACH, frame_bytes: 1000 }
    }

    /// The host stood still until so long after the first frame should have come.
    fn paused(trains: &[u32], pause: Duration) -> Curve {
        let mut curve = curve(trains);
        for frame in &mut curve.frames {
            frame.arrived = frame.arrived.max(DELAY + pause);
        }
        curve
    }

    //= rfc7640 4.1
    #[test]
    fn trains_are_told_apart_by_the_silence_between_them() {
        let trains = curve(&[7, 3, 3, 3, 3, 1]).trains(GAP);
        assert_eq!(trains.first_train_bytes, Some(7000));
        assert_eq!(trains.train_bytes, Some(3000));
        assert_eq!(trains.train_interval, Some(Duration::from_millis(1)));
        // Of 20 frames the last trains begin with the 13th, 16th and 19th: six frames in 2 ms.
        assert_eq!(trains.rate_l2, Some(Rate::mbps(24)));
        // In the 4 ms until the 17th frame came, 12,000 bytes are explained.
        assert_eq!(trains.bucket_bytes, Some(5000));
    }

    /// The first four frames come together, the fifth when it should.
    #[test]
    fn a_first_frame_that_comes_late_makes_no_bucket_deeper() {
        let late = paused(&[7, 3, 3, 3, 3, 1], Duration::from_micros(35));
        assert_eq!(late.trains(GAP).bucket_bytes, Some(5000));
        assert!(late.begins_in_time(SOUGHT));
    }

    /// 0.5 ms late, of which the 70 µs are known in which the frames of the first train were sent.
    #[test]
    fn a_first_train_that_comes_all_at_once_does_not_tell_when_the_burst_began() {
        let trains = [7, 3, 3, 3, 3, 1];
        assert!(curve(&trains).begins_in_time(SOUGHT));
        let late = paused(&trains, Duration::from_micros(500));
        assert!(!late.begins_in_time(SOUGHT));
        assert!(late.trains(GAP).bucket_bytes > Some(5000));
    }

    /// The forwarding host goes on after a pause as slowly as the frames were sent.
    #[test]
    fn a_first_train_that_is_late_as_a_whole_is_known_by_the_delay_of_others() {
        let mut late = curve(&[7, 3, 3, 3, 3, 1]);
        for frame in &mut late.frames {
            frame.arrived += Duration::from_micros(300);
        }
        let others = |quickest| Sought { quickest: Some(quickest), ..SOUGHT };
        assert!(late.begins_in_time(SOUGHT));
        assert!(!late.begins_in_time(others(DELAY)));
        assert!(late.begins_in_time(others(DELAY + Duration::from_micros(50))));
    }

    #[test]
    fn a_train_of_one_frame_may_begin_at_any_time() {
        assert!(curve(&[1, 1, 1, 1]).begins_in_time(SOUGHT));
        assert!(paused(&[1, 1, 1, 1], Duration::from_micros(500)).begins_in_time(SOUGHT));
    }

    #[test]
    fn of_several_runs_the_least_of_a_bucket_counts_beside_the_median() {
        let run = |bytes| Trains {
            bucket_bytes: Some(bytes),
            bucket_least_bytes: Some(bytes),
            ..Trains::default()
        };
        let runs = Trains::of_runs(&[run(32_000), run(36_000), run(40_000)]);
        assert_eq!((runs.bucket_bytes, runs.bucket_least_bytes), (Some(36_000), Some(32_000)));
    }

    #[test]
    fn a_burst_that_is_not_shaped_is_one_train() {
        let trains = curve(&[9]).trains(GAP);
        assert_eq!((trains.first_train_bytes, trains.train_bytes), (Some(9000), None));
        assert_eq!(trains.rate_l2, None);
        assert_eq!(curve(&[]).trains(GAP), Trains::default());
        assert!(curve(&[]).begins_in_time(SOUGHT));
    }
}

//! What the receiver of a stream has counted.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, DscpCount, Ecn, EcnCount, FrameTrace, Jitter, TraceSlice};
use serde::{Deserialize, Serialize};

use super::delays::{Delays, Variation};
use super::losses::Losses;
use super::schedule::Schedule;
use super::sequence::{Arrived, SeenSequences};
use super::span::Span;

/// What the receiver knows of the frames that have arrived.
#[derive(Debug)]
pub struct ArrivalTally {
    schedule: Arc<Schedule>,
    seen: SeenSequences,
    span: Span,
    delays: Delays,
    variation: Variation,
    losses: Losses,
    seconds: Vec<u64>,
    arrived_in_seconds: Vec<u64>,
    /// The second of the frame before: the next one is most likely of the same.
    second: usize,
    by_code_point: [u64; 64],
    without_code_point: u64,
    by_ecn: [u64; 4],
    without_ecn: u64,
    trace: Option<Trace>,
    received: ReceivedFrames,
}

/// A trace while it fills.
#[derive(Debug)]
struct Trace {
    frames_per_slice: u64,
    slices: Vec<FillingSlice>,
    last_arrived_ns: Option<i64>,
}

/// Sums where a slice has means.
#[derive(Clone, Copy, Debug, Default)]
struct FillingSlice {
    arrived: u32,
    sent_ns: i128,
    delays_ns: i128,
    gap_ns: Option<u64>,
}

impl Trace {
    fn of(frames: u64) -> Self {
        let blank = FrameTrace::blank(frames);
        Self {
            frames_per_slice: blank.frames_per_slice.into(),
            slices: vec![FillingSlice::default(); blank.slices.len()],
            last_arrived_ns: None,
        }
    }

    fn add(&mut self, sequence: u64, sent_at: Duration, arrived_at_ns: i64) {
        let gap_ns = self.last_arrived_ns.replace(arrived_at_ns).map(|last_ns| {
            // Where frames are seen out of turn, they came together.
            u64::try_from(arrived_at_ns.saturating_sub(last_ns)).unwrap_or(0)
        });
        let place = (sequence / self.frames_per_slice) as usize;
        if let Some(slice) = self.slices.get_mut(place) {
            let sent_ns = sent_at.as_nanos() as i128;
            slice.arrived += 1;
            slice.sent_ns += sent_ns;
            slice.delays_ns += i128::from(arrived_at_ns) - sent_ns;
            slice.gap_ns = slice.gap_ns.into_iter().chain(gap_ns).min();
        }
    }

    fn finish(self) -> FrameTrace {
        let slice = |slice: FillingSlice| {
            let mean_ns = |sum: i128| sum / i128::from(slice.arrived.max(1));
            TraceSlice {
                arrived: slice.arrived,
                sent_ns: mean_ns(slice.sent_ns) as u64,
                delay_ns: mean_ns(slice.delays_ns) as i64,
                gap_ns: slice.gap_ns.unwrap_or(0),
            }
        };
        FrameTrace {
            frames_per_slice: self.frames_per_slice as u32,
            slices: self.slices.into_iter().map(slice).collect(),
        }
    }
}

/// A frame as it arrived. Times are since the start of the trial, each by the clock of its end.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub sequence: u64,
    /// How many steady frames before it were not sent, in 24 bits.
    pub unsent_before: u32,
    pub sent_at: Duration,
    /// Below zero where a frame comes before this end's idea of the start.
    pub arrived_at_ns: i64,
    pub dscp: Option<Dscp>,
    pub ecn: Option<Ecn>,
}

/// What the receiver knows of the frames of the steady time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceivedFrames {
    pub received_frames: u64,
    pub received_bytes: u64,
    pub out_of_order_frames: u64,
    pub duplicate_frames: u64,
    pub received_in: Option<Duration>,
    /// Of the first to arrive.
    #[serde(default)]
    pub first_arrived_ns: Option<i64>,
    pub delay_growth_p99: Option<Duration>,
    pub delay: Option<DelayStatistics>,
    pub jitter: Option<Jitter>,
    /// Seconds in which frames were due that did not arrive, and how many.
    pub missing_in_seconds: Vec<(u32, u64)>,
    /// Runs of lost frames up to the largest number that arrived.
    pub loss_events: u64,
    pub longest_loss_run: u64,
    /// The number of the last lost frame below the largest that arrived.
    pub last_lost: Option<u64>,
    /// One above that number, and how many frames before it were not sent, in 24 bits.
    pub next: u64,
    pub unsent_before_next: u32,
    pub dscp_received: Vec<DscpCount>,
    pub ecn_received: Vec<EcnCount>,
    /// Of the whole trial, where the load asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<FrameTrace>,
}

/// Of one-way delays by two clocks, whose difference is in all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelayStatistics {
    pub min_ns: i64,
    pub mean_ns: i64,
    pub p50_ns: i64,
    pub p99_ns: i64,
    pub p99_9_ns: i64,
    pub max_ns: i64,
    pub samples: u64,
}

impl ArrivalTally {
    pub fn new(schedule: Arc<Schedule>) -> Self {
        let seconds = schedule.seconds();
        Self {
            seen: SeenSequences::default(),
            span: Span::of(&schedule),
            delays: Delays::default(),
            variation: Variation::default(),
            losses: Losses::new(schedule.steady_from()),
            arrived_in_seconds: vec![0; seconds.len() - 1],
            seconds,
            second: 0,
            by_code_point: [0; 64],
            without_code_point: 0,
            by_ecn: [0; 4],
            without_ecn: 0,
            trace: schedule.is_traced().then(|| Trace::of(schedule.frames_due())),
            received: ReceivedFrames::default(),
            schedule,
        }
    }

    /// The length in bytes of a frame that arrives for the first time; `None` for another one.
    pub fn on_arrival(&mut self, arrival: &Arrival) -> Option<u64> {
        let Arrival { sequence, unsent_before, sent_at, arrived_at_ns, dscp, ecn } = *arrival;
        if sequence >= self.schedule.frames_due() {
            return None;
        }
        let steady = sequence >= self.schedule.steady_from();
        let arrived = self.seen.on_arrival(sequence);
        if arrived == Arrived::Duplicate {
            self.received.duplicate_frames += u64::from(steady);
            return None;
        }
        let frame_bytes = u64::from(self.schedule.sizes().of(sequence));
        let delay = arrived_at_ns.wrapping_sub(sent_at.as_nanos() as i64);
        if let Some(trace) = &mut self.trace {
            trace.add(sequence, sent_at, arrived_at_ns);
        }
        if !steady {
            self.delays.add_of_warm_up(delay);
            return Some(frame_bytes);
        }
        self.received.received_frames += 1;
        self.received.received_bytes += frame_bytes;
        self.received.out_of_order_frames += u64::from(arrived == Arrived::OutOfOrder);
        self.span.add(&self.schedule, sequence, arrived_at_ns);
        let first_ns = self.received.first_arrived_ns.unwrap_or(i64::MAX);
        self.received.first_arrived_ns = Some(first_ns.min(arrived_at_ns));
        self.delays.add(delay);
        self.variation.add(sequence, delay);
        self.losses.on_arrival(sequence, unsent_before);
        let second = self.second_of(sequence);
        self.arrived_in_seconds[second] += 1;
        match dscp {
            Some(dscp) => self.by_code_point[usize::from(dscp.code_point())] += 1,
            None => self.without_code_point += 1,
        }
        match ecn {
            Some(ecn) => self.by_ecn[usize::from(ecn.code_point())] += 1,
            None => self.without_ecn += 1,
        }
        Some(frame_bytes)
    }

    /// Of the steady time.
    fn second_of(&mut self, sequence: u64) -> usize {
        let holds = |second: usize| {
            self.seconds[second] <= sequence
                && self.seconds.get(second + 1).is_some_and(|end| sequence < *end)
        };
        if !holds(self.second) {
            // Seconds without a frame begin with the same number as the one after them.
            self.second = self.seconds.partition_point(|begin| *begin <= sequence) - 1;
        }
        self.second
    }

    pub fn finish(self) -> ReceivedFrames {
        let due = self.seconds.windows(2).map(|second| second[1] - second[0]);
        let missing = due.zip(&self.arrived_in_seconds).zip(0..);
        let missing = missing.filter(|((due, arrived), _)| due > arrived);
        let missing_in_seconds =
            missing.map(|((due, arrived), second)| (second, due - arrived)).collect();
        let seen = (0_u8..).zip(self.by_code_point);
        let seen =
            seen.map(|(code_point, frames)| DscpCount { dscp: Dscp::new(code_point), frames });
        let unseen = DscpCount { dscp: None, frames: self.without_code_point };
        let fields = (0_u8..)
            .zip(self.by_ecn)
            .map(|(field, frames)| EcnCount { ecn: Some(Ecn::of_traffic_class(field)), frames });
        let no_field = EcnCount { ecn: None, frames: self.without_ecn };
        let losses = self.losses.finish();
        let (delay, delay_growth_p99) = self.delays.finish().unzip();
        ReceivedFrames {
            received_in: self.span.stood_for(&self.schedule),
            delay_growth_p99,
            delay,
            jitter: self.variation.finish(),
            missing_in_seconds,
            loss_events: losses.events,
            longest_loss_run: losses.longest_run,
            last_lost: losses.last,
            next: losses.next,
            unsent_before_next: losses.unsent,
            dscp_received: seen.chain([unseen]).filter(|count| count.frames > 0).collect(),
            ecn_received: fields.chain([no_field]).filter(|count| count.frames > 0).collect(),
            trace: self.trace.map(Trace::finish),
            ..self.received
        }
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{FrameSizes, FramesLoad, Pace, Rate, Timing};

    use super::*;

    /// 100 frames of 1,000 bytes a second: the first ten are warm-up, the next hundred steady.
    fn schedule() -> Arc<Schedule> {
        let pace = Pace::Constant { rate: Rate::bps(800_000) };
        let load = FramesLoad::new(FrameSizes::fixed(1000), pace);
        let timing = Timing {
            warm_up: Duration::from_millis(100),
            steady: Duration::from_secs(1),
            settle: Duration::from_millis(100),
        };
        Arc::new(Schedule::new(&load, &timing))
    }

    /// Frame `sequence`, sent when it was due, a while after its departure.
    fn after(sequence: u64, delay_ms: i64) -> Arrival {
        Arrival {
            sequence,
            unsent_before: 0,
            sent_at: Duration::from_millis(sequence * 10),
            arrived_at_ns: (sequence as i64 * 10 + delay_ms) * 1_000_000,
            dscp: None,
            ecn: None,
        }
    }

    #[test]
    fn a_frame_counts_once_and_by_the_phase_in_which_it_was_due() {
        let mut tally = ArrivalTally::new(schedule());
        let counted = [8, 9, 11, 10, 11, 9, 12].map(|n| tally.on_arrival(&after(n, 500)).is_some());
        assert_eq!(counted, [true, true, true, true, false, false, true]);
        // Steady frames begin at number 10: 11, 10 behind it, 11 again, 12.
        let received = tally.finish();
        assert_eq!((received.received_frames, received.received_bytes), (3, 3000));
        assert_eq!(received.out_of_order_frames, 1);
        assert_eq!(received.duplicate_frames, 1);
        // Up to 12 nothing is missing; how many of 13 … 109 were sent is not known here.
        assert_eq!((received.loss_events, received.next), (0, 13));
        assert_eq!(received.missing_in_seconds, [(0, 97)]);
    }

    #[test]
    fn a_number_that_was_never_due_does_not_count() {
        let mut tally = ArrivalTally::new(schedule());
        tally.on_arrival(&after(110, 0));
        tally.on_arrival(&after(109, 0));
        assert_eq!(tally.finish().received_frames, 1);
    }

    #[test]
    fn delays_are_those_of_steady_frames_and_the_growth_is_over_the_smallest_of_all() {
        let mut tally = ArrivalTally::new(schedule());
        // 20 ms is the smallest delay, of a frame of the warm-up; a hundred steady ones take
        // 21, 22 … 120 ms, of which 119 ms is the 99th.
        tally.on_arrival(&after(0, 20));
        for n in 10..110 {
            tally.on_arrival(&after(n, 11 + n as i64));
        }
        let received = tally.finish();
        assert_eq!(received.delay_growth_p99, Some(Duration::from_millis(99)));
        let delay = received.delay.unwrap();
        assert_eq!((delay.min_ns, delay.max_ns), (21_000_000, 120_000_000));
        assert_eq!((delay.p50_ns, delay.p99_9_ns), (70_000_000, 120_000_000));
        // Each frame takes a millisecond more than the one before.
        assert_eq!(received.jitter.unwrap().mean, Some(Duration::from_millis(1)));
    }

    #[test]
    fn a_trace_draws_the_curve_of_arrivals_of_the_whole_trial() {
        let pace = Pace::Constant { rate: Rate::bps(8_000_000) };
        let load = FramesLoad::new(FrameSizes::fixed(1000), pace).traced();
        let second = Duration::from_secs(1);
        let timing = Timing { warm_up: second, steady: second * 2, settle: second };
        let mut tally = ArrivalTally::new(Arc::new(Schedule::new(&load, &timing)));
        // Of 3,000 frames, one each millisecond, three are a slice. Of the first slice the second is
        // lost, of the second one all are, of the third one each comes half a millisecond later than
        // the one before, and the first of them twice.
        for (n, delay_us) in [(0, 5000), (2, 5300), (6, 5000), (7, 5500), (8, 6000), (6, 9000)] {
            let sent_at = Duration::from_millis(n);
            let arrived_at_ns = sent_at.as_nanos() as i64 + delay_us * 1000;
            tally.on_arrival(&Arrival { sent_at, arrived_at_ns, ..after(n, 0) });
        }
        let trace = tally.finish().trace.unwrap();
        assert_eq!((trace.frames_per_slice, trace.slices.len()), (3, 1000));
        let slice =
            |arrived, sent_ns, delay_ns, gap_ns| TraceSlice { arrived, sent_ns, delay_ns, gap_ns };
        let first = slice(2, 1_000_000, 5_150_000, 2_300_000);
        let third = slice(3, 7_000_000, 5_500_000, 1_500_000);
        assert_eq!(trace.slices[..4], [first, slice(0, 0, 0, 0), third, slice(0, 0, 0, 0)]);
        let untraced = ArrivalTally::new(schedule());
        assert_eq!(untraced.finish().trace, None);
    }

    #[test]
    fn a_clock_that_is_behind_makes_delays_negative() {
        let mut tally = ArrivalTally::new(schedule());
        for n in 10..110 {
            tally.on_arrival(&after(n, -300));
        }
        let received = tally.finish();
        assert_eq!(received.delay.unwrap().mean_ns, -300_000_000);
        assert_eq!(received.received_in, Some(Duration::from_secs(1)));
    }

    #[test]
    fn frames_are_counted_by_the_code_point_with_which_they_came() {
        let mut tally = ArrivalTally::new(schedule());
        for (n, code_point) in [(10, Some(46)), (11, None), (12, Some(46)), (13, Some(0))] {
            let dscp = code_point.and_then(Dscp::new);
            tally.on_arrival(&Arrival { dscp, ..after(n, 1) });
        }
        let counts = [(Some(0), 1), (Some(46), 2), (None, 1)];
        let expected = counts
            .map(|(code_point, frames)| DscpCount { dscp: code_point.and_then(Dscp::new), frames });
        assert_eq!(tally.finish().dscp_received, expected);
    }
}

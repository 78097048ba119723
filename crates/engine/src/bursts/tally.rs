//! What the receiver of bursts has noted: which frames arrived, and when.

use fp_model::{ArrivedRun, Dscp, Receiver, Time, Timing};
use fp_net::stream::{Arrived, SeenSequences};

use super::Plan;
use crate::half::Unshown;
use crate::half::{BurstsReceiverHalf, Half, ReceivedBurst, ReceivedRun, ReceiverSlot};
use crate::open_slots::OpenSlots;

const SILENCE_MAX_NS: i64 = ArrivedRun::SILENCE_MAX.as_nanos() as i64;

/// The runs of a trial, bounded in number: above [`Self::CUT_UP_TO`] of them a run grows for as long
/// as nothing is missing, so that later bursts have fewer points on their curves; beyond
/// [`Self::RUNS_MAX`] frames are only counted.
pub(super) struct BurstTally {
    plan: Plan,
    start: Time,
    frame_bytes: u64,
    seen: SeenSequences,
    bursts: Vec<ReceivedBurst>,
    runs: usize,
    open: OpenSlots,
    half: BurstsReceiverHalf,
}

impl BurstTally {
    const CUT_UP_TO: usize = 100_000;
    const RUNS_MAX: usize = Half::RUNS_MAX;

    pub(super) fn new(plan: Plan, frame_bytes: u32, timing: &Timing, start: Time) -> Self {
        let open = OpenSlots::new(timing, start);
        let slots = open.uncut();
        let burst = |burst| ReceivedBurst { burst, ..ReceivedBurst::default() };
        Self {
            plan,
            start,
            frame_bytes: frame_bytes.into(),
            seen: SeenSequences::default(),
            bursts: (0..plan.bursts).map(burst).collect(),
            runs: 0,
            open,
            half: BurstsReceiverHalf { slots, ..BurstsReceiverHalf::default() },
        }
    }

    pub(super) fn ends_at(&self) -> Time {
        self.open.last_end()
    }

    pub(super) fn on_frame(&mut self, sequence: u64, arrived_at: Time, dscp: Option<Dscp>) {
        let Some((burst, index)) = self.plan.place(sequence) else { return };
        match self.seen.on_arrival(sequence) {
            Arrived::Duplicate => {
                self.half.duplicate_frames += 1;
                if self.runs < Self::RUNS_MAX {
                    self.bursts[burst as usize].twice.push(index);
                    self.runs += 1;
                }
                return;
            }
            Arrived::OutOfOrder => self.half.out_of_order_frames += 1,
            Arrived::InOrder => {}
        }
        self.half.slots[self.open.at(arrived_at)].received_bytes += self.frame_bytes;
        let due = self.start + self.plan.due(burst);
        let at_ns = arrived_at.as_nanos().wrapping_sub(due.as_nanos()) as i64;
        let burst = &mut self.bursts[burst as usize];
        burst.received_frames += 1;
        let (frames_max, silence_max) = if self.runs < Self::CUT_UP_TO {
            (ArrivedRun::FRAMES_MAX, SILENCE_MAX_NS)
        } else {
            (u32::MAX, i64::MAX)
        };
        if let Some(last) = burst.runs.last_mut()
            && (last.first + last.frames, last.dscp) == (index, dscp)
            && last.frames < frames_max
            && at_ns.saturating_sub(last.until_ns) <= silence_max
        {
            last.frames += 1;
            // The wall clock, by which the kernel stamps, may have been set back.
            last.until_ns = last.until_ns.max(at_ns);
        } else if self.runs < Self::RUNS_MAX {
            let run =
                ReceivedRun { first: index, frames: 1, dscp, from_ns: at_ns, until_ns: at_ns };
            burst.runs.push(run);
            self.runs += 1;
        }
    }

    /// Everything that arrived before `now` is noted: slots that ended by then are complete.
    pub(super) fn close_slots(&mut self, now: Time, progress: &mut dyn FnMut(usize, ReceiverSlot)) {
        while let Some((slot, _)) = self.open.close_by(now) {
            progress(slot, self.half.slots[slot]);
        }
    }

    pub(super) fn finish(mut self, unshown: Unshown, receiver: Receiver) -> BurstsReceiverHalf {
        self.bursts.retain(|burst| burst.received_frames > 0);
        for burst in &mut self.bursts {
            burst.runs.sort_by_key(|run| run.first);
            burst.twice.sort_unstable();
            burst.twice.dedup();
        }
        BurstsReceiverHalf {
            bursts: self.bursts,
            corrupt_frames: unshown.corrupt_frames,
            dropped_frames: unshown.dropped_frames,
            receiver: Some(receiver),
            ..self.half
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fp_model::{BurstSpacing, BurstsLoad};

    use super::*;

    const START: Time = Time::from_nanos(5_000_000_000);
    const EXPEDITED: Option<Dscp> = Dscp::new(46);

    /// Three bursts of 100 frames at 100, 200 and 300 ms.
    fn tally() -> BurstTally {
        let load = BurstsLoad {
            frame_bytes: 1000,
            frames_per_burst: 100,
            bursts: 3,
            period: Duration::from_millis(100),
            rate_l1: None,
            spacing: BurstSpacing::OnSchedule,
        };
        let timing = Timing {
            warm_up: Duration::from_millis(100),
            steady: Duration::from_secs(1),
            settle: Duration::from_millis(100),
        };
        BurstTally::new(Plan::new(&load, &timing), 1000, &timing, START)
    }

    fn after_micros(micros: u64) -> Time {
        START + Duration::from_micros(micros)
    }

    /// First index, frames, code point, first and last arrival in microseconds.
    fn runs(half: &BurstsReceiverHalf, burst: usize) -> Vec<(u32, u32, Option<Dscp>, i64, i64)> {
        let runs = half.bursts[burst].runs.iter();
        runs.map(|run| (run.first, run.frames, run.dscp, run.from_ns / 1000, run.until_ns / 1000))
            .collect()
    }

    #[test]
    fn a_whole_burst_is_noted_in_runs_of_32() {
        let mut tally = tally();
        // Burst 1 is due at 200 ms; its frames arrive 10 µs apart from 70 µs after that.
        for index in 0..100 {
            tally.on_frame(100 + index, after_micros(200_070 + 10 * index), EXPEDITED);
        }
        let half = tally.finish(Unshown::default(), Receiver::Socket);
        assert_eq!(half.bursts.len(), 1);
        assert_eq!((half.bursts[0].burst, half.bursts[0].received_frames), (1, 100));
        let expected = [
            (0, 32, EXPEDITED, 70, 380),
            (32, 32, EXPEDITED, 390, 700),
            (64, 32, EXPEDITED, 710, 1020),
            (96, 4, EXPEDITED, 1030, 1060),
        ];
        assert_eq!(runs(&half, 0), expected);
    }

    #[test]
    fn a_loss_a_new_code_point_and_another_order_end_a_run() {
        let mut tally = tally();
        let yellow = Dscp::new(12);
        // 2 is lost, 5 bears another code point, 7 overtakes 6, 7 comes twice and 4 three times.
        for (micros, (index, dscp)) in (100_000..).zip([
            (0, EXPEDITED),
            (1, EXPEDITED),
            (3, EXPEDITED),
            (4, EXPEDITED),
            (5, yellow),
            (7, EXPEDITED),
            (6, EXPEDITED),
            (7, EXPEDITED),
            (4, EXPEDITED),
            (4, EXPEDITED),
        ]) {
            tally.on_frame(index, after_micros(micros), dscp);
        }
        let half = tally.finish(Unshown::default(), Receiver::Socket);
        let expected = [
            (0, 2, EXPEDITED, 0, 1),
            (3, 2, EXPEDITED, 2, 3),
            (5, 1, yellow, 4, 4),
            (6, 1, EXPEDITED, 6, 6),
            (7, 1, EXPEDITED, 5, 5),
        ];
        assert_eq!(runs(&half, 0), expected);
        assert_eq!((half.out_of_order_frames, half.duplicate_frames), (1, 3));
        assert_eq!((half.bursts[0].received_frames, &half.bursts[0].twice), (7, &vec![4, 7]));
    }

    #[test]
    fn a_pause_of_more_than_a_millisecond_ends_a_run() {
        let mut tally = tally();
        for (index, micros) in [0, 900, 1900, 2901].into_iter().enumerate() {
            tally.on_frame(index as u64, after_micros(100_000 + micros), EXPEDITED);
        }
        let half = tally.finish(Unshown::default(), Receiver::Socket);
        assert_eq!(runs(&half, 0), [(0, 3, EXPEDITED, 0, 1900), (3, 1, EXPEDITED, 2901, 2901)]);
    }

    #[test]
    fn frames_that_were_never_planned_do_not_count() {
        let mut tally = tally();
        tally.on_frame(299, after_micros(300_000), None);
        tally.on_frame(300, after_micros(300_000), None);
        let half = tally.finish(Unshown::default(), Receiver::Socket);
        assert_eq!(half.bursts.len(), 1);
        assert_eq!(half.bursts[0].received_frames, 1);
    }

    #[test]
    fn an_arrival_before_the_burst_was_due_by_this_clock_keeps_its_distance() {
        let mut tally = tally();
        tally.on_frame(0, after_micros(99_000), None);
        tally.on_frame(1, after_micros(99_010), None);
        assert_eq!(
            runs(&tally.finish(Unshown::default(), Receiver::Socket), 0),
            [(0, 2, None, -1000, -990)]
        );
    }
}

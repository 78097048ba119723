//! What both ends know of a stream, joined.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{DelaySummary, FramesReport, LossySecond};

use super::arrivals::{DelayStatistics, ReceivedFrames};
use super::departures::SentFrames;
use super::schedule::Schedule;

/// The report of a stream, all but its series and its corrupt frames. The delays are wrong by no
/// more than `clock_error`.
///
/// Whatever the halves claim, the report is made: a far end need not be believed to be read.
pub fn frames_report(
    schedule: &Schedule,
    sent: SentFrames,
    received: ReceivedFrames,
    clock_error: Duration,
) -> FramesReport {
    let lost_at_the_end = lost_at_the_end(schedule, &sent, &received);
    let last_due = schedule.frames_due().checked_sub(1).filter(|_| lost_at_the_end > 0);
    FramesReport {
        lossy_seconds: Some(lossy_seconds(schedule, &sent, &received)),
        loss_events: Some(received.loss_events.saturating_add(u64::from(lost_at_the_end > 0))),
        longest_loss_run: Some(received.longest_loss_run.max(lost_at_the_end)),
        last_lost: last_due.or(received.last_lost).map(|sequence| schedule.due_of(sequence)),
        planned_frames: sent.planned_frames,
        sent_frames: sent.sent_frames,
        sent_bytes: sent.sent_bytes,
        received_frames: received.received_frames,
        received_bytes: received.received_bytes,
        out_of_order_frames: Some(received.out_of_order_frames),
        duplicate_frames: Some(received.duplicate_frames),
        sent_in: sent.sent_in,
        received_in: received.received_in,
        first_arrived: received.first_arrived_ns.map(not_below_zero),
        delay_growth_p99: received.delay_growth_p99,
        delay: received.delay.map(|delay| delay_summary(&delay, clock_error)),
        jitter: received.jitter,
        gaps: sent.gaps,
        dscp_received: received.dscp_received,
        ecn_received: received.ecn_received,
        sent_by: sent.sent_by,
        trace: received.trace,
        ..FramesReport::default()
    }
}

/// Frames after the last one that arrived: the receiver cannot tell whether they were sent.
fn lost_at_the_end(schedule: &Schedule, sent: &SentFrames, received: &ReceivedFrames) -> u64 {
    const UNSENT_BITS: u32 = 24;
    let due = schedule.frames_due().saturating_sub(received.next);
    let unsent = schedule.planned_frames().saturating_sub(sent.sent_frames);
    let known = u64::from(received.unsent_before_next);
    due.saturating_sub(unsent.wrapping_sub(known) % (1 << UNSENT_BITS))
}

fn lossy_seconds(
    schedule: &Schedule,
    sent: &SentFrames,
    received: &ReceivedFrames,
) -> Vec<LossySecond> {
    let due: Vec<u64> = schedule.seconds().windows(2).map(|pair| pair[1] - pair[0]).collect();
    let unsent: BTreeMap<u32, u64> = sent.unsent_in_seconds.iter().copied().collect();
    let missing: BTreeMap<u32, u64> = received.missing_in_seconds.iter().copied().collect();
    let lossy = missing.into_iter().filter_map(|(second, missing)| {
        let unsent = unsent.get(&second).copied().unwrap_or(0);
        let sent_frames = due.get(second as usize)?.saturating_sub(unsent);
        let lost_frames = missing.saturating_sub(unsent).min(sent_frames);
        (lost_frames > 0).then_some(LossySecond { second, sent_frames, lost_frames })
    });
    lossy.collect()
}

fn delay_summary(delay: &DelayStatistics, error: Duration) -> DelaySummary {
    DelaySummary {
        min: not_below_zero(delay.min_ns),
        mean: not_below_zero(delay.mean_ns),
        p50: not_below_zero(delay.p50_ns),
        p99: not_below_zero(delay.p99_ns),
        p99_9: not_below_zero(delay.p99_9_ns),
        max: not_below_zero(delay.max_ns),
        error,
        samples: delay.samples,
    }
}

/// Two clocks may make less than nothing of a short time.
fn not_below_zero(nanos: i64) -> Duration {
    Duration::from_nanos(nanos.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use alloc::sync::Arc;
    use alloc::vec;

    use fp_model::{FrameSizes, FramesLoad, Pace, Rate, SentBy, Timing};
    use proptest::prelude::*;

    use super::*;
    use crate::stream::{Arrival, ArrivalTally, DepartureTally};

    /// 20 frames a second for 2.4 s after 0.2 s of warm-up: 4 and 48 frames.
    fn schedule() -> Schedule {
        let pace = Pace::Constant { rate: Rate::bps(16_000) };
        let load = FramesLoad::new(FrameSizes::new(vec![80, 120]).unwrap(), pace);
        let timing = Timing {
            warm_up: Duration::from_millis(200),
            steady: Duration::from_millis(2400),
            settle: Duration::ZERO,
        };
        Schedule::new(&load, &timing)
    }

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Fate {
        Arrives,
        Lost,
        Unsent,
    }

    proptest! {
        /// Both ends count on their own; together they know each frame's fate.
        #[test]
        fn the_report_says_what_became_of_each_frame(
            fates in prop::collection::vec(
                prop_oneof![
                    4 => Just(Fate::Arrives),
                    2 => Just(Fate::Lost),
                    1 => Just(Fate::Unsent),
                ],
                52,
            ),
        ) {
            let schedule = Arc::new(schedule());
            let (mut departures, mut arrivals) =
                (DepartureTally::new(Arc::clone(&schedule)), ArrivalTally::new(Arc::clone(&schedule)));
            let dues: Vec<_> = schedule.frames_from(Duration::ZERO).collect();
            for (due, fate) in dues.iter().zip(&fates) {
                let arrival = Arrival {
                    sequence: due.sequence,
                    unsent_before: departures.unsent_before(due.sequence, 0),
                    sent_at: due.at,
                    arrived_at_ns: due.at.as_nanos() as i64 + 7,
                    dscp: None,
                    ecn: None,
                };
                if *fate != Fate::Unsent {
                    departures.on_departure(*due, due.at);
                }
                if *fate == Fate::Arrives {
                    arrivals.on_arrival(&arrival);
                }
            }
            let (sent, received) = (departures.finish(SentBy::UdpSocket), arrivals.finish());
            let report = frames_report(&schedule, sent, received, Duration::ZERO);
            let steady = &fates[4..];
            let count = |fates: &[Fate], of: Fate| {
                fates.iter().filter(|fate| **fate == of).count() as u64
            };
            prop_assert_eq!(report.planned_frames, 48);
            prop_assert_eq!(report.sent_frames, 48 - count(steady, Fate::Unsent));
            prop_assert_eq!(report.received_frames, count(steady, Fate::Arrives));
            let sent: Vec<Fate> =
                steady.iter().copied().filter(|fate| *fate != Fate::Unsent).collect();
            let runs = sent.split(|fate| *fate != Fate::Lost).map(<[Fate]>::len);
            let runs: Vec<u64> = runs.filter(|run| *run > 0).map(|run| run as u64).collect();
            prop_assert_eq!(report.loss_events, Some(runs.len() as u64));
            prop_assert_eq!(report.longest_loss_run, Some(runs.into_iter().max().unwrap_or(0)));
            prop_assert_eq!(report.last_lost.is_some(), report.loss_events > Some(0));
            if let (Some(at), [.., Fate::Lost]) = (report.last_lost, steady) {
                prop_assert_eq!(at, dues[51].at);
            }
            let lossy = steady.chunks(20).zip(0..).filter_map(|(second, number)| {
                let lost_frames = count(second, Fate::Lost);
                let sent_frames = second.len() as u64 - count(second, Fate::Unsent);
                (lost_frames > 0).then_some(LossySecond { second: number, sent_frames, lost_frames })
            });
            prop_assert_eq!(report.lossy_seconds, Some(lossy.collect::<Vec<_>>()));
        }
    }

    #[test]
    fn halves_that_contradict_each_other_make_a_report_all_the_same() {
        let sent = SentFrames {
            sent_frames: u64::MAX,
            unsent_in_seconds: vec![(u32::MAX, u64::MAX), (0, u64::MAX), (0, 0)],
            ..SentFrames::default()
        };
        let received = ReceivedFrames {
            next: u64::MAX,
            unsent_before_next: u32::MAX,
            loss_events: u64::MAX,
            missing_in_seconds: vec![(u32::MAX, u64::MAX), (1, u64::MAX), (0, 1)],
            delay: Some(DelayStatistics { min_ns: i64::MIN, ..DelayStatistics::default() }),
            ..ReceivedFrames::default()
        };
        let report = frames_report(&schedule(), sent, received, Duration::ZERO);
        // 20 frames are due in the second with that number.
        let lossy = [
            LossySecond { second: 0, sent_frames: 20, lost_frames: 1 },
            LossySecond { second: 1, sent_frames: 20, lost_frames: 20 },
        ];
        assert_eq!(report.lossy_seconds, Some(lossy.to_vec()));
        assert_eq!(report.delay.unwrap().min, Duration::ZERO);
    }
}

//! Joins what both ends saw of the bursts of a flow.

use std::collections::BTreeMap;
use std::time::Duration;

use fp_model::{ArrivedRun, BurstReport, BurstsLoad, Departure, SlowCall};

use crate::half::{ReceivedBurst, ReceivedRun, SentBurst};

/// One report for each burst that was sent; `None` where a half is not what the load asked for.
///
/// The two ends know the common start as well as a round trip of their control connection lets
/// them. Where the receiver would have had frames before they left, all its times are moved by as
/// much as makes the fastest frame take no time: distances between arrivals stay what they are.
pub(super) fn burst_reports(
    load: &BurstsLoad,
    sent: &[SentBurst],
    received: &[ReceivedBurst],
) -> Option<Vec<BurstReport>> {
    if !are_asked_for(load, sent) || !have_arrived(load, received) {
        return None;
    }
    let arrived: BTreeMap<u32, &ReceivedBurst> =
        received.iter().map(|arrived| (arrived.burst, arrived)).collect();
    let too_early = sent.iter().filter_map(|sent| {
        let first = arrived.get(&sent.burst)?.runs.iter().map(|run| run.from_ns).min()?;
        Some((sent.from_ns as i64).saturating_sub(first))
    });
    let later_ns = too_early.max().unwrap_or(0).max(0);
    let nothing = ReceivedBurst::default();
    let report = |sent: &SentBurst| {
        let arrived = arrived.get(&sent.burst).copied().unwrap_or(&nothing);
        BurstReport {
            burst: sent.burst,
            sent_frames: sent.sent_frames,
            received_frames: arrived.received_frames,
            sent_from: Duration::from_nanos(sent.from_ns),
            sent_until: Duration::from_nanos(sent.until_ns),
            behind: Duration::from_nanos(sent.behind_ns),
            departures: departures(sent),
            departures_within: Duration::from_nanos(sent.within_ns),
            slow_calls: slow_calls(sent),
            arrived: arrived.runs.iter().map(|run| moved(run, later_ns)).collect(),
            twice: arrived.twice.clone(),
        }
    };
    Some(sent.iter().map(report).collect())
}

fn are_asked_for(load: &BurstsLoad, sent: &[SentBurst]) -> bool {
    let in_order = sent.windows(2).all(|pair| pair[0].burst < pair[1].burst);
    in_order
        && sent.iter().all(|sent| {
            sent.burst < load.bursts
                && (1..=load.frames_per_burst).contains(&sent.sent_frames)
                && (sent.from_ns..=TIME_NS_MAX).contains(&sent.until_ns)
                && sent.behind_ns <= TIME_NS_MAX
                && sent.within_ns <= TIME_NS_MAX
                && are_a_curve(load, &sent.departures)
                && are_calls(load, &sent.slow).unwrap_or(false)
        })
}

fn are_a_curve(load: &BurstsLoad, departures: &[(u32, u64)]) -> bool {
    let forwards = departures.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
    let ends =
        |(frame, at_ns): &(u32, u64)| *frame < load.frames_per_burst && *at_ns <= TIME_NS_MAX;
    forwards && departures.last().is_none_or(ends)
}

/// Whether calls are in order and within the burst; `None` where a sum is beyond all numbers.
fn are_calls(load: &BurstsLoad, slow: &[(u32, u32, u64)]) -> Option<bool> {
    let mut next = 0;
    for (first, frames, until_ns) in slow {
        if *first < next || *frames == 0 || *until_ns > TIME_NS_MAX {
            return Some(false);
        }
        next = first.checked_add(*frames)?;
    }
    Some(next <= load.frames_per_burst)
}

fn slow_calls(sent: &SentBurst) -> Vec<SlowCall> {
    let call = |(first, frames, until_ns): &(u32, u32, u64)| SlowCall {
        first: *first,
        frames: *frames,
        until: Duration::from_nanos(*until_ns),
    };
    sent.slow.iter().map(call).collect()
}

fn departures(sent: &SentBurst) -> Vec<Departure> {
    let departure =
        |(frame, at_ns): &(u32, u64)| Departure { frame: *frame, at: Duration::from_nanos(*at_ns) };
    sent.departures.iter().map(departure).collect()
}

fn have_arrived(load: &BurstsLoad, received: &[ReceivedBurst]) -> bool {
    let in_order = received.windows(2).all(|pair| pair[0].burst < pair[1].burst);
    in_order
        && received.iter().all(|received| {
            received.burst < load.bursts && are_runs_of(load, received).unwrap_or(false)
        })
}

/// Whether the runs are apart from each other and within the burst; `None` where a sum is beyond
/// all numbers.
fn are_runs_of(load: &BurstsLoad, received: &ReceivedBurst) -> Option<bool> {
    let (mut next, mut frames) = (0, 0_u32);
    for run in &received.runs {
        let forwards = run.from_ns <= run.until_ns;
        let in_bounds = run.from_ns >= -TIME_NS_MAX_SIGNED && run.until_ns <= TIME_NS_MAX_SIGNED;
        if run.first < next || run.frames == 0 || !forwards || !in_bounds {
            return Some(false);
        }
        next = run.first.checked_add(run.frames)?;
        frames = frames.checked_add(run.frames)?;
    }
    let (received_frames, twice) = (received.received_frames, &received.twice);
    Some(
        next <= load.frames_per_burst
            && twice.windows(2).all(|pair| pair[0] < pair[1])
            && twice.last().is_none_or(|last| *last < load.frames_per_burst)
            && (frames..=load.frames_per_burst).contains(&received_frames),
    )
}

/// More than a trial may last: 49 days.
const TIME_NS_MAX: u64 = 1 << 52;
const TIME_NS_MAX_SIGNED: i64 = TIME_NS_MAX as i64;

fn moved(run: &ReceivedRun, later_ns: i64) -> ArrivedRun {
    let at = |ns: i64| Duration::from_nanos(u64::try_from(ns + later_ns).unwrap_or(0));
    ArrivedRun {
        first: run.first,
        frames: run.frames,
        dscp: run.dscp,
        from: at(run.from_ns),
        until: at(run.until_ns),
    }
}

#[cfg(test)]
mod tests {
    use fp_model::BurstSpacing;

    use super::*;

    const LOAD: BurstsLoad = BurstsLoad {
        frame_bytes: 1518,
        frames_per_burst: 42,
        bursts: 3,
        period: Duration::from_millis(100),
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    };

    fn sent(burst: u32) -> SentBurst {
        SentBurst {
            burst,
            sent_frames: 42,
            from_ns: 2_000,
            until_ns: 507_000,
            behind_ns: 3_000,
            departures: vec![(0, 2_000), (41, 507_000)],
            within_ns: 700,
            slow: vec![(7, 2, 90_000)],
        }
    }

    fn run(first: u32, frames: u32, from_ns: i64, until_ns: i64) -> ReceivedRun {
        ReceivedRun { first, frames, dscp: None, from_ns, until_ns }
    }

    fn received(burst: u32, runs: Vec<ReceivedRun>) -> ReceivedBurst {
        let received_frames = runs.iter().map(|run| run.frames).sum();
        ReceivedBurst { burst, received_frames, runs, twice: vec![] }
    }

    #[test]
    fn a_burst_of_which_nothing_arrived_is_reported_and_one_left_out_is_not() {
        let runs = vec![run(0, 32, 10_000, 20_000), run(33, 9, 21_000, 22_000)];
        let half = ReceivedBurst { twice: vec![3, 41], ..received(2, runs) };
        let reports = burst_reports(&LOAD, &[sent(0), sent(2)], &[half]).unwrap();
        let [lost, arrived] = reports.as_slice() else { panic!("{reports:?}") };
        assert_eq!((lost.burst, lost.sent_frames, lost.received_frames), (0, 42, 0));
        assert_eq!((arrived.burst, arrived.received_frames), (2, 41));
        assert_eq!(arrived.arrived[1].from, Duration::from_micros(21));
        assert_eq!(arrived.twice, [3, 41]);
        assert_eq!(arrived.sent_until, Duration::from_micros(507));
        assert_eq!(arrived.behind, Duration::from_micros(3));
        let last = Departure { frame: 41, at: Duration::from_micros(507) };
        assert_eq!(arrived.departures.last(), Some(&last));
        assert_eq!(arrived.departures_within, Duration::from_nanos(700));
        let until = Duration::from_micros(90);
        assert_eq!(arrived.slow_calls, [SlowCall { first: 7, frames: 2, until }]);
    }

    #[test]
    fn no_frame_arrives_before_it_left_and_distances_stay() {
        // By the receiver's clock the fastest frame arrived 1 ms before its burst was due, and it
        // left 2 µs after that instant.
        let halves = [
            received(0, vec![run(0, 10, -900_000, -890_000)]),
            received(1, vec![run(0, 10, -1_000_000, -990_000)]),
        ];
        let reports = burst_reports(&LOAD, &[sent(0), sent(1)], &halves).unwrap();
        let from = |burst: usize| reports[burst].arrived[0].from.as_nanos();
        let until = |burst: usize| reports[burst].arrived[0].until.as_nanos();
        assert_eq!((from(1), until(1)), (2_000, 12_000));
        assert_eq!((from(0), until(0)), (102_000, 112_000));
    }

    #[test]
    fn halves_that_were_not_asked_for_are_refused() {
        let backwards = SentBurst { from_ns: 3, until_ns: 2, ..sent(0) };
        let for_ever = SentBurst { until_ns: u64::MAX, ..sent(0) };
        let behind_all = SentBurst { behind_ns: u64::MAX, ..sent(0) };
        let too_many = SentBurst { sent_frames: 43, ..sent(0) };
        let curved = |departures| SentBurst { departures, ..sent(0) };
        let slow = |slow| SentBurst { slow, ..sent(0) };
        for sent in [
            vec![sent(3)],
            vec![sent(1), sent(1)],
            vec![backwards],
            vec![for_ever],
            vec![behind_all],
            vec![too_many],
            vec![SentBurst { within_ns: u64::MAX, ..sent(0) }],
            vec![curved(vec![(0, 0), (42, 1)])],
            vec![curved(vec![(0, 0), (0, 1)])],
            vec![curved(vec![(0, 1), (1, 0)])],
            vec![curved(vec![(0, u64::MAX)])],
            vec![slow(vec![(0, 0, 0)])],
            vec![slow(vec![(0, 2, 0), (1, 1, 0)])],
            vec![slow(vec![(41, 2, 0)])],
            vec![slow(vec![(1, u32::MAX, 0)])],
            vec![slow(vec![(0, 1, u64::MAX)])],
        ] {
            assert_eq!(burst_reports(&LOAD, &sent, &[]), None, "{sent:?}");
        }
        for runs in [
            vec![run(0, 43, 0, 0)],
            vec![run(0, 2, 0, 0), run(1, 2, 0, 0)],
            vec![run(0, 0, 0, 0)],
            vec![run(u32::MAX, 1, 0, 0)],
            vec![run(0, 1, 1, 0)],
            vec![run(0, 1, i64::MIN, 0)],
            vec![run(0, 1, 0, i64::MAX)],
        ] {
            let half = ReceivedBurst { received_frames: 1, ..received(0, runs) };
            assert_eq!(
                burst_reports(&LOAD, &[sent(0)], std::slice::from_ref(&half)),
                None,
                "{half:?}"
            );
        }
        for twice in [vec![42], vec![2, 1], vec![1, 1]] {
            let half = ReceivedBurst { twice, ..received(0, vec![run(0, 42, 0, 0)]) };
            assert_eq!(
                burst_reports(&LOAD, &[sent(0)], std::slice::from_ref(&half)),
                None,
                "{half:?}"
            );
        }
    }
}

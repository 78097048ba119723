//! Joins what both ends saw of a trial into one observation on the near end's clock.

use std::time::Duration;

use fp_model::{
    BurstsLoad, BurstsReport, ConnectionReport, ConnectionsReport, ConnectionsSample, Direction,
    FlowReport, FlowSpec, FramesLoad, FramesReport, Load, ProbedBy, ProbesReport, Sample, Slot,
    TcpLoad, TcpReport, Timing, Trial,
};
use fp_net::stream::{self, Schedule};
use fp_net::swarm;

use super::bursts::burst_reports;
use super::transfer;
use crate::half::{
    BurstsReceiverHalf, BurstsSenderHalf, ConnectionsHalf, ConnectionsSlot, FramesReceiverHalf,
    FramesSenderHalf, Half, ProbesFarHalf, ProbesNearHalf, ReceiverSlot, SenderSlot,
    TcpReceiverHalf, TcpSenderHalf,
};

/// Why two halves make no whole: one of them is not what the trial asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JoinError {
    #[error("it reported {halves} flows of {flows}")]
    Flows { halves: usize, flows: usize },
    #[error("its report on flow {0} is of another kind of load")]
    OtherLoad(usize),
    #[error("its report on flow {0} has another number of slots")]
    Slots(usize),
    #[error("its report on flow {0} has slots that end before they begin")]
    Cuts(usize),
    #[error("its report on flow {0} has bursts or frames that were not asked for")]
    Bursts(usize),
    #[error("its report on flow {0} has another number of connections")]
    Connections(usize),
}

/// What all flows of a trial share.
struct Common {
    timing: Timing,
    grid: Vec<Slot>,
    clock_error: Duration,
}

/// The reports of `trial`'s flows. Both ends began at the same instant, so that times from the
/// start are those of the near end's clock, whichever end took them; between those of different
/// ends lies an unknown `clock_error` at most.
pub(super) fn flow_reports(
    trial: &Trial,
    near: Vec<Half>,
    far: Vec<Half>,
    clock_error: Duration,
) -> Result<Vec<FlowReport>, JoinError> {
    let flows = trial.flows.len();
    if let Some(halves) = [near.len(), far.len()].into_iter().find(|halves| *halves != flows) {
        return Err(JoinError::Flows { halves, flows });
    }
    let common = Common { timing: trial.timing, grid: trial.timing.grid(), clock_error };
    let halves = near.into_iter().zip(far);
    trial
        .flows
        .iter()
        .zip(halves)
        .enumerate()
        .map(|(flow, (spec, (near, far)))| flow_report(flow, spec, &common, near, far))
        .collect()
}

fn flow_report(
    flow: usize,
    spec: &FlowSpec,
    common: &Common,
    near: Half,
    far: Half,
) -> Result<FlowReport, JoinError> {
    let grid = &common.grid;
    match (&spec.load, near, far) {
        (Load::Probes(_), Half::ProbesNear(near), Half::ProbesFar(far)) => {
            Ok(FlowReport::Probes(probes_report(near, &far)))
        }
        (Load::Frames(load), Half::FramesSender(sender), Half::FramesReceiver(receiver))
        | (Load::Frames(load), Half::FramesReceiver(receiver), Half::FramesSender(sender)) => {
            frames_report(flow, (spec.begins, load), common, *sender, *receiver)
                .map(FlowReport::Frames)
        }
        (Load::Bursts(load), Half::BurstsSender(sender), Half::BurstsReceiver(receiver))
        | (Load::Bursts(load), Half::BurstsReceiver(receiver), Half::BurstsSender(sender)) => {
            bursts_report(flow, grid, load, sender, receiver).map(FlowReport::Bursts)
        }
        (Load::Tcp(load), Half::TcpSender(sender), Half::TcpReceiver(receiver))
        | (Load::Tcp(load), Half::TcpReceiver(receiver), Half::TcpSender(sender)) => {
            tcp_report(flow, load, &common.timing, sender, receiver).map(FlowReport::Tcp)
        }
        (Load::Connections(_), Half::Connections(near), Half::Connections(far)) => {
            let (client, server) = match spec.direction {
                Direction::Upload => (*near, *far),
                Direction::Download => (*far, *near),
            };
            connections_report(flow, grid, client, server).map(FlowReport::Connections)
        }
        _ => Err(JoinError::OtherLoad(flow)),
    }
}

fn probes_report(near: ProbesNearHalf, far: &ProbesFarHalf) -> ProbesReport {
    ProbesReport {
        sent: near.sent,
        refused: near.refused,
        arrived: far.arrived,
        answered: near.answered,
        too_big_answers: near.too_big_answers.saturating_add(far.too_big_answers),
        rtt: near.rtt,
        by: ProbedBy::Datagrams,
    }
}

fn frames_report(
    flow: usize,
    (begins, load): (Duration, &FramesLoad),
    common: &Common,
    sender: FramesSenderHalf,
    receiver: FramesReceiverHalf,
) -> Result<FramesReport, JoinError> {
    let series = series(flow, &common.grid, &sender.slots, &receiver.slots)?;
    let schedule = Schedule::begun_after(begins, load, &common.timing);
    let (sent, received) = (sender.frames, receiver.frames);
    Ok(FramesReport {
        corrupt_frames: Some(receiver.unshown.corrupt_frames),
        series: series.into_iter().map(Sample::of_frames).collect(),
        ..stream::frames_report(&schedule, sent, received, common.clock_error)
    })
}

fn bursts_report(
    flow: usize,
    grid: &[Slot],
    load: &BurstsLoad,
    sender: BurstsSenderHalf,
    receiver: BurstsReceiverHalf,
) -> Result<BurstsReport, JoinError> {
    let series = series(flow, grid, &sender.slots, &receiver.slots)?;
    Ok(BurstsReport {
        planned_bursts: sender.planned_bursts,
        out_of_order_frames: receiver.out_of_order_frames,
        duplicate_frames: receiver.duplicate_frames,
        corrupt_frames: receiver.corrupt_frames,
        series: series.into_iter().map(Sample::of_frames).collect(),
        bursts: burst_reports(load, &sender.bursts, &receiver.bursts)
            .ok_or(JoinError::Bursts(flow))?,
    })
}

pub(crate) fn tcp_report(
    flow: usize,
    load: &TcpLoad,
    timing: &Timing,
    mut sender: TcpSenderHalf,
    mut receiver: TcpReceiverHalf,
) -> Result<TcpReport, JoinError> {
    let grid = match load.transfer_bytes() {
        Some(_) => {
            transfer::even_out(timing, &mut sender, &mut receiver).ok_or(JoinError::Slots(flow))?
        }
        None => timing.grid(),
    };
    let connections = sender.connections.len();
    let TcpReceiverHalf { good_bytes, received_segments, dscp_received, .. } = &receiver;
    if [good_bytes.len(), received_segments.len(), dscp_received.len()] != [connections; 3] {
        return Err(JoinError::Connections(flow));
    }
    let known = |ns: Option<u64>| ns.map(Duration::from_nanos);
    let connections = sender.connections.into_iter().enumerate();
    let connections = connections
        .map(|(index, sent)| ConnectionReport {
            good_bytes: good_bytes[index],
            transmitted_bytes: Some(sent.transmitted_bytes),
            retransmitted_bytes: Some(sent.retransmitted_bytes),
            rtt_mean: known(sent.rtt_mean_ns),
            rtt_min: known(sent.rtt_min_ns),
            window_effective_bytes: sent.window_effective_bytes,
            segment_bytes: sent.segment_bytes,
            congestion_control: sent.congestion_control,
            receive_window_limited: known(sent.receive_window_limited_ns),
            send_buffer_limited: known(sent.send_buffer_limited_ns),
            busy: known(sent.busy_ns),
            sent_segments: sent.sent_segments,
            received_segments: received_segments[index],
            dscp_received: dscp_received[index],
        })
        .collect();
    Ok(TcpReport {
        connections,
        series: series(flow, &grid, &sender.slots, &receiver.slots)?,
        whole_good_bytes: receiver.whole_good_bytes,
        whole_until: Duration::from_nanos(receiver.whole_until_ns),
    })
}

/// Each end has cut its slots itself, on time unless its host took the processor away.
fn connections_report(
    flow: usize,
    grid: &[Slot],
    client: ConnectionsHalf,
    server: ConnectionsHalf,
) -> Result<ConnectionsReport, JoinError> {
    let report = client.client.filter(|_| server.client.is_none());
    let report = report.ok_or(JoinError::OtherLoad(flow))?;
    let count = client.slots.len();
    let is_right = match report.stopped {
        Some(_) => (1..=grid.len()).contains(&count) && server.slots.len() <= grid.len(),
        None => [count, server.slots.len()] == [grid.len(); 2],
    };
    if !is_right {
        return Err(JoinError::Slots(flow));
    }
    let server_slots = cut_to(count, server.slots);
    let until = report.stopped.map_or(Duration::MAX, |stopped| stopped.until);
    let seen = grid.iter().zip(client.slots.iter().zip(&server_slots));
    let series = seen.map(|(slot, (client, server))| {
        counted(slot.start, slot.end.min(until).max(slot.start), client, server)
    });
    Ok(swarm::joined(report, &server.counters, series.collect()))
}

/// As many slots as the client's end has: who serves is told of an early end when that is over, and
/// then hears the last of it.
fn cut_to(count: usize, mut slots: Vec<ConnectionsSlot>) -> Vec<ConnectionsSlot> {
    let later = slots.split_off(count.min(slots.len()));
    if let Some(last) = slots.last_mut() {
        *last = later.into_iter().fold(*last, ConnectionsSlot::and);
    }
    slots.resize(count, ConnectionsSlot::default());
    slots
}

/// What both ends saw of many connections from one time to another.
pub(super) fn counted(
    from: Duration,
    until: Duration,
    client: &ConnectionsSlot,
    server: &ConnectionsSlot,
) -> ConnectionsSample {
    ConnectionsSample {
        at: from,
        lasts: until - from,
        active: client.active,
        pending: client.pending,
        attempted: client.attempted,
        established: client.established,
        closed: client.closed,
        failed: client.failed,
        transactions: client.transactions,
        upload_good_bytes: server.received_bytes,
        download_good_bytes: client.received_bytes,
    }
}

/// One sample for each slot that had a duration at the receiver: a thread that came late has cut
/// several at the same instant, and their sums go to a neighbour of the same phase.
pub(crate) fn series(
    flow: usize,
    grid: &[Slot],
    sent: &[SenderSlot],
    received: &[ReceiverSlot],
) -> Result<Vec<Sample>, JoinError> {
    if sent.len() != grid.len() || received.len() != grid.len() {
        return Err(JoinError::Slots(flow));
    }
    let mut samples: Vec<Sample> = Vec::with_capacity(grid.len());
    let mut cut_ns = 0;
    for ((slot, sent), received) in grid.iter().zip(sent).zip(received) {
        let lasts_ns = received.cut_ns.checked_sub(cut_ns).ok_or(JoinError::Cuts(flow))?;
        let (at, lasts) = (Duration::from_nanos(cut_ns), Duration::from_nanos(lasts_ns));
        cut_ns = received.cut_ns;
        let sample = sample(at, lasts, slot.steady, sent, received);
        match samples.last_mut() {
            Some(last) if may_join(last, &sample) => *last = last.and(sample),
            _ => samples.push(sample),
        }
    }
    Ok(spread_over_phases(samples))
}

/// What both ends saw of one time.
pub(super) fn sample(
    at: Duration,
    lasts: Duration,
    steady: bool,
    sent: &SenderSlot,
    received: &ReceiverSlot,
) -> Sample {
    Sample {
        at,
        lasts,
        steady,
        sent_bytes: Some(sent.sent_bytes),
        received_bytes: Some(received.received_bytes),
        retransmitted_bytes: Some(sent.retransmitted_bytes),
        rtt: sent.rtt_ns.map(Duration::from_nanos),
        cwnd_bytes: sent.cwnd_bytes,
        active_connections: received.active_connections,
    }
}

fn may_join(last: &Sample, next: &Sample) -> bool {
    last.steady == next.steady && (last.lasts.is_zero() || next.lasts.is_zero())
}

/// A whole phase without duration can only go to the phase before it, or after the first.
fn spread_over_phases(samples: Vec<Sample>) -> Vec<Sample> {
    let mut spread: Vec<Sample> = Vec::with_capacity(samples.len());
    for sample in samples {
        match spread.last_mut() {
            Some(last) if sample.lasts.is_zero() => *last = last.and(sample),
            Some(last) if last.lasts.is_zero() => {
                *last = Sample { steady: sample.steady, ..last.and(sample) };
            }
            _ => spread.push(sample),
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use fp_model::StoppedConnections;
    use proptest::prelude::*;

    use super::*;

    fn grid() -> Vec<Slot> {
        // Two slots of warm-up, four steady, one for what comes after.
        let timing = Timing {
            warm_up: Duration::from_millis(100),
            steady: Duration::from_millis(200),
            settle: Duration::from_millis(50),
        };
        timing.grid()
    }

    fn slots(cuts_ms: [u64; 7]) -> (Vec<SenderSlot>, Vec<ReceiverSlot>) {
        let sent = (0..7).map(|k| SenderSlot {
            sent_bytes: 1 << k,
            retransmitted_bytes: 1 << (k + 8),
            rtt_ns: (k % 2 == 0).then_some(k),
            cwnd_bytes: Some(k),
        });
        let received = cuts_ms.iter().enumerate().map(|(k, cut_ms)| ReceiverSlot {
            cut_ns: cut_ms * 1_000_000,
            received_bytes: 1 << (k + 16),
            active_connections: None,
        });
        (sent.collect(), received.collect())
    }

    fn series_of(cuts_ms: [u64; 7]) -> Vec<Sample> {
        let (sent, received) = slots(cuts_ms);
        series(0, &grid(), &sent, &received).unwrap()
    }

    #[test]
    fn a_punctual_receiver_gives_one_sample_for_each_slot() {
        let samples = series_of([50, 100, 150, 200, 250, 300, 350]);
        assert_eq!(samples.len(), 7);
        assert_eq!(samples[2].at, Duration::from_millis(100));
        assert!(samples[2].steady && !samples[1].steady && !samples[6].steady);
        assert_eq!(samples[2].sent_bytes, Some(4));
        assert_eq!(samples[2].received_bytes, Some(4 << 16));
        assert_eq!(samples[2].rtt, Some(Duration::from_nanos(2)));
    }

    #[test]
    fn slots_that_a_late_thread_cut_at_once_become_one_sample_of_their_phase() {
        // The thread slept from 100 to 240 ms and cut slots 2, 3 at once.
        let samples = series_of([50, 100, 240, 240, 250, 300, 350]);
        assert_eq!(samples.len(), 6);
        assert_eq!(samples[2].sent_bytes, Some(4 + 8));
        assert_eq!(samples[2].lasts, Duration::from_millis(140));
        assert_eq!(samples[2].cwnd_bytes, Some(3));
        assert_eq!(samples[2].rtt, Some(Duration::from_nanos(2)));
    }

    #[test]
    fn a_late_cut_between_phases_leaves_each_phase_its_own_bytes() {
        // Slots 1 (warm-up) and 2 (steady) were both cut at 160 ms.
        let samples = series_of([50, 160, 160, 200, 250, 300, 350]);
        let of = |steady: bool| -> u64 {
            samples.iter().filter(|s| s.steady == steady).filter_map(|s| s.sent_bytes).sum()
        };
        assert_eq!(of(true), 4 + 8 + 16 + 32);
        assert_eq!(of(false), 1 + 2 + 64);
        assert_eq!(samples[2].at, Duration::from_millis(160));
        assert_eq!(samples[2].lasts, Duration::from_millis(40));
    }

    /// The client's end was done 20 ms into the third slot, the server's in the fourth.
    #[test]
    fn what_was_stopped_has_the_slots_of_the_client() {
        let slot = |closed| ConnectionsSlot { closed, received_bytes: 1, ..Default::default() };
        let millis = Duration::from_millis;
        let stopped =
            StoppedConnections { at: millis(60), until: millis(120), ..Default::default() };
        let report = ConnectionsReport { stopped: Some(stopped), ..ConnectionsReport::default() };
        let half = |client: Option<&ConnectionsReport>, slots| ConnectionsHalf {
            client: client.cloned(),
            slots: vec![slot(5); slots],
            ..ConnectionsHalf::default()
        };
        let joined = |client: &ConnectionsReport, slots: [usize; 2]| {
            connections_report(3, &grid(), half(Some(client), slots[0]), half(None, slots[1]))
        };
        for (server_slots, upload) in [(4, [1, 1, 2]), (3, [1, 1, 1]), (2, [1, 1, 0]), (0, [0; 3])]
        {
            let series = joined(&report, [3, server_slots]).unwrap().series;
            let ends: Vec<_> = series.iter().map(|slot| slot.at + slot.lasts).collect();
            assert_eq!(ends, [50, 100, 120].map(millis));
            assert_eq!(series.iter().map(|slot| slot.closed).sum::<u64>(), 15);
            let arrived: Vec<u64> = series.iter().map(|slot| slot.upload_good_bytes).collect();
            assert_eq!(arrived, upload, "{server_slots}");
        }
        for slots in [[8, 7], [3, 8], [0, 3]] {
            assert_eq!(joined(&report, slots), Err(JoinError::Slots(3)));
        }
        // Who was not stopped has all of them.
        let whole = ConnectionsReport::default();
        assert!(joined(&whole, [7, 7]).is_ok());
        assert_eq!(joined(&whole, [7, 3]), Err(JoinError::Slots(3)));
        assert_eq!(joined(&whole, [3, 7]), Err(JoinError::Slots(3)));
    }

    #[test]
    fn halves_that_do_not_fit_are_refused() {
        let (sent, received) = slots([50, 100, 90, 200, 250, 300, 350]);
        assert_eq!(series(3, &grid(), &sent, &received), Err(JoinError::Cuts(3)));
        assert_eq!(series(3, &grid(), &sent[1..], &received), Err(JoinError::Slots(3)));
        assert_eq!(series(3, &grid(), &sent, &[]), Err(JoinError::Slots(3)));
    }

    proptest! {
        #[test]
        fn no_sample_is_empty_of_time_and_the_sums_are_the_totals(
            steps in prop::array::uniform7(prop_oneof![Just(0_u64), 1_u64..200]),
        ) {
            prop_assume!(steps.iter().any(|step| *step > 0));
            let mut cut = 0;
            let cuts = steps.map(|step| { cut += step; cut });
            let samples = series_of(cuts);
            prop_assert!(samples.iter().all(|sample| !sample.lasts.is_zero()));
            prop_assert!(samples.windows(2).all(|pair| pair[0].at + pair[0].lasts == pair[1].at));
            let sum = |of: fn(&Sample) -> Option<u64>| samples.iter().map(of).sum::<Option<u64>>();
            prop_assert_eq!(sum(|s| s.sent_bytes), Some(127));
            prop_assert_eq!(sum(|s| s.retransmitted_bytes), Some(127 << 8));
            prop_assert_eq!(sum(|s| s.received_bytes), Some(127 << 16));
            let end = samples.last().map(|last| last.at + last.lasts);
            prop_assert_eq!(end, Some(Duration::from_millis(cut)));
        }
    }
}

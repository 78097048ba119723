//! What no honest pair of ends can count: more received than was sent, parts larger than their whole.

use alloc::format;
use alloc::string::String;

use fp_model::{
    BurstsReport, ConnectionsReport, FlowReport, FramesReport, Observation, ProbesReport, Sample,
    TcpReport, Trial,
};

/// The first contradiction among the counts of a trial, in words; `None` where they agree.
///
/// What an end does not count is not compared. Times are not looked at: two clocks may differ.
pub(crate) fn contradiction(trial: &Trial, seen: &Observation) -> Option<String> {
    trial.flows.iter().zip(&seen.flows).find_map(|(flow, report)| {
        let said = match report {
            FlowReport::Probes(report) => of_probes(report),
            FlowReport::Frames(report) => of_frames(report),
            FlowReport::Bursts(report) => of_bursts(report),
            FlowReport::Tcp(report) => of_tcp(report),
            FlowReport::Connections(report) => of_connections(report),
        }?;
        Some(format!("{}, {}: {said}", trial.name, flow.direction))
    })
}

/// `what` says what the first count is of, `whole` what it is a part of.
fn exceeds((part, what): (u64, &str), (most, whole): (u64, &str)) -> Option<String> {
    (part > most).then(|| format!("{part} {what} of {most} {whole}"))
}

fn of_probes(report: &ProbesReport) -> Option<String> {
    let ProbesReport { sent, arrived, answered, .. } = *report;
    exceeds((arrived, "probes arrived"), (sent, "sent"))
        .or_else(|| exceeds((answered, "probes answered"), (arrived, "that arrived")))
}

fn of_frames(report: &FramesReport) -> Option<String> {
    let FramesReport { planned_frames, sent_frames, received_frames, .. } = *report;
    let bytes = || {
        let received = (report.received_bytes, "bytes received");
        exceeds(received, (report.sent_bytes, "sent"))
    };
    exceeds((sent_frames, "frames sent"), (planned_frames, "planned"))
        .or_else(|| exceeds((received_frames, "frames received"), (sent_frames, "sent")))
        .or_else(bytes)
        .or_else(|| unaccounted(report))
        .or_else(|| {
            let marked = sum(report.dscp_received.iter().map(|count| count.frames));
            exceeds((marked, "code points"), (received_frames, "frames received"))
        })
        .or_else(|| of_series(&report.series))
}

/// Each frame sent was received or is among the losses, which are found one by one.
fn unaccounted(report: &FramesReport) -> Option<String> {
    let lost = sum(report.lossy_seconds.as_ref()?.iter().map(|second| second.lost_frames));
    let (sent, received) = (report.sent_frames, report.received_frames);
    (received.saturating_add(lost) != sent)
        .then(|| format!("{sent} frames sent, {received} received and {lost} found missing"))
}

fn of_bursts(report: &BurstsReport) -> Option<String> {
    let burst = report.bursts.iter().find_map(|burst| {
        let [sent, received] = [burst.sent_frames, burst.received_frames].map(u64::from);
        let runs = sum(burst.arrived.iter().map(|run| u64::from(run.frames)));
        exceeds((received, "frames of a burst received"), (sent, "sent"))
            .or_else(|| exceeds((runs, "frames listed"), (received, "received in a burst")))
    });
    let planned = u64::from(report.planned_bursts);
    exceeds((report.bursts.len() as u64, "bursts sent"), (planned, "planned"))
        .or(burst)
        .or_else(|| of_series(&report.series))
}

fn of_tcp(report: &TcpReport) -> Option<String> {
    let steady = sum(report.connections.iter().map(|each| each.good_bytes));
    let resent = report.connections.iter().find_map(|each| {
        let (resent, all) = (each.retransmitted_bytes?, each.transmitted_bytes?);
        exceeds((resent, "bytes retransmitted"), (all, "transmitted"))
    });
    exceeds((steady, "bytes of the steady time"), (report.whole_good_bytes, "of the whole"))
        .or(resent)
        .or_else(|| of_series(&report.series))
}

/// What had arrived when the steady time was over had been sent by the end of the trial. What comes
/// later is left out: in a trial that ends before its connections have drained, the receiver may count
/// what a kernel has sent since its sender's last look.
fn of_series(series: &[Sample]) -> Option<String> {
    let until = series.iter().rposition(|slot| slot.steady)? + 1;
    let mut sent = series.iter().map(|slot| slot.sent_bytes);
    let sent = sent.try_fold(0_u64, |sum, bytes| Some(sum.saturating_add(bytes?)))?;
    let received = sum(series[..until].iter().filter_map(|slot| slot.received_bytes));
    exceeds((received, "bytes received"), (sent, "sent"))
}

fn of_connections(report: &ConnectionsReport) -> Option<String> {
    let ConnectionsReport { attempted, established, closed, given_up, failed, .. } = *report;
    let answered = sum([established, failed.no_answer, failed.refused, given_up]);
    let ended = sum([closed, failed.reset, failed.timed_out]);
    let series = |of: fn(&fp_model::ConnectionsSample) -> u64| sum(report.series.iter().map(of));
    exceeds((answered, "connections settled"), (attempted, "attempted"))
        .or_else(|| exceeds((ended, "connections ended"), (established, "established")))
        .or_else(|| {
            let peak = u64::from(report.active_peak);
            exceeds((peak, "connections open at once"), (established, "established"))
        })
        .or_else(|| {
            let listed = series(|slot| slot.established);
            exceeds((listed, "connections listed"), (established, "established"))
        })
}

/// Of counts that an end may have made up.
fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;
    use core::time::Duration;

    use fp_model::{
        BurstReport, ConnectionReport, Direction, Dscp, Family, FlowSpec, Load, LossySecond,
        ProbesLoad, Timing,
    };

    use super::*;

    fn said(report: FlowReport) -> Option<String> {
        let second = Duration::from_secs(1);
        let probes =
            ProbesLoad { packet_bytes: 100, answer_bytes: 100, count: 1, interval: second };
        let load = Load::Probes(probes);
        let flow = FlowSpec::new(Direction::Upload, Family::Ipv4, Dscp::BEST_EFFORT, load);
        let timing = Timing { warm_up: Duration::ZERO, steady: second, settle: Duration::ZERO };
        let trial = Trial { name: "any".into(), flows: vec![flow], timing };
        contradiction(&trial, &Observation { flows: vec![report], ..Observation::default() })
    }

    /// Ten frames sent, these received, these found missing.
    fn frames(received_frames: u64, lost_frames: Option<u64>) -> FlowReport {
        let second = |lost_frames| LossySecond { second: 0, sent_frames: 10, lost_frames };
        FlowReport::Frames(FramesReport {
            planned_frames: 10,
            sent_frames: 10,
            sent_bytes: 10_000,
            received_frames,
            received_bytes: received_frames * 1000,
            lossy_seconds: lost_frames.map(|lost| vec![second(lost)]),
            ..FramesReport::default()
        })
    }

    #[test]
    fn no_more_frames_are_received_than_sent_and_each_is_accounted_for() {
        for (received, lost) in [(10, Some(0)), (10, None), (7, Some(3)), (0, None)] {
            assert_eq!(said(frames(received, lost)), None, "{received}, {lost:?}");
        }
        for (received, lost) in [(11, None), (11, Some(0)), (10, Some(1)), (7, Some(2))] {
            assert!(said(frames(received, lost)).is_some(), "{received}, {lost:?}");
        }
        let text = said(frames(12, None)).unwrap();
        assert_eq!(text, "any, upload: 12 frames received of 10 sent");
        let FlowReport::Frames(report) = frames(10, None) else { panic!("frames") };
        let heavier = FramesReport { received_bytes: 10_001, ..report.clone() };
        assert!(said(FlowReport::Frames(heavier)).is_some());
        let unplanned = FramesReport { planned_frames: 9, ..report };
        assert!(said(FlowReport::Frames(unplanned)).is_some());
    }

    #[test]
    fn an_answer_comes_from_a_probe_that_arrived_and_that_from_one_that_was_sent() {
        let probes = |sent, arrived, answered| {
            said(FlowReport::Probes(ProbesReport {
                sent,
                arrived,
                answered,
                ..ProbesReport::default()
            }))
        };
        assert_eq!(probes(20, 19, 18), None);
        assert!(probes(20, 21, 18).is_some() && probes(20, 18, 19).is_some());
    }

    #[test]
    fn no_burst_grows_on_the_way() {
        let bursts = |received_frames| {
            let burst = BurstReport { sent_frames: 5, received_frames, ..BurstReport::default() };
            said(FlowReport::Bursts(BurstsReport {
                planned_bursts: 1,
                bursts: vec![burst],
                ..BurstsReport::default()
            }))
        };
        assert_eq!((bursts(0), bursts(5)), (None, None));
        assert!(bursts(6).is_some());
    }

    /// Slots of the steady time, and one after it.
    fn tcp(sent: [u64; 3], received: [u64; 3], steady: u64, whole: u64) -> Option<String> {
        let slot = |place: usize| Sample {
            steady: place < 2,
            sent_bytes: Some(sent[place]),
            received_bytes: Some(received[place]),
            ..Sample::default()
        };
        let connection = ConnectionReport { good_bytes: steady, ..ConnectionReport::default() };
        said(FlowReport::Tcp(TcpReport {
            connections: vec![connection],
            series: (0..3).map(slot).collect(),
            whole_good_bytes: whole,
            ..TcpReport::default()
        }))
    }

    #[test]
    fn a_stream_carries_what_was_written_to_it() {
        assert_eq!(tcp([10, 10, 0], [8, 10, 2], 18, 20), None);
        // Sent after its sender's last look.
        assert_eq!(tcp([10, 10, 0], [8, 10, 5], 18, 23), None);
        assert!(tcp([10, 10, 0], [10, 11, 0], 20, 21).is_some());
        // A counter that went backwards: the steady part is larger than the whole.
        assert!(tcp([10, 10, 0], [8, 10, 2], 18, 17).is_some());
        // What wraps is larger than anything that was sent.
        assert!(tcp([10, 10, 0], [u64::MAX, u64::MAX, 0], 0, 0).is_some());
    }

    #[test]
    fn connections_end_once_and_only_if_they_began() {
        let connections = |report: ConnectionsReport| said(FlowReport::Connections(report));
        let whole = ConnectionsReport {
            attempted: 10,
            established: 8,
            given_up: 2,
            closed: 8,
            active_peak: 8,
            ..ConnectionsReport::default()
        };
        assert_eq!(connections(whole.clone()), None);
        let lies: Vec<ConnectionsReport> = vec![
            ConnectionsReport { given_up: 3, ..whole.clone() },
            ConnectionsReport { closed: 9, ..whole.clone() },
            ConnectionsReport { active_peak: 9, ..whole },
        ];
        assert!(lies.into_iter().all(|lie| connections(lie).is_some()));
    }
}

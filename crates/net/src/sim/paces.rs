//! Flows with a pace and a beginning of their own, in virtual time.

use alloc::string::String;
use alloc::{vec, vec::Vec};
use core::time::Duration;

use fp_model::{
    CongestionControl, Direction, Dscp, Ecn, EcnCount, Family, FlowReport, FlowSpec, FrameSizes,
    FramesLoad, FramesReport, Load, Pace, Rate, Sample, Sender, Step, TcpEngine, TcpLoad,
    TcpReport, Testbed as _, Timing, Trial,
};

use crate::path::{LinkSpec, PathSpec};
use crate::sim::SimTestbed;

const TIMING: Timing = Timing {
    warm_up: Duration::ZERO,
    steady: Duration::from_secs(4),
    settle: Duration::from_secs(1),
};
const SEGMENT_BYTES: u64 = 1448;

/// A line that takes 10 ms each way.
fn line(rate: Rate) -> PathSpec {
    let delay = Duration::from_millis(10);
    PathSpec::symmetric(
        "test",
        vec![LinkSpec { line_rate: Some(rate), delay, ..LinkSpec::default() }],
    )
}

fn run(path: &PathSpec, flow: FlowSpec) -> Result<FlowReport, String> {
    let trial = Trial { name: String::from("test"), flows: vec![flow], timing: TIMING };
    let seen = SimTestbed::new(path, 1).run(&trial).map_err(|abort| alloc::format!("{abort}"))?;
    seen.flows.into_iter().next().ok_or_else(String::new)
}

fn flow(load: Load) -> FlowSpec {
    FlowSpec::new(Direction::Download, Family::Ipv4, Dscp::new(10).unwrap(), load)
}

fn paced(pace: Pace) -> TcpLoad {
    TcpLoad {
        connections: 2,
        window_bytes: 1_000_000,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    }
}

fn tcp(path: &PathSpec, flow: FlowSpec) -> TcpReport {
    match run(path, flow) {
        Ok(FlowReport::Tcp(report)) => report,
        other => panic!("{other:?}"),
    }
}

fn frames(flow: FlowSpec) -> FramesReport {
    match run(&line(Rate::mbps(1000)), flow) {
        Ok(FlowReport::Frames(report)) => report,
        other => panic!("{other:?}"),
    }
}

fn step(mbps: u64, millis: u64) -> Step {
    Step { rate: Rate::mbps(mbps), lasts: Duration::from_millis(millis) }
}

fn sent_by(series: &[Sample], end: Duration) -> u64 {
    series.iter().filter(|sample| sample.at < end).filter_map(|sample| sample.sent_bytes).sum()
}

#[test]
fn an_application_with_a_pace_has_sent_by_each_slot_what_it_asks_for() {
    // Up from 20 to 96 Mbit/s and down again in slots of 50 ms.
    let up = (5..25).map(|k| step(4 * k, 50));
    let steps: Vec<Step> = up.clone().chain(up.rev()).collect();
    let target = |slots: usize| -> u64 {
        steps.iter().cycle().take(slots).map(|step| step.rate.bytes_in(step.lasts)).sum()
    };
    let pace = Pace::Steps { steps: steps.clone() };
    let report = tcp(&line(Rate::mbps(1000)), flow(Load::Tcp(paced(pace))));
    // The first 0.5 s are slow start's: 20 Mbit/s need a window of 50,000 bytes.
    for slots in 10..40 {
        let sent = sent_by(&report.series, Duration::from_millis(50 * slots as u64));
        let due = 2 * target(slots);
        // Less than a segment of each connection waits for the rest of it.
        assert!(sent <= due && due - sent < 2 * SEGMENT_BYTES, "{sent} of {due} in {slots} slots");
    }
    let connection = &report.connections[0];
    // 10 ms of 20 Mbit/s are on their way when the steady time ends: 17 segments.
    let on_their_way = connection.sent_segments.unwrap() - connection.received_segments.unwrap();
    assert!((16..=18).contains(&on_their_way), "{on_their_way}");
    assert_eq!(connection.dscp_received, Dscp::new(10));
}

#[test]
fn what_finds_no_room_when_it_is_due_is_not_sent_later() {
    // 1 s of twice 20 Mbit/s over a line of 10, then of twice 1 Mbit/s. What waits in the buffers
    // when the rate falls, 2 · (200,000 + 131,072) bytes, has left at 9.4 - 2 Mbit/s 0.72 s later,
    // and what room that makes within 0.1 s for what was due then, a tenth as much, soon after.
    let pace = Pace::Steps { steps: vec![step(20, 1000), step(1, 1)] };
    let load = TcpLoad { window_bytes: 200_000, ..paced(pace) };
    let report = tcp(&line(Rate::mbps(10)), flow(Load::Tcp(load)));
    let late = report.series.iter().filter(|sample| sample.at >= Duration::from_secs(2));
    let late = late.filter(|sample| sample.steady);
    let received: u64 = late.filter_map(|sample| sample.received_bytes).sum();
    // Two seconds of 2 Mbit/s; what was owed would be 3 MB.
    assert!(received.abs_diff(500_000) < 5 * SEGMENT_BYTES, "{received}");
}

#[test]
fn no_flow_sends_before_it_begins() {
    let begins = Duration::from_millis(1500);
    let rate = Rate::mbps(10);
    let paces = [Pace::Unlimited, Pace::Constant { rate }];
    let tcp_loads = paces.into_iter().map(|pace| Load::Tcp(paced(pace)));
    let pace = Pace::Constant { rate };
    let frames = Load::Frames(FramesLoad::new(FrameSizes::fixed(1000), pace));
    for load in tcp_loads.chain([frames]) {
        let report = run(&line(rate), FlowSpec { begins, ..flow(load) }).unwrap();
        let series = match &report {
            FlowReport::Tcp(report) => &report.series,
            FlowReport::Frames(report) => &report.series,
            other => panic!("{other:?}"),
        };
        assert_eq!(sent_by(series, begins), 0);
        assert!(sent_by(series, begins + Duration::from_millis(100)) > 0);
    }
}

#[test]
fn frames_by_chance_come_at_their_mean_rate_and_all_arrive() {
    // 1,250 frames of 1,000 bytes a second: 5,000 ± 6 · √5000 in 4 s.
    let pace = Pace::Poisson { rate: Rate::mbps(10), seed: 3 };
    let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(1000), pace));
    let report = frames(FlowSpec { ecn: Ecn::Ect0, ..flow(load) });
    assert!(report.planned_frames.abs_diff(5000) < 425, "{}", report.planned_frames);
    assert_eq!(report.sent_frames, report.planned_frames);
    assert_eq!(report.received_frames, report.sent_frames);
    let ecn = EcnCount { ecn: Some(Ecn::Ect0), frames: report.received_frames };
    assert_eq!(report.ecn_received, [ecn]);
    assert_eq!(report.gaps.lateness.max, Duration::ZERO);
}

#[test]
fn what_a_flow_cannot_be_is_refused() {
    let refused = |flow| run(&line(Rate::mbps(10)), flow).unwrap_err();
    let bulk = || flow(Load::Tcp(paced(Pace::Unlimited)));
    let ecn = Ecn::Ect0;
    assert!(refused(FlowSpec { ecn, ..bulk() }).contains("TCP negotiates ECN"));
    let begins = Duration::from_secs(4);
    assert!(refused(FlowSpec { begins, ..bulk() }).contains("when the trial is over"));
    let pace = Pace::Constant { rate: Rate::mbps(1) };
    let bursty = TcpLoad { sender: Sender::Burst, ..paced(pace) };
    assert!(refused(flow(Load::Tcp(bursty))).contains("only a bulk application"));
    let sizes = FrameSizes::fixed(1000);
    let unpaced = Load::Frames(FramesLoad::new(sizes, Pace::Unlimited));
    assert!(refused(flow(unpaced)).contains("frames need a pace"));
}

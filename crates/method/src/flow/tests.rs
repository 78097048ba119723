//! Rates by layer, link usage, profiles and verdicts of flows whose figures are known.

use core::time::Duration;

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use fp_model::{
    CongestionControl, ConnectionReport, Deviations, Direction, Dscp, DscpCount, Emulation,
    Evidence, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, FramesReport, Gaps, Load,
    LossySecond, Observation, Pace, PacketLayout, Rate, Replay, Sample, Sender, TcpEngine, TcpLoad,
    TcpReport, TesterHealth, Timing,
};

use super::verdict::is_met;
use super::*;
use crate::formula::profile::{Profile, Wave};
use crate::reason::Code;
use crate::verdict::Status;

const SECOND: Duration = Duration::from_secs(1);

fn plan(load: Load, family: Family) -> Plan {
    let spec = FlowSpec::new(Direction::Upload, family, Dscp::BEST_EFFORT, load);
    Plan {
        path: Vec::new(),
        flows: vec![PlannedFlow { name: "one".into(), class: None, spec }],
        timing: Timing { warm_up: Duration::ZERO, steady: SECOND, settle: SECOND },
        lines: Lines { download: None, upload: Some(Rate::mbps(100)) },
        profile: None,
        criteria: Criteria::default(),
    }
}

fn udp(payload_bytes: u32, family: Family) -> Load {
    let frame_bytes = payload_bytes + PacketLayout::udp_headers_bytes(family, 0);
    let pace = Pace::Constant { rate: Rate::mbps(95) };
    Load::Frames(FramesLoad::new(FrameSizes::fixed(frame_bytes), pace))
}

fn tcp(mss_bytes: u32) -> Load {
    Load::Tcp(TcpLoad {
        connections: 1,
        window_bytes: 1_000_000,
        mss_bytes,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Cubic,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    })
}

/// The report of a run in which this was seen.
fn judged(plan: &Plan, flow: FlowReport) -> Report {
    judged_all(plan, vec![flow])
}

fn judged_all(plan: &Plan, flows: Vec<FlowReport>) -> Report {
    judged_by(plan, Observation { flows, ..Observation::default() })
}

fn judged_by(plan: &Plan, observation: Observation) -> Report {
    let evidence = Evidence { trial: trial(plan), observation };
    let (report, end) = run(plan, &mut Replay::of(vec![evidence]));
    end.unwrap();
    report
}

fn first(report: &Report) -> &FlowStep {
    let Some(Step::Flow(flow)) = report.steps.first() else { panic!("{report:?}") };
    flow
}

/// A second at 1 Gbit/s of whole seconds would hide a rounding: so many frames in a second.
fn frames_seen(frames: u64, frame_bytes: u64) -> FramesReport {
    FramesReport {
        planned_frames: frames,
        sent_frames: frames,
        sent_bytes: frames * frame_bytes,
        received_frames: frames,
        received_bytes: frames * frame_bytes,
        sent_in: SECOND,
        received_in: Some(SECOND),
        ..FramesReport::default()
    }
}

/// Bytes of frame and bytes on the line for each byte of payload, of full packets: the headers are
/// 18 of Ethernet, 20 or 40 of IP, 8 of UDP or 20 of TCP, and 20 of preamble and gap.
#[test]
fn link_usage_coefficients_are_exact() {
    let coefficients = |step: &FlowStep| {
        let rates = step.received.rates;
        let l4 = rates.l4.as_bps() as f64;
        [rates.l2.as_bps() as f64 / l4, rates.l1.as_bps() as f64 / l4]
    };
    for (family, payload, l2, l1) in
        [(Family::Ipv4, 1472, 1.03125, 1.044_837), (Family::Ipv6, 1452, 1.045_455, 1.059_229)]
    {
        let report = judged(
            &plan(udp(payload, family), family),
            FlowReport::Frames(frames_seen(8_000, 1518)),
        );
        let got = coefficients(first(&report));
        assert!((got[0] - l2).abs() < 1e-6 && (got[1] - l1).abs() < 1e-6, "{got:?}");
        // 8,000 frames of 1518 bytes in a second of 100 Mbit/s.
        let usage = first(&report).link_usage_l2_percent.unwrap();
        assert!((usage - 97.152).abs() < 1e-3, "{usage}");
    }
    for (family, segment, l2, l1) in
        [(Family::Ipv4, 1460, 1.039_726, 1.053_425), (Family::Ipv6, 1440, 1.054_167, 1.068_056)]
    {
        // Without options, as the application note counts.
        let report = judged(&plan(tcp(segment), family), tcp_seen(segment, 11_680_000));
        let got = coefficients(first(&report));
        assert!((got[0] - l2).abs() < 1e-6 && (got[1] - l1).abs() < 1e-6, "{got:?}");
    }
}

fn tcp_seen(segment_bytes: u32, received_bytes: u64) -> FlowReport {
    let slot = Sample {
        lasts: SECOND,
        steady: true,
        sent_bytes: Some(received_bytes),
        received_bytes: Some(received_bytes),
        ..Sample::default()
    };
    let connection =
        ConnectionReport { segment_bytes: Some(segment_bytes), ..ConnectionReport::default() };
    FlowReport::Tcp(TcpReport {
        connections: vec![connection],
        series: vec![slot],
        ..TcpReport::default()
    })
}

/// Of two flows the second one waits in a queue until the first is through: 8,000 packets come in the
/// second that both send, 400 in the 50 ms after it.
#[test]
fn what_comes_when_the_others_are_through_came_in_longer_than_each_took() {
    let mut plan = plan(udp(1472, Family::Ipv4), Family::Ipv4);
    plan.flows.push(plan.flows[0].clone());
    let millis = Duration::from_millis;
    let first = FramesReport { first_arrived: Some(millis(10)), ..frames_seen(8_000, 1518) };
    let second = FramesReport {
        received_in: Some(millis(50)),
        first_arrived: Some(millis(1010)),
        ..frames_seen(400, 1518)
    };
    let report = judged_all(&plan, [first, second].map(FlowReport::Frames).to_vec());
    let Some(Step::Flow(all)) = report.steps.last() else { panic!("{report:?}") };
    assert_eq!((all.part, all.received.lasts), (Part::Sum, millis(1050)));
    // 8,400 frames of 1,538 bytes in 1.05 s.
    let l1 = all.received.rates.l1.as_bps() as f64;
    assert!((l1 / 98.432e6 - 1.0).abs() < 1e-6, "{l1}");
    assert!(!report.verdict.reasons.iter().any(|reason| reason.code == Code::AboveLine));
}

#[test]
fn a_path_that_cuts_segments_has_not_longer_options() {
    // 1348 of payload, 12 of options, 20 and 20 of headers: a packet of 1400.
    let report = judged(&plan(tcp(1460), Family::Ipv4), tcp_seen(1348, 1_348_000));
    let rates = first(&report).received.rates;
    assert_eq!(rates.l3.as_bps() * 1348, rates.l4.as_bps() * 1400);
}

#[test]
fn packets_that_nobody_accounts_for_make_a_run_invalid() {
    let seen = |received, lost| {
        let lossy = LossySecond { second: 0, sent_frames: 100, lost_frames: lost };
        let report = FramesReport {
            received_frames: received,
            lossy_seconds: Some(vec![lossy]),
            ..frames_seen(100, 1518)
        };
        judged(&plan(udp(1472, Family::Ipv4), Family::Ipv4), FlowReport::Frames(report))
    };
    let codes = |report: &Report| -> Vec<Code> {
        report.verdict.reasons.iter().map(|reason| reason.code).collect()
    };
    assert_eq!(codes(&seen(90, 10)), Vec::<Code>::new());
    for contradictory in [seen(90, 9), seen(101, 0)] {
        assert!(!first(&contradictory).conserved);
        assert_eq!(contradictory.verdict.status, Status::Invalid);
        assert_eq!(codes(&contradictory), [Code::CountsConserved]);
    }
}

/// 8127.4 frames of 1538 bytes a second fill 100 Mbit/s. Times are known to a millisecond, of a
/// second that is 1000 ppm, and 200 ppm are the clocks'.
#[test]
fn a_rate_above_the_line_is_told() {
    let above = |frames| {
        let seen = FlowReport::Frames(frames_seen(frames, 1518));
        let report = judged(&plan(udp(1472, Family::Ipv4), Family::Ipv4), seen);
        report.verdict.reasons.iter().any(|reason| reason.code == Code::AboveLine)
    };
    assert!(!above(8127) && !above(8137));
    assert!(above(8138));
}

#[test]
fn a_tester_that_cannot_send_what_is_due_is_not_the_network() {
    let seen = FramesReport { planned_frames: 1020, ..frames_seen(1000, 1518) };
    let report = judged(&plan(udp(1472, Family::Ipv4), Family::Ipv4), FlowReport::Frames(seen));
    assert_eq!(report.verdict.status, Status::Invalid);
    assert_eq!(report.verdict.reasons[0].code, Code::FramesUnsent);
}

/// 93.44 Mbit/s of payload in the second, over connections of which only this is known.
fn run_of_connections(
    criteria: Criteria,
    connection: &ConnectionReport,
    health: TesterHealth,
) -> (Status, Option<Code>) {
    let plan = Plan { criteria, ..plan(tcp(1460), Family::Ipv4) };
    let FlowReport::Tcp(report) = tcp_seen(1460, 11_680_000) else { panic!("no TCP") };
    let connections = vec![connection.clone()];
    let flows = vec![FlowReport::Tcp(TcpReport { connections, ..report })];
    let report = judged_by(&plan, Observation { flows, far: health, ..Observation::default() });
    (report.verdict.status, report.verdict.reasons.first().map(|reason| reason.code))
}

fn health(busiest_thread: f64, stall_ms: u64) -> TesterHealth {
    let longest_stall = Duration::from_millis(stall_ms);
    TesterHealth { busiest_thread, longest_stall, ..TesterHealth::default() }
}

/// Of a sender that tells nothing, any stall may be why no more was carried. Up to two ticks of 10 ms
/// are not told from none.
#[test]
fn an_end_at_its_limit_is_not_the_network_whatever_was_asked() {
    let status = |rate_min, busiest_thread, stall_ms| {
        let rate_min_l4 = Some(Rate::mbps(rate_min));
        let criteria = Criteria { rate_min_l4, ..Criteria::default() };
        let unknown = ConnectionReport::default();
        run_of_connections(criteria, &unknown, health(busiest_thread, stall_ms))
    };
    assert_eq!(status(94, 0.90, 20), (Status::Fail, Some(Code::RateLow)));
    assert_eq!(status(93, 0.90, 20), (Status::Pass, None));
    for rate_min in [93, 94] {
        assert_eq!(status(rate_min, 0.99, 20), (Status::Invalid, Some(Code::BusiestThread)));
        assert_eq!(status(rate_min, 0.90, 21), (Status::Invalid, Some(Code::TesterStall)));
    }
}

/// The line of 100 Mbit/s is full. Whose kernel had data to send all the time, room for more of it and
/// a window, was held back by that alone, whoever waited for a processor.
#[test]
fn a_stall_while_the_network_alone_decides_changes_nothing() {
    let millis = Duration::from_millis;
    let status = |busy_ms, buffer_ms, window_ms| {
        let connection = ConnectionReport {
            busy: Some(millis(busy_ms)),
            send_buffer_limited: Some(millis(buffer_ms)),
            receive_window_limited: Some(millis(window_ms)),
            ..ConnectionReport::default()
        };
        run_of_connections(Criteria::default(), &connection, health(0.5, 660))
    };
    assert_eq!(status(1000, 0, 0), (Status::Info, None));
    assert_eq!(status(996, 8, 8), (Status::Info, None));
    for (busy_ms, buffer_ms, window_ms) in [(979, 0, 0), (1000, 21, 0), (1000, 0, 21)] {
        let (status, code) = status(busy_ms, buffer_ms, window_ms);
        assert_eq!((status, code), (Status::Invalid, Some(Code::TesterStall)));
    }
    // 1,168,000 bytes each 100 ms are what the window carries.
    let by_window = ConnectionReport {
        busy: Some(SECOND),
        receive_window_limited: Some(SECOND),
        window_effective_bytes: Some(1_168_000),
        rtt_mean: Some(millis(100)),
        ..ConnectionReport::default()
    };
    let of = |connection| run_of_connections(Criteria::default(), connection, health(0.5, 660));
    assert_eq!(of(&by_window), (Status::Info, None));
    // A tenth more would have passed, had it been given back in time.
    let wider = ConnectionReport { window_effective_bytes: Some(1_284_800), ..by_window.clone() };
    assert_eq!(of(&wider), (Status::Invalid, Some(Code::TesterStall)));
}

/// What was due while a sender stood still leaves at once, and may then be lost.
#[test]
fn a_stall_of_a_sender_of_frames_counts_where_frames_were_lost() {
    let status = |received, late_ms| {
        let lateness = Deviations { max: Duration::from_millis(late_ms), ..Deviations::default() };
        let gaps = Gaps { lateness, ..Gaps::default() };
        let seen = FramesReport { gaps, received_frames: received, ..frames_seen(8_000, 1518) };
        let flows = vec![FlowReport::Frames(seen)];
        let near = health(1.0, 300);
        let observation = Observation { flows, near, ..Observation::default() };
        judged_by(&plan(udp(1472, Family::Ipv4), Family::Ipv4), observation).verdict.status
    };
    assert_eq!([status(8_000, 300), status(7_990, 20)], [Status::Info; 2]);
    assert_eq!(status(7_990, 21), Status::Invalid);
}

/// A round trip of 100 ms: 5 % of it are twice 2.5 ms.
#[test]
fn an_emulated_network_that_is_late_carries_less_unless_its_line_is_full() {
    let status = |line_mbps, late_us| {
        let line = Some(Rate::mbps(line_mbps));
        let lines = Lines { upload: line, ..Lines::default() };
        let plan = Plan { lines, ..plan(tcp(1460), Family::Ipv4) };
        let FlowReport::Tcp(report) = tcp_seen(1460, 11_680_000) else { panic!("no TCP") };
        let rtt_mean = Some(Duration::from_millis(100));
        let connections = vec![ConnectionReport { rtt_mean, ..ConnectionReport::default() }];
        let flows = vec![FlowReport::Tcp(TcpReport { connections, ..report })];
        let late_p99 = Duration::from_micros(late_us);
        let emulation = Some(Emulation { late_p99, ..Emulation::default() });
        let report = judged_by(&plan, Observation { flows, emulation, ..Observation::default() });
        (report.verdict.status, report.verdict.reasons.first().map(|reason| reason.code))
    };
    assert_eq!(status(1000, 2500), (Status::Info, None));
    assert_eq!(status(1000, 2501), (Status::Invalid, Some(Code::EmulationLateness)));
    // 93.44 Mbit/s of payload are 98.4 on the line.
    assert_eq!(status(100, 2501), (Status::Info, None));
}

/// From 0 to 8 Mbit/s and back: 1, 3, 5, 7, 7, 5, 3 and 1 Mbit/s in the mean of the eighths.
fn following(received: [u64; 8]) -> Report {
    let wave = Wave { low_bps: Rate::ZERO, peak_bps: Rate::mbps(8), period_ns: 8 * 1_000_000_000 };
    let plan = plan(tcp(1460), Family::Ipv4);
    let timing = Timing { steady: SECOND * 8, ..plan.timing };
    let plan = Plan { timing, ..plan }.following(SharedProfile {
        written: "triangle".into(),
        profile: Profile::Triangle(wave),
        arrivals: Arrivals::Even,
        interval: SECOND,
    });
    let slot = |(second, mbps): (usize, &u64)| Sample {
        at: SECOND * second as u32,
        lasts: SECOND,
        steady: true,
        sent_bytes: Some(mbps * 125_000),
        received_bytes: Some(mbps * 125_000),
        ..Sample::default()
    };
    let connection = ConnectionReport {
        rtt_mean: Some(Duration::from_millis(100)),
        window_effective_bytes: Some(62_500),
        ..ConnectionReport::default()
    };
    let series = received.iter().enumerate().map(slot).collect();
    // Half a round trip on its way would be known from the round trip: of whole seconds it shows.
    let connections = vec![ConnectionReport { rtt_mean: Some(Duration::ZERO), ..connection }];
    judged(&plan, FlowReport::Tcp(TcpReport { connections, series, ..TcpReport::default() }))
}

fn profile_step(report: &Report) -> &ProfileStep {
    let Some(Step::Profile(step)) = report.steps.last() else { panic!("{report:?}") };
    step
}

#[test]
fn the_tracking_error_is_the_root_of_the_mean_square_over_the_mean_target() {
    let exact = following([1, 3, 5, 7, 7, 5, 3, 1]);
    assert_eq!(profile_step(&exact).tracking_error_percent, Some(0.0));
    assert_eq!(profile_step(&exact).limit, Limit::Followed);
    // Twice 2 Mbit/s short in eight seconds: √(2·4/8) = 1 of a mean of 4.
    let short = following([1, 3, 5, 5, 5, 5, 3, 1]);
    let error = profile_step(&short).tracking_error_percent.unwrap();
    assert!((error - 25.0).abs() < 1e-9, "{error}");
    let plateau = Limit::Line { limit_l4: Rate::mbps(5) };
    assert_eq!(profile_step(&short).limit, plateau);
}

#[test]
fn frames_of_a_profile_are_as_many_as_it_asks_for() {
    let wave =
        Wave { low_bps: Rate::ZERO, peak_bps: Rate::mbps(60), period_ns: 10 * 1_000_000_000 };
    let plan = plan(udp(1472, Family::Ipv4), Family::Ipv4);
    let timing = Timing { steady: SECOND * 10, ..plan.timing };
    let plan = Plan { timing, ..plan }.following(SharedProfile {
        written: "triangle".into(),
        profile: Profile::Triangle(wave),
        arrivals: Arrivals::Even,
        interval: Duration::from_millis(250),
    });
    let Load::Frames(load) = &plan.flows[0].spec.load else { panic!() };
    let Pace::Steps { steps } = &load.pace else { panic!() };
    let frames = |step: &fp_model::Step| {
        let bits = step.rate.as_bps() as f64 * step.lasts.as_secs_f64();
        libm::ceil(bits / (1518.0 * 8.0) - 1e-3)
    };
    let all: f64 = steps.iter().map(frames).sum();
    // 30 Mbit/s in the mean for 10 s: 25,475.5 payloads of 1472 bytes.
    assert!((all - 25_475.5).abs() <= 1.0, "{all}");
}

/// Two flows of a class upwards and one down, each 8,000 frames of 1472 bytes of payload in a second,
/// which is 94.208 Mbit/s; of one upwards 800 are lost, 5 % of both.
fn both_ways(criteria: Criteria) -> (Plan, Report) {
    let plan = plan(udp(1472, Family::Ipv4), Family::Ipv4);
    let [mut up, mut down] = [plan.flows[0].clone(), plan.flows[0].clone()];
    up.class = Some("video".into());
    down.spec.direction = Direction::Download;
    let plan = Plan { flows: vec![up.clone(), up, down], criteria, ..plan };
    let whole = frames_seen(8_000, 1518);
    let lossy =
        FramesReport { received_frames: 7_200, received_bytes: 7_200 * 1518, ..whole.clone() };
    let report = judged_all(&plan, [whole.clone(), lossy, whole].map(FlowReport::Frames).to_vec());
    (plan, report)
}

#[test]
fn a_direction_meets_what_was_asked_in_sum_or_by_its_only_flow() {
    let met = |rate_min_l4, loss_max_percent| {
        let (plan, report) = both_ways(Criteria { rate_min_l4, loss_max_percent });
        let met: Vec<Option<bool>> =
            (0..report.steps.len()).map(|place| is_met(&plan, &report, place)).collect();
        let missed: Vec<usize> =
            (0..met.len()).filter(|place| met[*place] == Some(false)).collect();
        // What a reader must know of the figures is no fault of theirs.
        let is_fault = |code: Code| [Code::RateLow, Code::LossHigh].contains(&code);
        let reasons = report.verdict.reasons.iter();
        let faults = reasons.filter(|reason| is_fault(reason.code));
        let faults: BTreeSet<usize> = faults.filter_map(|reason| reason.step).collect();
        assert_eq!(faults, missed.iter().copied().collect());
        assert_eq!(report.verdict.status == Status::Fail, !missed.is_empty());
        met
    };
    let (yes, no) = (Some(true), Some(false));
    // The flows, of which the third is all that goes down; the class; all that goes up.
    assert_eq!(met(None, None), [None; 5]);
    assert_eq!(met(Some(Rate::mbps(94)), None), [None, None, yes, None, yes]);
    assert_eq!(met(Some(Rate::mbps(95)), None), [None, None, no, None, yes]);
    assert_eq!(met(None, Some(5.0)), [None, None, yes, None, yes]);
    assert_eq!(met(Some(Rate::mbps(95)), Some(4.9)), [None, None, no, None, no]);
}

/// TCP does not say what was lost: it is sent again. Nor is there a share of no packets.
#[test]
fn a_loss_that_nothing_was_measured_for_makes_a_run_invalid() {
    let criteria = Criteria { loss_max_percent: Some(1.0), ..Criteria::default() };
    let of = |load, seen| {
        let plan = Plan { criteria, ..plan(load, Family::Ipv4) };
        let report = judged(&plan, seen);
        assert_eq!(is_met(&plan, &report, 0), None);
        assert_eq!(is_met(&plan, &report, 1), None, "there is no such step");
        let codes: Vec<_> = report.verdict.reasons.iter().map(|reason| reason.code).collect();
        assert!(codes.contains(&Code::CriteriaNotMeasured), "{codes:?}");
        assert_eq!(report.verdict.status, Status::Invalid);
    };
    of(tcp(1460), tcp_seen(1460, 11_680_000));
    of(udp(1472, Family::Ipv4), FlowReport::Frames(frames_seen(0, 1518)));
}

/// 100 UDP packets of which 50 are lost, beside TCP with thousands of segments.
#[test]
fn the_loss_of_a_direction_is_that_of_its_udp_packets_alone() {
    let criteria = Criteria { loss_max_percent: Some(10.0), ..Criteria::default() };
    let mut plan = Plan { criteria, ..plan(udp(1472, Family::Ipv4), Family::Ipv4) };
    let spec = FlowSpec { load: tcp(1460), ..plan.flows[0].spec.clone() };
    plan.flows.push(PlannedFlow { spec, ..plan.flows[0].clone() });
    let lossy = FramesReport { received_frames: 50, ..frames_seen(100, 1518) };
    let FlowReport::Tcp(of_tcp) = tcp_seen(1460, 11_680_000) else { panic!("no TCP") };
    let segments = Some(8_000);
    let connection = ConnectionReport {
        sent_segments: segments,
        received_segments: segments,
        ..of_tcp.connections[0].clone()
    };
    let of_tcp = TcpReport { connections: vec![connection], ..of_tcp };
    let report = judged_all(&plan, vec![FlowReport::Frames(lossy), FlowReport::Tcp(of_tcp)]);
    assert_eq!(report.verdict.status, Status::Fail);
    let texts: Vec<_> = report.verdict.reasons.iter().map(|reason| &reason.text).collect();
    assert!(texts.iter().any(|text| text.contains("50.000 %")), "{texts:?}");
}

/// Code point 46 left, 0 arrived.
#[test]
fn a_remarked_flow_is_a_finding() {
    let ef = Dscp::new(46).unwrap();
    let mut plan = plan(udp(1472, Family::Ipv4), Family::Ipv4);
    plan.flows[0].spec.dscp = ef;
    let seen = |dscp| {
        let dscp_received = vec![DscpCount { dscp: Some(dscp), frames: 100 }];
        FlowReport::Frames(FramesReport { dscp_received, ..frames_seen(100, 1518) })
    };
    assert_eq!(judged(&plan, seen(ef)).verdict.status, Status::Info);
    let bleached = judged(&plan, seen(Dscp::BEST_EFFORT)).verdict;
    assert_eq!((bleached.status, bleached.reasons[0].code), (Status::Findings, Code::DscpChanged));
    let criteria = Criteria { loss_max_percent: Some(0.0), ..Criteria::default() };
    let asked = Plan { criteria, ..plan };
    assert_eq!(judged(&asked, seen(ef)).verdict.status, Status::Pass);
    assert_eq!(judged(&asked, seen(Dscp::BEST_EFFORT)).verdict.status, Status::Findings);
}

/// From `begins_s` on a slot each second, with so many connections in use.
fn in_use(begins_s: u32, active: &[Option<u32>]) -> FlowReport {
    let slot = |(second, active): (u32, &Option<u32>)| Sample {
        at: SECOND * second,
        lasts: SECOND,
        steady: true,
        sent_bytes: Some(1_000_000),
        received_bytes: Some(1_000_000),
        retransmitted_bytes: Some(0),
        active_connections: *active,
        ..Sample::default()
    };
    let series = (begins_s..).zip(active).map(slot).collect();
    let connections = vec![ConnectionReport::default()];
    FlowReport::Tcp(TcpReport { connections, series, ..TcpReport::default() })
}

/// What the sum of these flows says of its three seconds, each of which all its slots agree on.
fn in_use_together(flows: Vec<FlowReport>) -> [Option<u32>; 3] {
    let plan = plan(tcp(1460), Family::Ipv4);
    let planned = |flow: &FlowReport| {
        let is_udp = matches!(flow, FlowReport::Frames(_));
        let load = if is_udp { udp(1472, Family::Ipv4) } else { tcp(1460) };
        let spec = FlowSpec { load, ..plan.flows[0].spec.clone() };
        PlannedFlow { spec, ..plan.flows[0].clone() }
    };
    let timing = Timing { steady: SECOND * 3, ..plan.timing };
    let plan = Plan { flows: flows.iter().map(planned).collect(), timing, ..plan.clone() };
    let report = judged_all(&plan, flows);
    let Some(Step::Flow(sum)) = report.steps.last() else { panic!("{report:?}") };
    assert_eq!(sum.part, Part::Sum);
    [0, 1, 2].map(|second| {
        let of_second = sum.series.iter().filter(|slot| slot.at.as_secs() == second && slot.steady);
        let counts: Vec<Option<u32>> = of_second.map(|slot| slot.active_connections).collect();
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{counts:?}");
        counts[0]
    })
}

#[test]
fn connections_in_use_add_up_at_each_moment() {
    let first = in_use(0, &[Some(2), Some(2), Some(1)]);
    // It begins a second later, and has none before and none after.
    let second = in_use(1, &[Some(3)]);
    let frames = FlowReport::Frames(frames_seen(8_000, 1518));
    let together = in_use_together(vec![first, frames.clone(), second]);
    assert_eq!(together, [Some(2), Some(5), Some(1)]);
    assert_eq!(in_use_together(vec![frames.clone(), frames]), [None; 3], "frames have none");
}

/// As an end does that counts none, and as was stored before they were counted.
#[test]
fn connections_that_nobody_counted_are_not_none_in_sum() {
    let uncounted = in_use(0, &[None; 3]);
    assert_eq!(in_use_together(vec![uncounted.clone(), uncounted]), [None; 3]);
}

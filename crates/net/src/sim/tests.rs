//! Trials in virtual time: what arithmetic says of a path is what the simulation shows.

use alloc::string::String;
use alloc::{vec, vec::Vec};
use core::time::Duration;

use fp_model::{
    Abort, ArrivedRun, BurstSpacing, BurstsLoad, BurstsReport, CongestionControl, Direction, Dscp,
    Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, FramesReport, Load, Observation, Pace,
    ProbesLoad, ProbesReport, Rate, Sample, Sender, Step, TcpEngine, TcpLoad, TcpReport, Testbed,
    Timing, Trial,
};

use crate::path::{
    LinkSpec, LossSpec, MtuSpec, OutageSpec, PathSpec, PoliceSpec, Probability, QueueLimit,
    QueueSpec, TooBigAnswer,
};
use crate::sim::SimTestbed;

const WINDOW_BYTES: u64 = 65_535;
const MEGABYTE: u64 = 1_000_000;
/// Payload of a full segment, and the same segment on the line: 12 bytes of TCP options, 40 of
/// headers, 18 of Ethernet and 20 of preamble and gap.
const PAYLOAD: f64 = 1448.0;
const ON_THE_LINE: f64 = 1538.0;

fn symmetric(link: LinkSpec) -> PathSpec {
    PathSpec::symmetric("test", vec![link])
}

fn line(mbps: u64, delay_ms: u64, queue: QueueLimit) -> LinkSpec {
    LinkSpec {
        line_rate: Some(Rate::mbps(mbps)),
        delay: Duration::from_millis(delay_ms),
        queue: Some(QueueSpec { limit: queue, ..QueueSpec::default() }),
        ..LinkSpec::default()
    }
}

/// A port of 1 Gbit/s, CIR 40 Mbit/s, round trip 54 ms.
fn metro(cbs_bytes: u64) -> PathSpec {
    let police = PoliceSpec::single_bucket(Rate::mbps(40), cbs_bytes);
    symmetric(LinkSpec { police: Some(police), ..line(1000, 27, QueueLimit::Packets(1000)) })
}

fn flow(direction: Direction, load: Load) -> FlowSpec {
    FlowSpec::new(direction, Family::Ipv4, Dscp::BEST_EFFORT, load)
}

fn bulk(connections: u32, window_bytes: u64) -> TcpLoad {
    TcpLoad {
        connections,
        window_bytes,
        mss_bytes: 1460,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Reno,
        pacing: None,
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    }
}

fn timing(warm_up_s: u64, steady_s: u64) -> Timing {
    Timing {
        warm_up: Duration::from_secs(warm_up_s),
        steady: Duration::from_secs(steady_s),
        settle: Duration::from_secs(1),
    }
}

fn run(path: &PathSpec, flows: Vec<FlowSpec>, timing: Timing, seed: u64) -> Observation {
    let trial = Trial { name: String::from("test"), flows, timing };
    let patience = Duration::from_secs(60);
    SimTestbed::new(path, seed).with_patience(patience).run(&trial).unwrap()
}

fn tcp_report(report: &FlowReport) -> &TcpReport {
    match report {
        FlowReport::Tcp(report) => report,
        other => panic!("a TCP flow has a TCP report, not {other:?}"),
    }
}

fn download(path: &PathSpec, load: TcpLoad, timing: Timing, seed: u64) -> TcpReport {
    let observation = run(path, vec![flow(Direction::Download, Load::Tcp(load))], timing, seed);
    tcp_report(&observation.flows[0]).clone()
}

fn median_of_seeds(path: &PathSpec, load: TcpLoad) -> f64 {
    let mut rates: Vec<f64> = (1..=5)
        .map(|seed| good_bps(&download(path, load.clone(), timing(2, 15), seed), 15))
        .collect();
    rates.sort_by(f64::total_cmp);
    rates[2]
}

fn frames(path: &PathSpec, load: FramesLoad, timing: Timing) -> FramesReport {
    let observation = run(path, vec![flow(Direction::Upload, Load::Frames(load))], timing, 1);
    match &observation.flows[0] {
        FlowReport::Frames(report) => report.clone(),
        other => panic!("frames have a frames report, not {other:?}"),
    }
}

fn probes(path: &PathSpec, direction: Direction, packet_bytes: u32) -> ProbesReport {
    let interval = Duration::from_millis(10);
    let load = ProbesLoad { packet_bytes, answer_bytes: 64, count: 20, interval };
    let observation = run(path, vec![flow(direction, Load::Probes(load))], timing(0, 0), 1);
    match &observation.flows[0] {
        FlowReport::Probes(report) => report.clone(),
        other => panic!("probes have a probes report, not {other:?}"),
    }
}

fn good_bps(report: &TcpReport, steady_s: u64) -> f64 {
    let good: u64 = report.connections.iter().map(|c| c.good_bytes).sum();
    good as f64 * 8.0 / steady_s as f64
}

fn retransmitted_bytes(report: &TcpReport) -> u64 {
    report.connections.iter().filter_map(|c| c.retransmitted_bytes).sum()
}

fn total(series: &[Sample], bytes: impl Fn(&Sample) -> Option<u64>) -> u64 {
    series.iter().filter_map(bytes).sum()
}

#[track_caller]
fn assert_within(share: f64, measured: f64, expected: f64) {
    assert!((measured / expected - 1.0).abs() <= share, "{measured} instead of {expected}");
}

/// A round trip is 54 ms and 25.3 µs: two segments of 1538 bytes, for which the acknowledgement
/// waits, and 90 bytes of it at 1 Gbit/s. 65,535 bytes in that are 9.705 Mbit/s.
#[test]
fn a_window_limited_connection_carries_its_window_in_each_round_trip() {
    let report = download(&metro(275_000), bulk(1, WINDOW_BYTES), timing(2, 10), 1);
    assert_within(0.01, good_bps(&report, 10), WINDOW_BYTES as f64 * 8.0 / 0.054_025_3);
    let connection = &report.connections[0];
    assert_eq!(connection.retransmitted_bytes, Some(0));
    assert_within(1e-3, connection.rtt_mean.unwrap().as_secs_f64(), 0.054_025_3);
    assert_eq!(connection.window_effective_bytes, Some(WINDOW_BYTES));
    assert_eq!(connection.segment_bytes, Some(1448));
    // Only the receiver's window holds the sender back: nearly always, as sending takes no time.
    assert_within(0.05, connection.receive_window_limited.unwrap().as_secs_f64(), 10.0);
}

/// 100 Mbit/s · 1448 / 1538 = 94.15 Mbit/s.
#[test]
fn a_saturated_line_carries_payload_with_every_bit() {
    let path = symmetric(line(100, 5, QueueLimit::Bytes(MEGABYTE)));
    let report = download(&path, bulk(2, 400_000), timing(2, 10), 1);
    assert_within(0.01, good_bps(&report, 10), 100e6 * PAYLOAD / ON_THE_LINE);
    assert_eq!(retransmitted_bytes(&report), 0);
}

/// A hardware tester carried 13.5 of 38 Mbit/s with a round trip just above 54 ms.
#[test]
fn a_shallow_policer_starves_bursty_senders() {
    let load = TcpLoad { sender: Sender::Burst, ..bulk(4, WINDOW_BYTES) };
    let report = download(&metro(64_000), load, timing(2, 15), 1);
    let carried_bps = good_bps(&report, 15);
    assert!((10e6..=20e6).contains(&carried_bps), "{carried_bps}");
    assert!(retransmitted_bytes(&report) > 0);
    for connection in &report.connections {
        assert!(connection.rtt_mean.unwrap() < Duration::from_millis(57));
    }
}

/// What kernel TCP carried through an emulated policer of 64,000 bytes: reno 24.9, cubic 27.7, reno
/// and cubic writing in bursts 14.4 to 15.7 and 17.2 Mbit/s, single runs.
#[test]
fn a_shallow_policer_costs_each_kind_of_sender_what_it_costs_the_kernel() {
    use CongestionControl::{Cubic, Reno};
    let measured = [
        (Sender::Bulk, Reno, 24.9e6),
        (Sender::Bulk, Cubic, 27.7e6),
        (Sender::Burst, Reno, 15.0e6),
        (Sender::Burst, Cubic, 17.2e6),
    ];
    for (sender, congestion_control, kernel_bps) in measured {
        let load = TcpLoad { sender, congestion_control, ..bulk(4, WINDOW_BYTES) };
        assert_within(0.2, median_of_seeds(&metro(64_000), load), kernel_bps);
    }
}

/// Four windows need 4 · 65,535 · 8 / 54.025 ms · 1518 / 1448 = 40.7 Mbit/s of the 40 there are,
/// so now and then a frame is dropped; ideal are 40 · 1448 / 1518 = 38.16 Mbit/s. Kernel TCP
/// carried 37.3 to 37.7.
#[test]
fn a_deep_policer_lets_bulk_senders_have_what_was_bought() {
    for congestion_control in [CongestionControl::Reno, CongestionControl::Cubic] {
        let load = TcpLoad { congestion_control, ..bulk(4, WINDOW_BYTES) };
        let carried_bps = median_of_seeds(&metro(275_000), load);
        assert_within(0.04, carried_bps, 38.16e6);
    }
}

/// Three windows of 64 KB need 30.5 of 40 Mbit/s, and at most 3 · 46 · 1518 bytes = 209 KB come at
/// once: the bucket of 275 KB never runs dry.
#[test]
fn a_deep_policer_drops_nothing_of_what_fits_it() {
    for sender in [Sender::Bulk, Sender::Burst] {
        let load = TcpLoad { sender, ..bulk(3, WINDOW_BYTES) };
        let report = download(&metro(275_000), load, timing(2, 10), 1);
        assert_eq!(retransmitted_bytes(&report), 0);
        assert_within(0.03, good_bps(&report, 10), 3.0 * WINDOW_BYTES as f64 * 8.0 / 0.054_025_3);
    }
}

/// 9 Mbit/s of payload each: 36 Mbit/s in 1518 bytes of frame for 1448 of payload is 37.74 of 40,
/// and at most a few segments at once.
#[test]
fn pacing_gets_through_a_shallow_policer() {
    let load = TcpLoad { pacing: Some(Rate::mbps(9)), ..bulk(4, WINDOW_BYTES) };
    let report = download(&metro(64_000), load, timing(2, 10), 1);
    assert_eq!(retransmitted_bytes(&report), 0);
    assert_within(0.01, good_bps(&report, 10), 4.0 * 9e6);
}

/// A window of 500,000 bytes on a line that carries 20 · 1448 / 1538 = 18.83 Mbit/s of payload
/// takes 212.4 ms, whatever the 20 ms of the path: the rest waits in the queue.
#[test]
fn a_deep_buffer_turns_window_into_delay() {
    let path = symmetric(line(20, 10, QueueLimit::Bytes(MEGABYTE)));
    let report = download(&path, bulk(1, 500_000), timing(5, 10), 1);
    let carried_bps = 20e6 * PAYLOAD / ON_THE_LINE;
    assert_within(0.01, good_bps(&report, 10), carried_bps);
    let rtt_s = report.connections[0].rtt_mean.unwrap().as_secs_f64();
    assert_within(0.02, rtt_s, 500_000.0 * 8.0 / carried_bps);
}

/// Mathis, Semke, Mahdavi and Ott 1997: MSS / RTT · sqrt(3 / 2p); a segment in a thousand lost in
/// 54 ms gives 8.3 Mbit/s. The acknowledgements that are lost as well cost nothing.
#[test]
fn random_loss_holds_reno_to_what_mathis_says() {
    let loss = LossSpec::Random(Probability::new(0.001).unwrap());
    let link = LinkSpec { loss: Some(loss), ..line(1000, 27, QueueLimit::Packets(1000)) };
    let report = download(&symmetric(link), bulk(1, 4 * MEGABYTE), timing(10, 200), 1);
    let mathis_bps = PAYLOAD * 8.0 / 0.054 * libm::sqrt(1.5 / 0.001);
    assert_within(0.3, good_bps(&report, 200), mathis_bps);
}

/// For two segments of 1538 bytes one way the line carries 90 bytes of acknowledgement the other
/// way: 100 Mbit/s · 2 · 1448 / (2 · 1538 + 90) = 91.5 Mbit/s each way.
#[test]
fn both_directions_at_once_share_the_line_with_each_others_acknowledgements() {
    let path = symmetric(line(100, 5, QueueLimit::Bytes(MEGABYTE)));
    let load = Load::Tcp(bulk(2, 400_000));
    let flows =
        vec![flow(Direction::Download, load.clone()), flow(Direction::Upload, load.clone())];
    let observation = run(&path, flows, timing(2, 10), 1);
    for report in &observation.flows {
        let expected = 100e6 * 2.0 * PAYLOAD / (2.0 * ON_THE_LINE + 90.0);
        assert_within(0.02, good_bps(tcp_report(report), 10), expected);
    }
}

#[test]
fn what_was_sent_once_has_arrived_or_fits_the_window() {
    let report = download(&metro(64_000), bulk(4, WINDOW_BYTES), timing(2, 5), 1);
    let sent = total(&report.series, |sample| sample.sent_bytes);
    let resent = total(&report.series, |sample| sample.retransmitted_bytes);
    let good = total(&report.series, |sample| sample.received_bytes);
    assert!(resent > 0);
    assert!(sent - resent >= good, "{good} bytes arrived of {sent} less {resent}");
    assert!(sent - resent - good <= 4 * WINDOW_BYTES);
    assert_eq!(good, report.whole_good_bytes);
}

#[test]
fn the_steady_samples_add_up_to_the_figures_of_the_connections() {
    let report = download(&metro(64_000), bulk(4, WINDOW_BYTES), timing(2, 5), 1);
    let steady: Vec<Sample> = report.series.iter().filter(|s| s.steady).copied().collect();
    let figures = &report.connections;
    let good: u64 = figures.iter().map(|c| c.good_bytes).sum();
    let transmitted: u64 = figures.iter().filter_map(|c| c.transmitted_bytes).sum();
    assert_eq!(total(&steady, |sample| sample.received_bytes), good);
    assert_eq!(total(&steady, |sample| sample.sent_bytes), transmitted);
    assert_eq!(total(&steady, |sample| sample.retransmitted_bytes), retransmitted_bytes(&report));
    let grid = timing(2, 5).grid();
    assert!(report.series.iter().zip(&grid).all(|(sample, slot)| sample.at == slot.start));
    assert_eq!(report.series.len(), grid.len());
}

/// Jain's index of two shares is (a + b)² / 2(a² + b²).
#[test]
fn two_connections_share_a_line_fairly() {
    let path = symmetric(line(20, 10, QueueLimit::Packets(50)));
    for congestion_control in [CongestionControl::Reno, CongestionControl::Cubic] {
        let load = TcpLoad { congestion_control, ..bulk(2, MEGABYTE) };
        let report = download(&path, load, timing(5, 30), 1);
        let share = |k: usize| report.connections[k].good_bytes as f64;
        let (a, b) = (share(0), share(1));
        let jain = (a + b) * (a + b) / (2.0 * (a * a + b * b));
        assert!(jain >= 0.95, "{jain} with {congestion_control}");
        assert_within(0.1, good_bps(&report, 30), 20e6 * PAYLOAD / ON_THE_LINE);
    }
}

/// The line is down from 4 to 5 s. Timeouts come after 0.25, 0.5, 1 s: the one that finds the line
/// up again comes within 1.8 s.
#[test]
fn an_outage_is_survived_by_timeout() {
    let outage =
        OutageSpec { start: Duration::from_secs(4), lasts: Duration::from_secs(1), every: None };
    let link = LinkSpec { outage: Some(outage), ..line(100, 27, QueueLimit::Bytes(MEGABYTE)) };
    let report = download(&symmetric(link), bulk(1, WINDOW_BYTES), timing(2, 8), 1);
    let received = |from_ms: u64, to_ms: u64| {
        let within = |sample: &&Sample| {
            sample.at >= Duration::from_millis(from_ms) && sample.at < Duration::from_millis(to_ms)
        };
        report.series.iter().filter(within).filter_map(|sample| sample.received_bytes).sum::<u64>()
    };
    assert_eq!(received(4100, 5000), 0);
    assert!(received(5000, 6000) > 0);
    // At 9.6 Mbit/s again: what arrives in 2 s.
    assert_within(0.05, received(8000, 10_000) as f64, 9.6e6 * 2.0 / 8.0);
    assert!(retransmitted_bytes(&report) <= 3 * WINDOW_BYTES);
}

#[test]
fn probes_come_back_after_the_round_trip_and_the_trial_is_over_then() {
    let interval = Duration::from_millis(10);
    let load = ProbesLoad { packet_bytes: 1500, answer_bytes: 64, count: 20, interval };
    let flows = vec![flow(Direction::Upload, Load::Probes(load))];
    let trial = Trial { name: String::from("probes"), flows, timing: timing(0, 0) };
    let mut bed = SimTestbed::new(&metro(64_000), 1);
    let observation = bed.run(&trial).unwrap();
    let FlowReport::Probes(report) = &observation.flows[0] else { panic!("not probes") };
    assert_eq!((report.sent, report.arrived, report.answered), (20, 20, 20));
    // 1538 and 102 bytes on the line at 1 Gbit/s: 12.304 and 0.816 µs.
    assert_eq!(report.rtt.unwrap().max, Duration::from_nanos(54_013_120));
    assert_eq!(bed.simulated(), Duration::from_nanos(190_000_000 + 54_013_120));
}

#[test]
fn probes_of_1400_bytes_pass_a_black_hole_and_1401_do_not() {
    for too_big in [TooBigAnswer::Silence, TooBigAnswer::Icmp] {
        let mtu = Some(MtuSpec { bytes: 1400, too_big });
        let path = symmetric(LinkSpec { mtu, ..line(100, 5, QueueLimit::Packets(1000)) });
        for direction in [Direction::Download, Direction::Upload] {
            assert_eq!(probes(&path, direction, 1400).answered, 20);
            let report = probes(&path, direction, 1401);
            assert_eq!((report.sent, report.answered), (20, 0));
            let told = if too_big == TooBigAnswer::Icmp { 20 } else { 0 };
            assert_eq!(report.too_big_answers, told);
        }
    }
}

#[test]
fn probes_that_do_not_fit_the_interface_are_refused() {
    let report = probes(&metro(64_000), Direction::Upload, 1501);
    assert_eq!((report.sent, report.refused, report.answered), (0, 20, 0));
    // The far end's answers are refused there.
    let report = probes(&metro(64_000), Direction::Download, 1501);
    assert_eq!((report.sent, report.refused, report.arrived, report.answered), (20, 0, 20, 0));
}

/// 50 Mbit/s · 5 s / 12,144 bits = 20,586.3 frames; 40 Mbit/s admit 16,469.0 of them.
#[test]
fn frames_behind_a_policer_arrive_at_its_rate_once_the_bucket_is_drained() {
    let pace = Pace::Constant { rate: Rate::mbps(50) };
    let load = FramesLoad::new(FrameSizes::fixed(1518), pace);
    let report = frames(&metro(64_000), load, timing(2, 5));
    assert!((20_586..=20_587).contains(&report.planned_frames), "{}", report.planned_frames);
    assert_eq!(report.sent_frames, report.planned_frames);
    assert!((16_468..=16_470).contains(&report.received_frames), "{}", report.received_frames);
    // One frame in five is dropped, so the last is one interval off at most.
    assert_within(1e-3, report.received_in.unwrap().as_secs_f64(), 5.0);
    assert_eq!(report.delay_growth_p99, Some(Duration::ZERO));
    assert_eq!((report.out_of_order_frames, report.duplicate_frames), (Some(0), Some(0)));
}

/// Frames of 1000 bytes at 8 Mbit/s for 1 s, none for 1 s and at 16 Mbit/s for 4 s: 1000 and 8000.
#[test]
fn frames_follow_the_steps_of_their_pace() {
    let step = |mbps, s| Step { rate: Rate::mbps(mbps), lasts: Duration::from_secs(s) };
    let pace = Pace::Steps { steps: vec![step(8, 1), step(0, 1), step(16, 1)] };
    let load = FramesLoad::new(FrameSizes::fixed(1000), pace);
    let report = frames(&metro(64_000), load, timing(1, 5));
    assert_eq!((report.planned_frames, report.received_frames), (8000, 8000));
    let warm_up: u64 = report
        .series
        .iter()
        .filter(|s| s.at < Duration::from_secs(1))
        .filter_map(|s| s.sent_bytes)
        .sum();
    assert_eq!(warm_up, MEGABYTE);
    assert_eq!(total(&report.series, |sample| sample.received_bytes), 9 * MEGABYTE);
}

/// Frames of 100, 200 and 300 bytes over 8 Mbit/s of layer 2 are due at 0, 100, 300 and 600 µs: in
/// 6 s 30,000 frames of 6 MB. One VLAN tag makes each packet four bytes shorter.
#[test]
fn frames_of_a_mix_are_due_when_those_before_have_taken_their_time() {
    let pace = Pace::Constant { rate: Rate::mbps(8) };
    let load = FramesLoad::new(FrameSizes::new(vec![100, 200, 300]).unwrap(), pace);
    let spec = FlowSpec { vlan_tags: 1, ..flow(Direction::Upload, Load::Frames(load)) };
    let observation = run(&metro(64_000), vec![spec], timing(0, 6), 1);
    let FlowReport::Frames(report) = &observation.flows[0] else { panic!("{observation:?}") };
    assert_eq!((report.planned_frames, report.received_frames), (30_000, 30_000));
    assert_eq!((report.sent_bytes, report.received_bytes), (6 * MEGABYTE, 6 * MEGABYTE));
    assert_eq!(total(&report.series, |sample| sample.received_bytes), 6 * MEGABYTE);
    // The last frame, of 300 bytes, stands for the 300 µs after it.
    assert_eq!(report.sent_in, Duration::from_secs(6));
}

#[test]
fn the_same_seed_gives_the_same_observation_and_another_one_does_not() {
    let load = TcpLoad { congestion_control: CongestionControl::Cubic, ..bulk(4, WINDOW_BYTES) };
    let observe = |seed| {
        let flows =
            [Direction::Download, Direction::Upload].map(|d| flow(d, Load::Tcp(load.clone())));
        run(&metro(64_000), flows.to_vec(), timing(1, 3), seed)
    };
    assert_eq!(observe(7), observe(7));
    assert_ne!(observe(7), observe(8));
}

#[test]
fn the_clock_and_the_path_go_on_from_trial_to_trial() {
    let mut bed = SimTestbed::new(&metro(64_000), 1);
    let pace = Pace::Constant { rate: Rate::mbps(50) };
    let load = Load::Frames(FramesLoad::new(FrameSizes::fixed(1518), pace));
    let trial = |settle_ms| Trial {
        name: String::from("drain"),
        flows: vec![flow(Direction::Upload, load.clone())],
        timing: Timing {
            warm_up: Duration::ZERO,
            steady: Duration::from_millis(20),
            settle: Duration::from_millis(settle_ms),
        },
    };
    let received =
        |bed: &mut SimTestbed, settle_ms| match &bed.run(&trial(settle_ms)).unwrap().flows[0] {
            FlowReport::Frames(report) => report.received_frames,
            other => panic!("not frames: {other:?}"),
        };
    // All 83 frames of 20 ms fit a full bucket. 30 ms refill what they took, 25,000 bytes net.
    assert_eq!(received(&mut bed, 30), 83);
    assert_eq!(bed.simulated(), Duration::from_millis(50));
    assert_eq!(received(&mut bed, 30), 83);
}

#[test]
fn what_is_not_simulated_is_refused_with_what_is() {
    let refused = |load| {
        let flows = vec![flow(Direction::Download, Load::Tcp(load))];
        let trial = Trial { name: String::from("test"), flows, timing: timing(1, 1) };
        match SimTestbed::new(&metro(64_000), 1).run(&trial) {
            Err(Abort::Testbed(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    let bbr = refused(TcpLoad { congestion_control: CongestionControl::Bbr, ..bulk(1, 65_535) });
    assert!(bbr.contains("reno") && bbr.contains("cubic"), "{bbr}");
    assert!(refused(bulk(0, 65_535)).contains("connection"));
    assert!(refused(TcpLoad { mss_bytes: 12, ..bulk(1, 65_535) }).contains("payload"));
}

#[test]
fn loads_beyond_any_interface_or_window_are_cut_to_what_fits() {
    let load = TcpLoad { mss_bytes: u32::MAX, ..bulk(1, u64::MAX) };
    let report = download(&metro(64_000), load, timing(1, 1), 1);
    assert_eq!(report.connections[0].segment_bytes, Some(1448));
    assert_eq!(report.connections[0].window_effective_bytes, Some(65_535 << 14));
    let pace = Pace::Constant { rate: Rate::mbps(50) };
    let load = FramesLoad::new(FrameSizes::fixed(1519), pace);
    let report = frames(&metro(64_000), load, timing(1, 1));
    assert_eq!((report.sent_frames, report.received_frames), (0, 0));
    assert!(report.planned_frames > 0);
}

fn bursts(path: &PathSpec, load: BurstsLoad, timing: Timing) -> BurstsReport {
    let observation = run(path, vec![flow(Direction::Upload, Load::Bursts(load))], timing, 1);
    match &observation.flows[0] {
        FlowReport::Bursts(report) => report.clone(),
        other => panic!("bursts have a bursts report, not {other:?}"),
    }
}

/// 88 frames of 1518 bytes every 27 ms.
const TWICE_THE_BUCKET: BurstsLoad = BurstsLoad {
    frame_bytes: 1518,
    frames_per_burst: 88,
    bursts: 3,
    period: Duration::from_millis(27),
    rate_l1: None,
    spacing: BurstSpacing::OnSchedule,
};

/// Frames that follow each other on a gigabit line end every 12.304 µs, and 61.52 bytes come back in
/// between: by the arithmetic of a token bucket of 64,000 bytes the first 43 of 88 pass, frame 71 is
/// the last that does, and 45 pass in all.
#[test]
fn a_burst_leaves_as_fast_as_the_line_takes_it_and_the_policer_sees_every_frame() {
    let report = bursts(&metro(64_000), TWICE_THE_BUCKET, timing(1, 1));
    assert_eq!((report.planned_bursts, report.bursts.len()), (3, 3));
    for burst in &report.bursts {
        assert_eq!((burst.sent_frames, burst.received_frames), (88, 45));
        assert_eq!(burst.sent_from, Duration::ZERO);
        assert_eq!(burst.sent_until, Duration::from_nanos(87 * 12_304));
        let runs: Vec<_> = burst.arrived.iter().map(|run| (run.first, run.frames)).collect();
        assert_eq!(runs[..2], [(0, 32), (32, 11)]);
        assert_eq!(runs.last(), Some(&(71, 1)));
        assert_eq!(burst.arrived[0].from, Duration::from_nanos(27_000_000 + 12_304));
        assert_eq!(burst.arrived[0].until, Duration::from_nanos(27_000_000 + 32 * 12_304));
    }
    let received: u64 = report.series.iter().filter_map(|slot| slot.received_bytes).sum();
    assert_eq!(received, 3 * 45 * 1518);
}

#[test]
fn a_burst_can_be_slower_than_the_line_and_not_faster() {
    let at = |mbps| BurstsLoad { rate_l1: Some(Rate::mbps(mbps)), bursts: 1, ..TWICE_THE_BUCKET };
    let lasts = |load| bursts(&metro(MEGABYTE), load, timing(0, 1)).bursts[0].sent_until;
    assert_eq!(lasts(at(100)), Duration::from_nanos(87 * 123_040));
    assert_eq!(lasts(at(5000)), Duration::from_nanos(87 * 12_304));
}

#[test]
fn bursts_that_are_not_due_in_the_steady_time_are_not_sent() {
    let many = BurstsLoad { bursts: 1000, ..TWICE_THE_BUCKET };
    let report = bursts(&metro(64_000), many, timing(0, 1));
    // Those at 0, 27, …, 999 ms.
    assert_eq!((report.planned_bursts, report.bursts.len()), (38, 38));
}

/// A bucket of 15,180 bytes holds ten frames; the rest of the burst is yellow and marked so.
#[test]
fn a_run_ends_where_the_code_point_changes() {
    let mut path = metro(15_180);
    let yellow = Dscp::new(12);
    if let Some(police) = &mut path.near_to_far[0].police {
        police.profile.ebs_bytes = MEGABYTE;
        police.mark_yellow = yellow;
    }
    let report = bursts(&path, TWICE_THE_BUCKET, timing(0, 1));
    let runs = &report.bursts[0].arrived;
    let first = ArrivedRun { first: 0, frames: 10, dscp: Some(Dscp::BEST_EFFORT), ..runs[0] };
    assert_eq!(runs[0], first);
    assert_eq!((runs[1].first, runs[1].dscp), (10, yellow));
    assert_eq!(report.bursts[0].received_frames, 88);
}

#[test]
fn a_burst_that_never_ends_is_refused() {
    let load = BurstsLoad { rate_l1: Some(Rate::ZERO), ..TWICE_THE_BUCKET };
    let flows = vec![flow(Direction::Upload, Load::Bursts(load))];
    let trial = Trial { name: String::from("test"), flows, timing: timing(0, 1) };
    let refused = SimTestbed::new(&metro(64_000), 1).run(&trial);
    assert!(matches!(refused, Err(Abort::Testbed(why)) if why.contains("0 bit/s")));
}

#[test]
fn a_connection_is_in_use_from_its_first_byte_to_the_end_of_what_it_transfers() {
    let path = symmetric(line(100, 20, QueueLimit::Packets(1000)));
    let active = |sender| {
        let load = TcpLoad { sender, ..bulk(3, WINDOW_BYTES) };
        let report = download(&path, load, timing(0, 2), 1);
        report.series.iter().map(|slot| slot.active_connections).collect::<Vec<_>>()
    };
    assert!(active(Sender::Bulk).iter().all(|count| *count == Some(3)));
    // Each transfers a third of it; none of what has come is in use any more at the end.
    let of_transfer = active(Sender::Transfer { bytes: 3 * MEGABYTE });
    assert_eq!(of_transfer.iter().copied().max(), Some(Some(3)));
    assert!(of_transfer.iter().all(Option::is_some));
}

#[test]
fn nothing_is_said_of_frames_that_only_tcp_has() {
    let load = FramesLoad::new(FrameSizes::fixed(1518), Pace::Constant { rate: Rate::mbps(10) });
    let path = symmetric(line(100, 1, QueueLimit::Packets(100)));
    let known = |slot: &Sample| slot.retransmitted_bytes.is_some() || slot.cwnd_bytes.is_some();
    let series = frames(&path, load, timing(0, 1)).series;
    assert!(!series.is_empty() && !series.iter().any(known));
    assert!(series.iter().all(|slot| slot.active_connections.is_none()));
}

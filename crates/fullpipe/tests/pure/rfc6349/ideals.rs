//! Shares of the ideal over networks that nothing is wrong with.

use std::time::Duration;

use fp_method::rfc6349::{self, LimitKind, Plan, Report, Role, Step, TcpStep};
use fp_method::verdict::Status;
use fp_model::{Family, Rate, Sender};
use fp_net::path::{
    Aqm, FrameOrder, JitterDistribution, JitterSpec, LinkSpec, MtuSpec, PathSpec, PoliceSpec,
    QueueLimit, QueueSpec, ShapeSpec, TooBigAnswer,
};
use fp_net::sim::SimTestbed;

/// Bytes that a path of this rate and round trip has under way.
fn product(rate: Rate, rtt: Duration) -> u64 {
    rate.bytes_in(rtt)
}

/// One direction of a line with a queue of its bandwidth-delay product, four frames at least.
fn line(rate: Rate, rtt: Duration) -> LinkSpec {
    let limit = QueueLimit::Bytes(product(rate, rtt).max(4 * 1538));
    let queue = QueueSpec { limit, aqm: Aqm::Fifo };
    LinkSpec { line_rate: Some(rate), queue: Some(queue), delay: rtt / 2, ..LinkSpec::default() }
}

/// One direction of a port of a gigabit whose policer forgives 1.3 times what the path has under way.
fn policer(rate: Rate, rtt: Duration) -> LinkSpec {
    let cbs_bytes = product(rate, rtt) * 13 / 10;
    let police = Some(PoliceSpec::single_bucket(rate, cbs_bytes));
    let queue = QueueSpec { limit: QueueLimit::Packets(4000), aqm: Aqm::Fifo };
    LinkSpec { police, queue: Some(queue), ..line(Rate::mbps(1000), rtt) }
}

fn tested(down: LinkSpec, up: LinkSpec, trial: Option<Duration>) -> Report {
    let path = PathSpec {
        name: "sound".into(),
        description: String::new(),
        near_to_far: vec![up],
        far_to_near: vec![down],
        gateway: None,
    };
    let plan = Plan { trial, ..Plan::new(Family::Ipv4, 1500) };
    let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, 1));
    end.unwrap();
    report
}

fn judged(report: &Report) -> impl Iterator<Item = &TcpStep> {
    report.steps.iter().filter_map(|step| match step {
        Step::Tcp(tcp) if tcp.role == Role::Throughput => Some(tcp),
        Step::Tcp(_) | Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) => None,
    })
}

/// No ideal is zero, no share above 105 %, and the path has what was asked.
fn expect_sound(report: &Report, network: &str) {
    for step in judged(report) {
        assert!(step.ideal_l4 > Rate::ZERO, "{network}: {step:?}");
        assert!(step.share_percent() <= 105.0, "{network}: {} {step:?}", step.share_percent());
    }
    let codes: Vec<_> = report.verdict.reasons.iter().map(|reason| reason.code.word()).collect();
    assert_eq!(report.verdict.status, Status::Pass, "{network}: {:?}", report.verdict.reasons);
    assert!(!codes.contains(&"deep_queue"), "{network}");
}

/// At layer 1 acknowledgements of the download take more of the upload's line than there is beyond 1:34.
#[test]
fn lines_of_any_asymmetry_pass() {
    let rtt = Duration::from_millis(20);
    for ratio in [1, 5, 20, 50, 100] {
        let up = Rate::bps(200_000_000 / ratio);
        let report = tested(line(Rate::mbps(200), rtt), line(up, rtt), None);
        expect_sound(&report, &format!("1:{ratio}"));
        let evens: Vec<_> = judged(&report).filter_map(|step| step.judged.even_l4).collect();
        assert_eq!(evens.len(), 2);
        // The same share of each, up to the bits that the search is off by.
        let found = evens[0].as_bps() as f64 / evens[1].as_bps() as f64;
        assert!((found / ratio as f64 - 1.0).abs() < 0.02, "1:{ratio}: {found}");
    }
}

/// A frame of 9,038 bytes takes 9.5 ms on the faster line and 15.8 ms on the slower one, one after the other, and a
/// burst waits for both. With frames of 1,538 bytes a queue of ten makes bursts as short.
#[test]
fn bursts_of_few_frames_wait_for_each_of_two_lines() {
    let [fast, slow] = [7_574_000, 4_566_000].map(Rate::bps);
    for (mtu_bytes, queue_bytes) in [(9000, 100_000), (1500, 15_380)] {
        let queue = QueueSpec { limit: QueueLimit::Bytes(queue_bytes), aqm: Aqm::Fifo };
        let mtu = Some(MtuSpec { bytes: mtu_bytes, too_big: TooBigAnswer::Icmp });
        let line =
            |rate| LinkSpec { mtu, queue: Some(queue), ..line(rate, Duration::from_micros(130)) };
        let path = PathSpec::symmetric("two lines", vec![line(fast), line(slow)]);
        let plan = Plan::new(Family::Ipv4, mtu_bytes);
        let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, 1));
        end.unwrap();
        let bursts: Vec<_> = judged(&report).filter(|step| step.sender == Sender::Burst).collect();
        assert_eq!(bursts.len(), 2);
        for step in bursts {
            let percent = step.share_percent();
            assert!((98.0..102.0).contains(&percent), "{mtu_bytes}: {percent} {step:?}");
        }
    }
}

#[test]
fn policers_that_forgive_what_the_path_has_under_way_pass() {
    for (megabits, rtt_ms) in [(5, 27), (14, 21), (40, 54)] {
        let rtt = Duration::from_millis(rtt_ms);
        let link = policer(Rate::mbps(megabits), rtt);
        let report = tested(link.clone(), link, None);
        expect_sound(&report, &format!("{megabits} Mbit/s, {rtt_ms} ms"));
        for step in judged(&report) {
            assert_eq!(step.retransmitted_bytes, Some(0), "{megabits} Mbit/s: {step:?}");
        }
    }
}

/// A bucket that 1.5 seconds fill is emptied by the trains of a search, and full again behind a pause. Then all that
/// the line in front of it carries comes through, for longer than dense frames are offered.
#[test]
fn what_a_deep_bucket_won_in_a_pause_is_not_taken_for_its_rate() {
    let limit = QueueLimit::Packets(6);
    let police = Some(PoliceSpec::single_bucket(Rate::bps(88_485_000), 20_848_000));
    let in_front = LinkSpec {
        queue: Some(QueueSpec { limit, aqm: Aqm::Fifo }),
        ..line(Rate::bps(288_304_000), Duration::from_millis(10))
    };
    let policed = LinkSpec { police, ..in_front };
    let report = tested(policed.clone(), policed, None);
    for step in &report.steps {
        let Step::Bottleneck(limit) = step else { continue };
        assert_eq!(limit.kind, LimitKind::Policer, "{limit:?}");
        let off_percent = (limit.limit.rate.as_bps() as f64 / 88_485_000.0 - 1.0) * 100.0;
        assert!(off_percent.abs() < 0.5, "{limit:?}");
    }
}

/// What an upload of a sixteenth lets go at once are the acknowledgements of all windows of the download.
#[test]
fn shapers_keep_no_acknowledgement_back_that_their_buckets_let_go() {
    let rtt = Duration::from_millis(84);
    let shaped = |rate: Rate, burst_bytes: u64| {
        let queue = QueueSpec { limit: QueueLimit::Bytes(burst_bytes / 2), aqm: Aqm::Fifo };
        let shape = Some(ShapeSpec { rate, burst_bytes, queue });
        LinkSpec { shape, ..line(Rate::mbps(1000), rtt) }
    };
    let down = shaped(Rate::bps(74_527_000), 572_471);
    let report = tested(down, shaped(Rate::bps(4_437_000), 42_233), None);
    expect_sound(&report, "shapers of 74.5 and 4.4 Mbit/s");
}

/// A tester's frames change places, and a mean round trip is longer than the least.
#[test]
fn a_line_with_jitter_of_a_millisecond_passes() {
    let rtt = Duration::from_millis(20);
    for order in [FrameOrder::Kept, FrameOrder::Free] {
        let distribution = JitterDistribution::Uniform(Duration::from_millis(1));
        let jitter = Some(JitterSpec { distribution, order });
        let link = LinkSpec { jitter, queue: None, ..line(Rate::mbps(100), rtt) };
        let report = tested(link.clone(), link, None);
        expect_sound(&report, &format!("{order:?}"));
    }
}

#[test]
fn a_sound_line_does_not_fail_in_trials_of_half_a_second() {
    for (megabits, rtt_ms) in [(10, 10), (100, 20), (30, 80)] {
        let rtt = Duration::from_millis(rtt_ms);
        let link = line(Rate::mbps(megabits), rtt);
        let report = tested(link.clone(), link, Some(Duration::from_millis(500)));
        let status = report.verdict.status;
        assert!(
            matches!(status, Status::Pass | Status::Inconclusive),
            "{megabits} Mbit/s, {rtt_ms} ms: {:?}",
            report.verdict.reasons
        );
    }
}

//! A rate that was sold is the measure of a verdict; it does not say what the path is.

use std::time::Duration;

use fp_method::rfc6349::{self, Bottleneck, LimitKind, Plan, Report, Step};
use fp_method::verdict::Status;
use fp_model::{Dscp, Family, Layer, LayeredRate, Rate};
use fp_net::path::{
    Aqm, LinkSpec, LossSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec, ShapeSpec,
};
use fp_net::sim::SimTestbed;

const RTTS_US: [u64; 9] = [20, 500, 1000, 2000, 5000, 10_000, 20_000, 54_000, 150_000];
const RATE: Rate = Rate::mbps(50);

/// At each round trip of the ladder a sound queue: at least 300 kB, and what the path has under way.
fn queue(rtt: Duration) -> QueueSpec {
    QueueSpec { limit: QueueLimit::Bytes(RATE.bytes_in(rtt).max(300_000)), aqm: Aqm::Fifo }
}

fn line(rtt: Duration) -> LinkSpec {
    let queue = Some(queue(rtt));
    LinkSpec { line_rate: Some(RATE), queue, delay: rtt / 2, ..LinkSpec::default() }
}

fn shaper(rtt: Duration) -> LinkSpec {
    let shape = Some(ShapeSpec { rate: RATE, burst_bytes: 4000, queue: queue(rtt) });
    let line_rate = Some(Rate::mbps(1000));
    LinkSpec { line_rate, shape, delay: rtt / 2, ..LinkSpec::default() }
}

/// A bucket of three times what the path has under way, and of ten windows of the smallest kind.
fn policer(rtt: Duration) -> LinkSpec {
    let cbs_bytes = 3 * RATE.bytes_in(rtt) + 100_000;
    let police = Some(PoliceSpec::single_bucket(RATE, cbs_bytes));
    let line_rate = Some(Rate::mbps(1000));
    LinkSpec { line_rate, police, delay: rtt / 2, ..LinkSpec::default() }
}

fn both_ways(link: &LinkSpec) -> PathSpec {
    PathSpec {
        name: "ladder".into(),
        description: String::new(),
        near_to_far: vec![link.clone()],
        far_to_near: vec![link.clone()],
        gateway: None,
    }
}

fn tested(link: &LinkSpec, sold: Option<(u64, Layer)>) -> Report {
    let path = both_ways(link);
    let cir = sold.map(|(kbps, layer)| LayeredRate { rate: Rate::bps(1000 * kbps), layer });
    let plan = Plan { cir, measures_beside_cir: cir.is_some(), ..Plan::new(Family::Ipv4, 1500) };
    let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, 1));
    end.unwrap();
    report
}

fn bottlenecks(report: &Report) -> impl Iterator<Item = &Bottleneck> {
    report.steps.iter().filter_map(|step| match step {
        Step::Bottleneck(limit) => Some(limit),
        Step::Tcp(_) | Step::PathMtu(_) | Step::BaselineRtt(_) => None,
    })
}

/// Each round trip without a rate and with the rates that the path carries: it passes, and what limits
/// it is named, in all of them.
fn expect_the_ladder_to_pass(
    link: impl Fn(Duration) -> LinkSpec,
    kind: LimitKind,
    sold: [(u64, Layer); 2],
    rtts_us: &[u64],
) {
    let mut wrong = Vec::new();
    for &rtt_us in rtts_us {
        for sold in [None, Some(sold[0]), Some(sold[1])] {
            let report = tested(&link(Duration::from_micros(rtt_us)), sold);
            let kinds: Vec<_> = bottlenecks(&report).map(|limit| limit.kind).collect();
            if report.verdict.status != Status::Pass || kinds != [kind, kind] {
                let reasons = &report.verdict.reasons;
                wrong.push(format!("{rtt_us} us, {sold:?}: {kinds:?} {reasons:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// 50 Mbit/s on the line are 50 × 1518 / 1538 = 49.35 Mbit/s of frames.
#[test]
fn a_line_passes_at_any_round_trip_with_and_without_the_rate_that_was_sold() {
    let sold = [(49_000, Layer::L2), (50_000, Layer::L1)];
    expect_the_ladder_to_pass(line, LimitKind::Queue, sold, &RTTS_US);
}

/// A shaper counts frames: 50 Mbit/s of them are 50.66 on the line.
#[test]
fn a_shaper_passes_at_any_round_trip_with_and_without_the_rate_that_was_sold() {
    let sold = [(50_000, Layer::L2), (50_600, Layer::L1)];
    expect_the_ladder_to_pass(shaper, LimitKind::Queue, sold, &RTTS_US);
}

/// At 20 us the path has 125 bytes under way, less than the smallest window of any TCP.
#[test]
fn a_deep_policer_passes_at_any_round_trip_with_and_without_the_rate_that_was_sold() {
    let sold = [(50_000, Layer::L2), (50_600, Layer::L1)];
    expect_the_ladder_to_pass(policer, LimitKind::Policer, sold, &RTTS_US);
}

/// 70 Mbit/s sold, 50 there.
#[test]
fn a_path_of_less_than_was_sold_fails_for_that_reason() {
    for rtt_us in [500, 20_000] {
        let rtt = Duration::from_micros(rtt_us);
        for link in [line(rtt), shaper(rtt), policer(rtt)] {
            let report = tested(&link, Some((70_000, Layer::L2)));
            let reasons = &report.verdict.reasons;
            assert_eq!(report.verdict.status, Status::Fail, "{rtt_us} us: {reasons:?}");
            let codes: Vec<_> = reasons.iter().map(|reason| reason.code.word()).collect();
            assert!(codes.contains(&"bottleneck_below_sold"), "{rtt_us} us: {reasons:?}");
        }
    }
}

/// 10 Mbit/s sold on a line of 50: more than was sold is no fault, and less than four times is offered
/// where nothing limits.
#[test]
fn a_path_of_more_than_was_sold_passes_and_is_offered_no_more_than_four_times_that() {
    let rtt = Duration::from_millis(10);
    for (megabits, kind) in [(20, LimitKind::Queue), (10, LimitKind::Unknown)] {
        let report = tested(&line(rtt), Some((1000 * megabits, Layer::L2)));
        assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict.reasons);
        for limit in bottlenecks(&report) {
            assert_eq!(limit.kind, kind, "{megabits} Mbit/s: {limit:?}");
        }
    }
}

/// A bucket that fills while the path rests between two trials lets as long a burst pass as it holds.
#[test]
fn the_longest_burst_that_a_policer_passes_is_what_it_holds() {
    for (seed, cbs_bytes) in [(1, 20_000), (2, 64_000), (3, 275_000)] {
        for every in [None, Some(500)] {
            let loss = every.map(LossSpec::Every);
            let police = Some(PoliceSpec::single_bucket(Rate::mbps(40), cbs_bytes));
            let delay = Duration::from_millis(27);
            let line_rate = Some(Rate::mbps(1000));
            let link = LinkSpec { line_rate, police, delay, loss, ..LinkSpec::default() };
            let path = both_ways(&link);
            let plan = Plan::new(Family::Ipv4, 1500);
            let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, seed));
            end.unwrap();
            for limit in bottlenecks(&report) {
                let burst = limit.burst_bytes.unwrap();
                let truth = cbs_bytes as f64;
                assert!(
                    (burst.at_least..=burst.at_most).contains(&truth)
                        && burst.at_most - burst.at_least < 0.02 * truth + 6.0 * 1518.0,
                    "{cbs_bytes} bytes, one of {every:?} lost: {burst:?}"
                );
            }
        }
    }
}

/// What a shaper lets go at once carries bursts that its rate alone would not: 20 segments at a time of a
/// bucket that holds them, in 10 ms, are no more than what is ideal.
#[test]
fn what_a_shaper_lets_go_at_once_is_known_and_part_of_the_ideal() {
    for burst_bytes in [32_000, 90_000] {
        let link = LinkSpec {
            shape: Some(ShapeSpec {
                rate: RATE,
                burst_bytes,
                queue: queue(Duration::from_millis(50)),
            }),
            ..line(Duration::from_millis(10))
        };
        let report = tested(&LinkSpec { line_rate: Some(Rate::mbps(1000)), ..link }, None);
        assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict.reasons);
        for limit in bottlenecks(&report) {
            let truth = burst_bytes as f64;
            let burst = limit.burst_bytes.unwrap();
            assert!((burst.estimate - truth).abs() < 1518.0, "{truth} bytes: {burst:?}");
            assert!((burst.at_least..=burst.at_most).contains(&truth), "{truth} bytes: {burst:?}");
        }
    }
    for limit in bottlenecks(&tested(&line(Duration::from_millis(10)), None)) {
        assert_eq!(limit.burst_bytes.unwrap().estimate, 0.0, "of a line");
    }
}

/// A bucket that pays for a line's rate for longer than the line is looked at: 6.6 MB of it pass.
#[test]
fn a_line_is_said_to_carry_no_more_than_was_seen() {
    let police = Some(PoliceSpec::single_bucket(Rate::bps(7_912_000), 1_320_000));
    let link =
        LinkSpec { line_rate: Some(Rate::mbps(10)), police, ..line(Duration::from_millis(2)) };
    for limit in bottlenecks(&tested(&link, None)) {
        let passes = 1_320_000.0 / (1.0 - 7.912 / (10.0 * 1518.0 / 1538.0));
        match limit.kind {
            LimitKind::Queue => {
                let carried = limit.carried_bytes.unwrap() as f64;
                assert!((1e6..passes).contains(&carried), "{limit:?}");
            }
            LimitKind::Policer | LimitKind::Unknown => {
                assert!(limit.at_least <= Rate::bps(7_912_000), "{limit:?}");
            }
            LimitKind::NotReached => panic!("{limit:?}"),
        }
    }
}

/// A frame that comes twice takes its time on the line, as one would that something behind it dropped.
#[test]
fn a_queue_behind_a_link_that_duplicates_is_no_policer() {
    let link = |line_rate, queue, duplicate| LinkSpec {
        line_rate: Some(line_rate),
        queue: Some(QueueSpec { limit: queue, aqm: Aqm::Fifo }),
        duplicate,
        delay: Duration::from_millis(6),
        ..LinkSpec::default()
    };
    let links = vec![
        link(Rate::mbps(1000), QueueLimit::Packets(100_000), Probability::new(0.00467)),
        link(Rate::bps(6_327_000), QueueLimit::Bytes(164_727), None),
    ];
    let path = PathSpec {
        near_to_far: links.clone(),
        far_to_near: links,
        ..both_ways(&line(Duration::ZERO))
    };
    for seed in 0..20 {
        let plan = Plan::new(Family::Ipv4, 1500);
        let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, seed));
        end.unwrap();
        for limit in bottlenecks(&report) {
            assert_ne!(limit.kind, LimitKind::Policer, "seed {seed}: {limit:?}");
        }
    }
}

/// The first look finds the tester's own line, whose queue grows while the policer behind it drops: a
/// queue that drops is full, and grows no more.
#[test]
fn a_policer_whose_bucket_hides_it_behind_a_slow_line_is_no_queue() {
    for (line_kbps, packets, cir_kbps, cbs_bytes) in [
        (10_000, 100_000, 3_436, 224_263),
        (100_000, 100_000, 8_694, 2_267_000),
        (100_000, 100_000, 24_381, 974_769),
        // Dense frames, sent when the bucket has won tokens again, come through at the line's rate.
        (4_662, 1, 1_494, 480_219),
        (23_000, 85, 13_254, 2_400_000),
        // The same where the bucket pays for all of the dense frames at first.
        (100_000, 100_000, 33_412, 9_814_000),
        // The line's queue outlasts a train that offers more than the line sends.
        (100_000, 100_000, 75_304, 8_960_000),
        (1_000_000, 100_000, 289_807, 53_452_000),
        (1_000_000, 100_000, 815_894, 855_554),
    ] {
        let queue = Some(QueueSpec { limit: QueueLimit::Packets(packets), aqm: Aqm::Fifo });
        let police = Some(PoliceSpec::single_bucket(Rate::bps(1000 * cir_kbps), cbs_bytes));
        let line_rate = Some(Rate::bps(1000 * line_kbps));
        let delay = Duration::from_micros(130);
        let link = LinkSpec { line_rate, queue, police, delay, ..LinkSpec::default() };
        let report = tested(&link, None);
        for limit in bottlenecks(&report) {
            let l2 = limit.rate_at(Layer::L2).as_bps() as f64;
            let truth = 1000.0 * cir_kbps as f64;
            assert_eq!(limit.kind, LimitKind::Policer, "{cbs_bytes} bytes: {limit:?}");
            assert!((l2 / truth - 1.0).abs() < 0.01, "{l2} of {truth}");
        }
    }
}

/// A line behind the policer is the limit while the bucket pays, and its queue empties when it no longer does.
#[test]
fn a_policer_in_front_of_a_line_hardly_faster_is_found() {
    for (first_kbps, cir_kbps, cbs_bytes, line_kbps, packets) in [
        (10_000, 5_987, 204_659, 6_983, 49),
        (100_000, 30_000, 2_000_000, 36_000, 200),
        // What waits in the line's queue lasts longer than the test looks: frames are lost while it empties.
        (1_000_000, 1_666, 230_239, 1_908, 201),
    ] {
        let queued = |kbps: u64, packets| LinkSpec {
            line_rate: Some(Rate::bps(1000 * kbps)),
            queue: Some(QueueSpec { limit: QueueLimit::Packets(packets), aqm: Aqm::Fifo }),
            delay: Duration::from_millis(2),
            ..LinkSpec::default()
        };
        let police = Some(PoliceSpec::single_bucket(Rate::bps(1000 * cir_kbps), cbs_bytes));
        let links =
            vec![LinkSpec { police, ..queued(first_kbps, 100_000) }, queued(line_kbps, packets)];
        let path = PathSpec {
            name: "hidden".into(),
            description: String::new(),
            near_to_far: links.clone(),
            far_to_near: links,
            gateway: None,
        };
        let plan = Plan::new(Family::Ipv4, 1500);
        let (report, end) = rfc6349::run(&plan, &mut SimTestbed::new(&path, 5));
        end.unwrap();
        for limit in bottlenecks(&report) {
            let l2 = limit.rate_at(Layer::L2).as_bps() as f64;
            let truth = 1000.0 * cir_kbps as f64;
            assert!((l2 / truth - 1.0).abs() < 0.01, "{l2} of {truth}: {limit:?}");
            assert_ne!(limit.kind, LimitKind::Queue, "{limit:?}");
        }
    }
}

/// It drops while it empties, as a policer in front of it would, and carries all that the line does.
#[test]
fn a_queue_with_active_management_is_no_policer() {
    for (line_kbps, packets) in [(2_000, 1000), (30_000, 1000), (100_000, 1000), (400_000, 10_000)]
    {
        let queue = Some(QueueSpec { limit: QueueLimit::Packets(packets), aqm: Aqm::CODEL });
        let (line_rate, delay) = (Some(Rate::bps(1000 * line_kbps)), Duration::from_millis(4));
        for limit in
            bottlenecks(&tested(&LinkSpec { line_rate, queue, delay, ..LinkSpec::default() }, None))
        {
            let off = limit.limit.rate.as_bps() as f64 / (1000.0 * line_kbps as f64) - 1.0;
            assert!(limit.kind == LimitKind::Queue && off.abs() < 0.01, "{limit:?}");
        }
    }
}

/// Frames that only the second bucket lets through come marked, and are carried as well.
#[test]
fn a_policer_that_marks_carries_what_both_of_its_buckets_let_through() {
    let mut police = PoliceSpec::single_bucket(Rate::bps(1000 * 2537), 58_261);
    (police.profile.eir_l2, police.profile.ebs_bytes) = (Rate::bps(1000 * 4957), 141_080);
    police.mark_yellow = Dscp::new(12);
    let (line_rate, delay) = (Some(Rate::mbps(10)), Duration::from_millis(100));
    let link = LinkSpec { line_rate, police: Some(police), delay, ..LinkSpec::default() };
    for limit in bottlenecks(&tested(&link, None)) {
        let truth = Rate::bps(1000 * (2537 + 4957));
        let holds = limit.at_least <= truth && limit.at_most.is_some_and(|most| most >= truth);
        let off = limit.rate_at(Layer::L2).as_bps() as f64 / truth.as_bps() as f64 - 1.0;
        assert!(holds && off.abs() < 0.02, "{limit:?}");
    }
}

/// A bucket of less than two frames earns nothing while it is full: dense frames show its rate, whatever
/// a rate that was too low made its depth seem.
#[test]
fn a_policer_with_room_for_hardly_a_frame_is_not_taken_for_a_deeper_one() {
    for (line_kbps, cir_kbps, cbs_bytes) in
        [(1_000_000, 9_800, 1_956), (100_000, 9_738, 2_094), (5_770_000, 745_470, 2_012)]
    {
        let police = Some(PoliceSpec::single_bucket(Rate::bps(1000 * cir_kbps), cbs_bytes));
        let line_rate = Some(Rate::bps(1000 * line_kbps));
        let delay = Duration::from_millis(3);
        let link = LinkSpec { line_rate, police, delay, ..LinkSpec::default() };
        for limit in bottlenecks(&tested(&link, None)) {
            // The line spaces frames: of those of the faster one, a part passes for less than its tokens.
            let truth = Rate::bps(1000 * cir_kbps);
            let holds = limit.at_least <= truth && limit.at_most.is_some_and(|most| most >= truth);
            assert!(limit.kind == LimitKind::Policer && holds, "{truth:?}: {limit:?}");
            assert!(limit.burst_bytes.is_none_or(|burst| burst.at_least <= cbs_bytes as f64));
        }
    }
}

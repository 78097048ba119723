//! Each reason from steps made for it.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use fp_model::{
    ConnectionReport, Direction, Family, Layer, LayeredRate, PacketLayout, ProbedBy, RttSummary,
    Sample,
};

use super::*;
use crate::formula::bounds::{Bounds, Loss};
use crate::path::{BaselineRtt, PathMtu};
use crate::reason::Code;
use crate::rfc6349::{Connection, Judged, Settled};

const RTT: Duration = Duration::from_millis(50);

fn plan() -> Plan {
    Plan::new(Family::Ipv4, 1500)
}

fn limit(kind: LimitKind) -> Bottleneck {
    Bottleneck {
        direction: Direction::Download,
        limit: LayeredRate { rate: Rate::mbps(40), layer: Layer::L2 },
        at_least: Rate::mbps(40),
        at_most: Some(Rate::mbps(40)),
        packet: PacketLayout::ethernet(1500, 1460),
        source: Source::Measured,
        kind,
        trials: 10,
        base_loss: None,
        overload_delay: None,
        overload_drops: false,
        burst_bytes: None,
        carried_bytes: None,
    }
}

/// Of an ideal of 38 Mbit/s this share, with nothing lost and no delay.
fn tcp(share_percent: f64) -> TcpStep {
    let slot = Sample { lasts: Duration::from_millis(100), ..Sample::default() };
    let report = ConnectionReport { rtt_min: Some(RTT), ..ConnectionReport::default() };
    TcpStep {
        direction: Direction::Download,
        bidirectional: false,
        role: Role::Throughput,
        window_fraction: 1.0,
        connections: 4,
        window_bytes: 64_000,
        bdp_bytes: 250_000,
        sender: Sender::Bulk,
        congestion_control: "cubic".into(),
        mss_bytes: 1448,
        pacing: None,
        good_bytes: 1_000_000,
        transmitted_bytes: Some(1_000_000),
        retransmitted_bytes: Some(0),
        transfer: Duration::from_secs(40),
        throughput_l4: Rate::mbps(38).scaled(share_percent / 100.0),
        ideal_l4: Rate::mbps(38),
        ideal_strict_l4: Rate::mbps(38),
        judged: Box::new(Judged {
            sold_l4: None,
            needed_cbs_bytes: None,
            throughput_l4_bounds: None,
            windows_l4: Rate::mbps(38),
            possible_l4: Rate::mbps(38),
            ideal_l4_bounds: (Rate::mbps(38), Some(Rate::mbps(38))),
            assured_l4: Rate::mbps(38),
            even_l4: None,
            share_percent_bounds: Some([share_percent, share_percent]),
            settled: Settled { from_above: true, from_below: true, leads_to: [1.0, 1.0] },
            settles_in: Duration::from_secs(6),
        }),
        transfer_time_ratio: None,
        efficiency_percent: Some(100.0),
        buffer_delay_percent: Some(0.0),
        rtt_mean: Some(RTT),
        series: Vec::from([slot]),
        flows: Vec::from([Connection {
            report,
            throughput_l4: Rate::mbps(10),
            transfer_time_ratio: None,
            efficiency_percent: None,
            buffer_delay_percent: None,
        }]),
    }
}

fn judged(plan: &Plan, limit: Bottleneck, tcp: TcpStep, health: &Health) -> Verdict {
    let steps = [Step::Bottleneck(limit), Step::Tcp(tcp)];
    judge(plan, &steps, &checks(&steps, health), None)
}

/// The status and the codes behind a policer, with a tester that has nothing against itself.
fn said(tcp: TcpStep) -> (Status, Vec<Code>) {
    let verdict = judged(&plan(), limit(LimitKind::Policer), tcp, &Health::default());
    (verdict.status, verdict.reasons.iter().map(|reason| reason.code).collect())
}

fn failed(code: Code) -> (Status, Vec<Code>) {
    (Status::Fail, Vec::from([code]))
}

#[test]
fn what_carries_the_share_that_was_asked_passes() {
    assert_eq!(said(tcp(95.0)), (Status::Pass, Vec::from([Code::ThroughputMet])));
    assert_eq!(said(tcp(94.9)).0, Status::Fail);
}

/// The same with something retransmitted.
fn lossy(step: TcpStep) -> TcpStep {
    TcpStep { efficiency_percent: Some(99.0), retransmitted_bytes: Some(10_000), ..step }
}

fn baseline(min: Duration, mean: Duration) -> Step {
    let rtt = RttSummary { min, mean, p99: mean, max: mean, samples: 100 };
    Step::BaselineRtt(BaselineRtt { rtt, sent: 100, answered: 100, by: ProbedBy::Datagrams })
}

/// Over a line, after probes whose round trips are those of `idle`.
fn said_of_a_line(tcp: TcpStep, idle: Step) -> Vec<Code> {
    let steps = [idle, Step::Bottleneck(limit(LimitKind::Queue)), Step::Tcp(tcp)];
    let verdict = judge(&plan(), &steps, &[], None);
    verdict.reasons.iter().map(|reason| reason.code).collect()
}

/// The windows take 256,000 × 8 / 38 Mbit/s = 53.9 ms to go round a full line.
#[test]
fn a_bad_transfer_time_is_told_from_by_what_was_seen_of_it() {
    assert_eq!(said(lossy(tcp(50.0))), failed(Code::ThroughputLowRetransmissions));
    assert_eq!(said(tcp(50.0)), failed(Code::ThroughputLowUnexplained));
    let none = TcpStep { good_bytes: 0, ..tcp(0.0) };
    assert_eq!(said(none), failed(Code::ThroughputNone));
    let ms = Duration::from_millis;
    let late = |rtt| TcpStep { rtt_mean: Some(ms(rtt)), ..tcp(50.0) };
    let idle = || baseline(ms(50), ms(50));
    assert_eq!(said_of_a_line(late(90), idle()), [Code::ThroughputLowDelay]);
    assert_eq!(said_of_a_line(late(53), idle()), [Code::ThroughputLowUnexplained]);
    // Round trips that vary from 50 to 90 ms by themselves are no queue.
    assert_eq!(
        said_of_a_line(late(90), baseline(ms(50), ms(70))),
        [Code::ThroughputLowUnexplained]
    );
    // Nor does anything wait in a policer.
    let verdict = judge(
        &plan(),
        &[idle(), Step::Bottleneck(limit(LimitKind::Policer)), Step::Tcp(late(90))],
        &[],
        None,
    );
    assert_eq!(verdict.reasons[0].code, Code::ThroughputLowUnexplained);
}

#[test]
fn what_its_interval_does_not_decide_is_inconclusive() {
    let with = |share: f64, half: f64| {
        let mut step = tcp(share);
        step.judged.share_percent_bounds = Some([share - half, share + half]);
        step
    };
    assert_eq!(said(with(96.0, 0.9)).0, Status::Pass);
    assert_eq!(said(with(96.0, 1.1)), (Status::Inconclusive, Vec::from([Code::TrialTooShort])));
    assert_eq!(said(with(94.0, 1.1)).0, Status::Inconclusive);
    assert_eq!(said(with(94.0, 0.9)).0, Status::Fail);
    let mut unknown = tcp(96.0);
    unknown.judged.share_percent_bounds = None;
    assert_eq!(said(unknown).0, Status::Inconclusive);
}

#[test]
fn what_is_not_known_of_the_bottleneck_fails_no_path() {
    let with = |share: f64, sold| {
        let mut step = tcp(share);
        step.judged.ideal_l4_bounds.0 = Rate::mbps(36);
        step.judged.sold_l4 = sold;
        said(step)
    };
    // Of 36 Mbit/s 95 % are 90 % of 38.
    let uncertain = (Status::Inconclusive, Vec::from([Code::BottleneckUncertain]));
    assert_eq!(with(90.1, None), uncertain);
    assert_eq!(with(89.9, None).0, Status::Fail);
    assert_eq!(with(90.1, Some(Rate::mbps(38))).0, Status::Fail);
}

/// Of a trial that is too short for its losses a last third above 95 % says no more than that; one
/// loss more costs 7.5 %.
#[test]
fn a_share_that_may_not_last_is_inconclusive() {
    let with = |share: f64, [least, most]: [f64; 2]| {
        let mut step = lossy(tcp(share));
        step.judged.settled =
            Settled { from_above: false, from_below: false, leads_to: [least, most] };
        said(step).0
    };
    assert_eq!(with(100.0, [0.99, 1.01]), Status::Inconclusive);
    assert_eq!(with(104.0, [0.99, 1.01]), Status::Pass);
    assert_eq!(with(104.0, [0.9, 1.01]), Status::Inconclusive);
    assert_eq!(with(60.0, [0.9, 1.5]), Status::Fail);
    assert_eq!(with(60.0, [0.9, 1.6]), Status::Inconclusive, "it rises to 96 %");
}

/// 20 of 38 Mbit/s are all that these windows carry.
#[test]
fn windows_that_cannot_carry_what_was_asked_say_nothing_of_a_path_that_carries_them() {
    let with = |mut step: TcpStep| {
        step.judged.windows_l4 = Rate::mbps(20);
        step.judged.assured_l4 = Rate::mbps(20);
        said(step)
    };
    let too_small = (Status::Inconclusive, Vec::from([Code::WindowsTooSmall]));
    assert_eq!(with(tcp(52.0)), too_small);
    // A longer round trip under load.
    assert_eq!(with(tcp(40.0)), too_small);
    // A server that counts no retransmissions.
    assert_eq!(with(TcpStep { retransmitted_bytes: None, ..tcp(40.0) }), too_small);
    assert_eq!(with(lossy(tcp(40.0))).0, Status::Fail);
    // Windows that carry 99.5 % of the ideal carry no more than that where more was sold.
    let mut sold = tcp(99.0);
    sold.judged.windows_l4 = Rate::bps(37_800_000);
    sold.judged.sold_l4 = Some(Rate::mbps(50));
    assert_eq!(said(sold).0, Status::Fail);
}

/// Four windows of 64,000 bytes in segments of 1448, of which each is a frame of 1518 bytes:
/// 256,000 × 1518 / 1448 = 268,376.
#[test]
fn behind_a_policer_the_burst_size_that_the_windows_need_is_named() {
    let behind = |kind, holds: Option<f64>| {
        let mut step = lossy(tcp(50.0));
        step.judged.needed_cbs_bytes = Some(256_000 * 1518 / 1448);
        let limit = Bottleneck { burst_bytes: holds.map(Bounds::exactly), ..limit(kind) };
        let verdict = judged(&plan(), limit, step, &Health::default());
        verdict.reasons[0].text.clone()
    };
    let needed = "need a committed burst size of up to 268 kB";
    for holds in [None, Some(64_000.0)] {
        let text = behind(LimitKind::Policer, holds);
        assert!(text.contains(needed), "{text}");
    }
    let text = behind(LimitKind::Policer, Some(300_000.0));
    assert!(text.contains("takes bursts of 300 kB") && !text.contains(needed), "{text}");
    assert!(!behind(LimitKind::Queue, None).contains("kB"));
}

#[test]
fn efficiency_and_buffer_delay_are_judged_where_a_limit_was_asked_for() {
    let step =
        TcpStep { efficiency_percent: Some(98.0), buffer_delay_percent: Some(20.0), ..tcp(100.0) };
    assert_eq!(said(step.clone()).0, Status::Pass);
    let mut plan = plan();
    plan.thresholds.efficiency_percent = Some(99.0);
    plan.thresholds.buffer_delay_percent = Some(10.0);
    let verdict = judged(&plan, limit(LimitKind::Queue), step, &Health::default());
    let codes: Vec<_> = verdict.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(
        (verdict.status, codes),
        (Status::Fail, Vec::from([Code::EfficiencyLow, Code::BufferDelayHigh]))
    );
}

/// Windows of 180 % of the path are sure of 180 / 280 = 64.3 % while acknowledgements wait behind
/// data: 95 % of that are 61.1 %.
#[test]
fn both_directions_at_once_are_asked_for_what_waiting_acknowledgements_leave() {
    let status = |share: f64, plan: &Plan| {
        let mut both = TcpStep { bidirectional: true, ..tcp(share) };
        both.judged.assured_l4 = Rate::mbps(38).scaled(180.0 / 280.0);
        judged(plan, limit(LimitKind::Queue), both, &Health::default()).status
    };
    assert_eq!(status(62.0, &plan()), Status::Pass);
    assert_eq!(status(61.0, &plan()), Status::Fail);
    let mut strict = plan();
    strict.thresholds.bidirectional_percent = Some(98.0);
    assert_eq!(status(62.0, &strict), Status::Fail);
}

#[test]
fn a_path_that_carries_more_than_the_tester_sends_is_not_judged() {
    let verdict = judged(&plan(), limit(LimitKind::NotReached), tcp(10.0), &Health::default());
    assert_eq!(verdict.status, Status::Info);
    assert_eq!(verdict.reasons[0].code, Code::BottleneckNotReached);
}

#[test]
fn what_the_tester_has_against_itself_makes_a_run_invalid() {
    let health = |code: Code| {
        let mut health =
            Health { frames_planned: 1000, frames_received: 1000, ..Health::default() };
        match code {
            // 11 of 1011 are 1.09 %, 11 of 1000 1.1 %: more than one.
            Code::TesterDrops => health.frames_dropped = 11,
            Code::FramesUnsent => health.frames_unsent = 11,
            Code::TesterStall => health.longest_stall = Duration::from_millis(501),
            other => panic!("nothing is known of {other:?}"),
        }
        health
    };
    for code in [Code::TesterDrops, Code::FramesUnsent, Code::TesterStall] {
        let verdict = judged(&plan(), limit(LimitKind::Policer), tcp(50.0), &health(code));
        assert_eq!((verdict.status, verdict.reasons[0].code), (Status::Invalid, code));
    }
    // In a trial of two days looks are two seconds apart, and say nothing of one stall.
    let mut coarse = tcp(100.0);
    coarse.series[0].lasts = Duration::from_secs(48 * 3600);
    let verdict = judged(&plan(), limit(LimitKind::Policer), coarse, &health(Code::TesterStall));
    assert_eq!(verdict.status, Status::Pass);
}

#[test]
fn one_frame_in_a_hundred_may_be_left_out_and_no_more() {
    let codes = |frames_unsent| {
        let health = Health { frames_planned: 1000, frames_unsent, ..Health::default() };
        let verdict = judged(&plan(), limit(LimitKind::Policer), tcp(100.0), &health);
        verdict.reasons.iter().map(|reason| reason.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(11), [Code::FramesUnsent, Code::ThroughputMet]);
    assert_eq!(codes(5), [Code::ThroughputMet], "half a percent is within the limit");
}

#[test]
fn more_than_the_ideal_says_that_the_bottleneck_is_another_unless_a_bucket_forgives_it() {
    let status = |limit| judged(&plan(), limit, tcp(106.0), &Health::default()).status;
    assert_eq!(status(limit(LimitKind::Queue)), Status::Inconclusive);
    assert_eq!(status(limit(LimitKind::Policer)), Status::Pass);
    let given = Bottleneck { source: Source::Given, ..limit(LimitKind::Queue) };
    assert_eq!(status(given), Status::Pass, "what was given is no measurement");
}

#[test]
fn a_round_trip_below_the_baseline_says_that_it_was_none() {
    let ok = |rtt| {
        let all = checks(&[baseline(rtt, rtt), Step::Tcp(tcp(100.0))], &Health::default());
        all.iter().find(|check| check.name == Code::BaselineRttIsLowest).unwrap().ok
    };
    // 50 ms were seen: 5 % and 0.1 ms below a baseline of 52 ms that is 49.3 ms, of 53 ms 50.25 ms.
    assert!(ok(Duration::from_millis(52)));
    assert!(!ok(Duration::from_millis(53)));
}

#[test]
fn whatever_the_verdict_the_path_is_remarked_on() {
    let hole = PathMtu {
        direction: Direction::Upload,
        mtu_bytes: 1400,
        black_hole: true,
        probes: 20,
        by: ProbedBy::Datagrams,
    };
    let lost = Loss { share: Bounds::exactly(0.05), frames: 1000.0 };
    let limit = Bottleneck { base_loss: Some(lost), ..limit(LimitKind::Queue) };
    let deep = TcpStep {
        window_fraction: 4.0,
        buffer_delay_percent: Some(310.0),
        rtt_mean: Some(Duration::from_millis(205)),
        ..tcp(100.0)
    };
    let said = |deep: TcpStep| {
        let steps =
            [Step::PathMtu(hole), Step::Bottleneck(limit), baseline(RTT, RTT), Step::Tcp(deep)];
        let verdict = judge(&plan(), &steps, &[], None);
        let codes = verdict.reasons.iter().map(|reason| (reason.code, reason.step));
        codes.collect::<Vec<_>>()
    };
    let mut codes = Vec::from([
        (Code::ThroughputMet, Some(3)),
        (Code::MtuBlackHole, Some(0)),
        (Code::LossTooHighForTcp, Some(1)),
        (Code::DeepQueue, Some(3)),
    ]);
    assert_eq!(said(deep.clone()), codes);
    // 25 ms there and 100 ms in the queue are less than the 150 ms of G.114.
    codes.pop();
    assert_eq!(said(TcpStep { rtt_mean: Some(Duration::from_millis(150)), ..deep }), codes);
}

/// What the user should know whatever the verdict.
const REMARKS: [Code; 3] = [Code::ThroughputMet, Code::BottleneckNotReached, Code::DeepQueue];

/// The places of the steps that do not meet what was asked, which are those that the verdict finds
/// fault with.
fn missed(plan: &Plan, steps: &[Step]) -> Vec<usize> {
    let missed: Vec<usize> =
        (0..steps.len()).filter(|place| is_met(plan, steps, *place) == Some(false)).collect();
    let verdict = judge(plan, steps, &[], None);
    let faults = verdict.reasons.iter().filter(|reason| !REMARKS.contains(&reason.code));
    let faults: BTreeSet<usize> = faults.filter_map(|reason| reason.step).collect();
    assert_eq!(faults, missed.iter().copied().collect());
    missed
}

/// Behind the policer a walk is not judged, nor is anything towards a limit that nobody reached.
#[test]
fn a_step_that_does_not_meet_what_was_asked_is_one_that_the_verdict_finds_fault_with() {
    let unreached = Bottleneck { direction: Direction::Upload, ..limit(LimitKind::NotReached) };
    let deep = TcpStep {
        window_fraction: 4.0,
        buffer_delay_percent: Some(310.0),
        rtt_mean: Some(RTT.mul_f64(4.1)),
        ..tcp(100.0)
    };
    let steps = [
        Step::Bottleneck(limit(LimitKind::Policer)),
        Step::Bottleneck(unreached),
        Step::Tcp(TcpStep { role: Role::Walk, ..tcp(10.0) }),
        Step::Tcp(tcp(95.0)),
        Step::Tcp(tcp(94.9)),
        Step::Tcp(deep),
        Step::Tcp(TcpStep { direction: Direction::Upload, ..tcp(10.0) }),
    ];
    let met = |place| is_met(&plan(), &steps, place);
    let all: Vec<Option<bool>> = (0..=steps.len()).map(met).collect();
    let (yes, no) = (Some(true), Some(false));
    assert_eq!(all, [None, None, None, yes, no, yes, None, None]);
    assert_eq!(missed(&plan(), &steps), [4]);
    let mut strict = plan();
    strict.thresholds.efficiency_percent = Some(99.0);
    strict.thresholds.buffer_delay_percent = Some(10.0);
    assert_eq!(missed(&strict, &steps), [4, 5]);
    let mut generous = plan();
    generous.thresholds.throughput_percent = 94.0;
    assert!(missed(&generous, &steps).is_empty());
}

#[test]
fn a_run_that_was_broken_off_has_no_verdict_but_says_what_is_known() {
    let steps = [Step::Bottleneck(limit(LimitKind::Policer)), Step::Tcp(tcp(50.0))];
    let lost = Abort::Lost("the far end is silent".into());
    let verdict = judge(&plan(), &steps, &[], Some(&lost));
    let codes: Vec<_> = verdict.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(verdict.status, Status::Aborted);
    assert_eq!(codes, [Code::FarEndLost, Code::ThroughputLowUnexplained]);
}

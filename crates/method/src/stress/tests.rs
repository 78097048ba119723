//! Plans, limits, checks and verdicts of connections whose figures are known.

use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;

use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsReport, ConnectionsShare,
    ConnectionsStage, Direction, Dscp, Evidence, FailedConnections, Family, FirstFailure,
    FramePorts, HeldConnections, Observation, PortRange, Replay, RetransmittedSegments,
    StoppedConnections, TesterHealth, TimeSummary,
};

use super::*;
use crate::reason::Code;
use crate::verdict::Status;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn stages(each: &[(u64, u32)]) -> Vec<ConnectionsStage> {
    each.iter()
        .map(|(lasts_s, connections)| ConnectionsStage {
            lasts: s(*lasts_s),
            connections: *connections,
        })
        .collect()
}

/// 100,000 within 5 s, held for 10, closed within 5; each asks for 1,000 bytes with 100.
fn plan() -> Plan {
    let range = |network: [u8; 4], count| AddressRange {
        network: IpAddr::V4(Ipv4Addr::from(network)),
        prefix_bits: 16,
        first: 1,
        count,
    };
    let behaviour =
        Behaviour::Transaction { request_bytes: 100, response_bytes: 1000, think: s(10) };
    Plan {
        direction: Direction::Upload,
        family: Family::Ipv4,
        dscp: Dscp::BEST_EFFORT,
        load: ConnectionsLoad {
            stages: stages(&[(5, 100_000), (10, 100_000), (5, 0)]),
            setup_rate_max: None,
            mix: vec![ConnectionsShare { weight: 1, behaviour }],
            lifetime: None,
            close: Close::Fin,
            addresses: ConnectionAddresses {
                clients: range([198, 18, 0, 0], 64),
                servers: range([198, 19, 0, 0], 1),
                client_ports: PortRange { first: 1024, last: 65_535 },
                server_ports: PortRange { first: 80, last: 80 },
                translated: false,
            },
            mss_bytes: 1460,
            window_bytes: 65_535,
            retransmissions_max: 6,
            syn_retransmissions_max: 3,
            ports: FramePorts::PacketSockets,
        },
        settle: s(3),
        criteria: Criteria::default(),
    }
}

/// All that was asked for.
fn whole() -> ConnectionsReport {
    ConnectionsReport {
        attempted: 100_000,
        established: 100_000,
        closed: 100_000,
        active_peak: 100_000,
        held: Some(HeldConnections { wanted: 100_000, least: 100_000, most: 100_000 }),
        setup_rate_peak: 20_000,
        transactions: 200_000,
        upload_good_bytes: 20_000_000,
        download_good_bytes: 200_000_000,
        ..ConnectionsReport::default()
    }
}

fn judged_by(plan: &Plan, observation: Observation) -> Report {
    let evidence = Evidence { trial: trial(plan), observation };
    let (report, end) = run(plan, &mut Replay::of(vec![evidence]));
    end.unwrap();
    report
}

fn judged(plan: &Plan, counted: ConnectionsReport) -> Report {
    let flows = vec![FlowReport::Connections(counted)];
    judged_by(plan, Observation { flows, ..Observation::default() })
}

fn codes(report: &Report) -> Vec<Code> {
    report.verdict.reasons.iter().map(|reason| reason.code).collect()
}

fn said(report: &Report, code: Code) -> String {
    let reason = report.verdict.reasons.iter().find(|reason| reason.code == code);
    reason.unwrap_or_else(|| panic!("no {code:?}: {:?}", report.verdict)).text.clone()
}

fn only(report: &Report) -> &StressStep {
    let [Step::Stress(step)] = report.steps.as_slice() else { panic!("{report:?}") };
    step
}

/// 220,000,000 bytes in 20 s are 88 Mbit/s.
#[test]
fn what_was_asked_for_and_came_passes() {
    let report = judged(&plan(), whole());
    assert_eq!((report.verdict.status, codes(&report)), (Status::Pass, vec![]));
    let step = only(&report);
    assert_eq!((step.good_bytes, step.throughput_l4), (220_000_000, Rate::mbps(88)));
    assert_eq!((step.connections_target, step.limit), (100_000, None));
    assert!(report.checks.iter().all(|check| check.ok) && report.checks.len() == 5);
}

#[test]
fn the_trial_lasts_as_long_as_the_stages_and_what_closing_takes() {
    let trial = trial(&plan());
    assert_eq!(trial.name, "100000 connections");
    let timing = trial.timing;
    assert_eq!((timing.warm_up, timing.steady, timing.settle), (s(0), s(20), s(3)));
    assert_eq!(trial.flows.len(), 1);
    assert_eq!(trial.flows[0].load, Load::Connections(plan().load));
}

/// A table of 65,536 entries: 34,464 of 100,000 are missing, 30,000 were given up and the rest were
/// still asking when all was over.
#[test]
fn a_table_that_is_full_is_named_with_how_many_it_held() {
    let failed = FailedConnections { no_answer: 30_000, ..FailedConnections::default() };
    let counted = ConnectionsReport {
        established: 65_536,
        closed: 65_536,
        given_up: 4_464,
        active_peak: 65_536,
        held: None,
        failed,
        first_failure: Some(FirstFailure { at: s(18), active: 65_536 }),
        ..whole()
    };
    let report = judged(&plan(), counted);
    assert_eq!(report.verdict.status, Status::Fail);
    assert_eq!(
        codes(&report),
        [Code::TargetMissed, Code::LimitFound, Code::ConnectionsFailed, Code::FirstFailure]
    );
    let limit = Limit { active: 65_536, cause: Cause::NoAnswer };
    assert_eq!(only(&report).limit, Some(limit));
    let named = "new connections stopped being answered at 65536 active";
    assert_eq!(said(&report, Code::LimitFound), named);
    assert_eq!(
        said(&report, Code::TargetMissed),
        "65536 of 100000 connections were open at once at most"
    );
    assert_eq!(
        said(&report, Code::ConnectionsFailed),
        "30000 of 100000 connections failed (30.000 %, 0.1 % allowed): 30000 not answered"
    );
    assert!(
        said(&report, Code::FirstFailure).contains("18.000 s after the start, with 65536 active")
    );
}

#[test]
fn a_limit_is_named_by_what_became_of_most_of_those_beyond_it() {
    let limit = |failed: FailedConnections, given_up| {
        let counted = ConnectionsReport { active_peak: 60_000, failed, given_up, ..whole() };
        limit::of(100_000, 3, &counted)
    };
    let none = FailedConnections::default();
    let of = |cause| Some(Limit { active: 60_000, cause });
    // 40,000 are missing: half of them must have failed in the same way.
    assert_eq!(limit(FailedConnections { refused: 20_000, ..none }, 0), of(Cause::Refused));
    assert_eq!(limit(FailedConnections { refused: 19_999, ..none }, 0), None);
    assert_eq!(
        limit(FailedConnections { reset: 39_000, refused: 500, ..none }, 7),
        of(Cause::Reset)
    );
    assert_eq!(limit(FailedConnections { timed_out: 40_000, ..none }, 0), of(Cause::TimedOut));
    assert_eq!(limit(none, 40_000), of(Cause::NoAnswer), "still asking when all was over");
    assert_eq!(limit(none, 0), None);
    // 20,000 that were asked for three times more, or more of them less often, and then answered.
    let late = |syn| {
        let retransmissions = RetransmittedSegments { syn, ..whole().retransmissions };
        limit::of(
            100_000,
            3,
            &ConnectionsReport { retransmissions, active_peak: 60_000, ..whole() },
        )
    };
    assert_eq!(late(60_000), of(Cause::NoAnswer));
    assert_eq!(late(59_999), None);
    // Those that were renewed in vain while the number was reached are no limit.
    let failed = FailedConnections { no_answer: 500, ..none };
    assert_eq!(limit::of(100_000, 3, &ConnectionsReport { failed, ..whole() }), None);
    // Of 100,000 that a path with a little loss is asked for, some wait when all is over.
    let unlucky = |given_up| {
        let active_peak = 100_000 - given_up as u32;
        limit::of(100_000, 3, &ConnectionsReport { active_peak, given_up, ..whole() })
    };
    assert_eq!(unlucky(99), None);
    assert_eq!(unlucky(100), Some(Limit { active: 99_900, cause: Cause::NoAnswer }));
    let each = [Cause::NoAnswer, Cause::Refused, Cause::Reset, Cause::TimedOut];
    let sentences = each.map(|cause| Limit { active: 7, cause }.to_string());
    assert!(sentences.iter().all(|sentence| sentence.contains('7')), "{sentences:?}");
}

/// Of 200,000 there was time to ask for 82,000: 64,512 were answered, half of the other 17,488 are
/// 8,744. Of few the same share says nothing: of 65,000 asked for, 488.
#[test]
fn a_table_that_is_full_is_named_though_not_all_were_asked_for() {
    let limit = |attempted, no_answer| {
        let failed = FailedConnections { no_answer, ..FailedConnections::default() };
        let counted = ConnectionsReport { attempted, failed, active_peak: 64_512, ..whole() };
        limit::of(200_000, 3, &counted)
    };
    let found = Some(Limit { active: 64_512, cause: Cause::NoAnswer });
    assert_eq!((limit(82_000, 8_744), limit(82_000, 8_743)), (found, None));
    assert_eq!((limit(65_000, 488), limit(64_512, 0)), (None, None));
    // One of a hundred that were open: 646 do, 645 do not.
    assert_eq!((limit(65_158, 646), limit(65_157, 645)), (found, None));
    assert_eq!(limit::of(200_000, 3, &ConnectionsReport::default()), None);
}

/// 0.1 % of 100,000 are 100.
#[test]
fn a_number_is_held_to_a_thousandth_of_it() {
    let held = |least, most| {
        let held = Some(HeldConnections { wanted: 100_000, least, most });
        codes(&judged(&plan(), ConnectionsReport { held, ..whole() })).contains(&Code::NotHeld)
    };
    assert!(!held(99_900, 100_100));
    assert!(held(99_899, 100_000) && held(100_000, 100_101));
    let mut loose = plan();
    loose.criteria.held_tolerance_percent = 1.0;
    let wide = Some(HeldConnections { wanted: 100_000, least: 99_000, most: 101_000 });
    let report = judged(&loose, ConnectionsReport { held: wide, ..whole() });
    assert_eq!(report.verdict.status, Status::Pass);
}

/// Of 50, a thousandth is less than one; one more or less is what renewing takes.
#[test]
fn of_few_connections_one_more_or_fewer_is_held() {
    let mut few = plan();
    few.load.stages = stages(&[(1, 50), (5, 50)]);
    let held = |least, most| {
        let held = Some(HeldConnections { wanted: 50, least, most });
        let (attempted, established, closed) = (50, 50, 50);
        let counts = ConnectionsReport { attempted, established, closed, ..whole() };
        let counted = ConnectionsReport { active_peak: 50, held, ..counts };
        judged(&few, counted).verdict.status
    };
    assert_eq!((held(49, 51), held(48, 50)), (Status::Pass, Status::Fail));
}

#[test]
fn connections_that_carry_nothing_fail_by_what_they_were_to_do() {
    let silent = ConnectionsReport {
        transactions: 0,
        upload_good_bytes: 0,
        download_good_bytes: 0,
        ..whole()
    };
    let behaviours = [
        (plan().load.mix[0].behaviour, Some("no response")),
        (Behaviour::Download { rate: None }, Some("from the servers")),
        (Behaviour::Upload { rate: None }, Some("to the servers")),
        (Behaviour::Both { rate: None }, Some("both ways")),
        (Behaviour::Hold, None),
    ];
    for (behaviour, what) in behaviours {
        let mut plan = plan();
        plan.load.mix = vec![ConnectionsShare { weight: 1, behaviour }];
        let report = judged(&plan, silent.clone());
        match what {
            Some(what) => assert!(said(&report, Code::NotTransferred).contains(what)),
            None => assert_eq!(report.verdict.status, Status::Pass),
        }
    }
}

#[test]
fn what_was_never_asked_for_is_the_testers_fault() {
    // 99,900 are a thousandth less.
    let of = |attempted| {
        let (established, closed) = (attempted, attempted);
        let counts = ConnectionsReport { attempted, established, closed, ..whole() };
        let active_peak = attempted as u32;
        let counted = ConnectionsReport { active_peak, held: None, ..counts };
        judged(&plan(), counted)
    };
    assert_eq!(of(99_900).verdict.status, Status::Fail);
    let report = of(99_899);
    assert_eq!(report.verdict.status, Status::Invalid);
    assert!(said(&report, Code::ConnectionsUnasked).contains("did not get to ask"));
}

/// 300,000 packets to open, 300,000 to close and 150,684 segments of 1,460 bytes: 750 are a
/// thousandth.
#[test]
fn an_end_that_drops_packets_or_stands_still_says_so() {
    let with = |near| {
        let flows = vec![FlowReport::Connections(whole())];
        judged_by(&plan(), Observation { flows, near, ..Observation::default() })
    };
    let drops = |dropped_packets| {
        with(TesterHealth { dropped_packets, ..TesterHealth::default() }).verdict.status
    };
    assert_eq!((drops(750), drops(751)), (Status::Pass, Status::Invalid));
    let stall = |longest_stall| {
        with(TesterHealth { longest_stall, ..TesterHealth::default() }).verdict.status
    };
    assert_eq!(stall(Duration::from_millis(1000)), Status::Pass);
    assert_eq!(stall(Duration::from_millis(1001)), Status::Invalid);
}

#[test]
fn payload_that_nobody_sent_spoils_the_run_and_a_wrong_checksum_does_not() {
    let corrupt = ConnectionsReport { corrupt_payload_bytes: 1, ..whole() };
    assert_eq!(judged(&plan(), corrupt).verdict.status, Status::Invalid);
    let spoilt = ConnectionsReport { bad_checksums: 12, ..whole() };
    let report = judged(&plan(), spoilt);
    assert_eq!(report.verdict.status, Status::Findings);
    assert!(said(&report, Code::BadChecksums).starts_with("12 packets"));
}

/// No connection was established, and none was to be.
#[test]
fn a_handshake_that_nobody_made_is_none_that_was_short_enough() {
    let mut plan = plan();
    plan.criteria.handshake_p99_max = Some(Duration::from_millis(19));
    let counted = ConnectionsReport { handshake: None, ..whole() };
    let report = judged(&plan, counted);
    assert_eq!(report.verdict.status, Status::Invalid);
    assert!(said(&report, Code::CriteriaNotMeasured).contains("--max-handshake"));
}

/// 100,000 were attempted.
#[test]
fn more_connections_than_were_asked_for_are_none_of_this_network() {
    let report = judged(&plan(), ConnectionsReport { established: 100_001, ..whole() });
    assert_eq!(report.verdict.status, Status::Invalid);
    assert_eq!(report.verdict.reasons[0].code, Code::CountsConserved);
}

#[test]
fn criteria_of_speed_are_judged_where_they_are_given() {
    let handshake = TimeSummary { p99: Duration::from_millis(31), ..TimeSummary::default() };
    let counted = ConnectionsReport { handshake: Some(handshake), ..whole() };
    let mut plan = plan();
    let status = |plan: &Plan| judged(plan, counted.clone()).verdict.status;
    plan.criteria.setup_rate_min = Some(20_000);
    plan.criteria.handshake_p99_max = Some(Duration::from_millis(31));
    assert_eq!(status(&plan), Status::Pass);
    plan.criteria.setup_rate_min = Some(20_001);
    plan.criteria.handshake_p99_max = Some(Duration::from_millis(30));
    let report = judged(&plan, counted.clone());
    assert_eq!(codes(&report), [Code::SetupRateLow, Code::HandshakeSlow]);
}

/// At 10,000/s, 5 s and 10 s leave time for 150,000, and the first stage for 50,000.
#[test]
fn a_rate_that_cannot_reach_the_number_is_refused_with_what_it_can() {
    let at = |rate, each: &[(u64, u32)]| {
        let mut plan = plan();
        plan.load.setup_rate_max = Some(rate);
        plan.load.stages = stages(each);
        plan.check()
    };
    assert_eq!(at(10_000, &[(5, 100_000), (10, 100_000), (5, 0)]), Ok(()));
    let too_slow = |possible| Err(PlanError::TooSlow { rate: 10_000, wanted: 200_000, possible });
    assert_eq!(at(10_000, &[(5, 200_000), (10, 200_000)]), too_slow(150_000));
    // What a stage closes has to be opened again.
    assert_eq!(at(10_000, &[(5, 50_000), (1, 0), (5, 200_000)]), too_slow(50_000));
    assert_eq!(at(0, &[(5, 1)]), Err(PlanError::NoRate));
    assert_eq!(at(1, &[(5, 0)]), Err(PlanError::NoConnections));
    assert_eq!(at(1, &[(0, 1)]), Err(PlanError::NoTime));
    assert_eq!(at(1, &[(86_401, 1)]), Err(PlanError::TooLong { lasts: s(86_401) }));
    let text = at(10_000, &[(5, 200_000)]).unwrap_err().to_string();
    assert!(text.contains("10000 connections/s") && text.contains("50000 of 200000"), "{text}");
}

/// What would have come is nobody's fault; what had failed by then has failed.
#[test]
fn a_trial_that_was_stopped_is_kept_and_passes_nothing() {
    let stopped = StoppedConnections { at: s(2), until: s(4), active: 40_000, is_abort: false };
    let so_far = ConnectionsReport {
        attempted: 40_100,
        established: 40_000,
        closed: 40_000,
        given_up: 100,
        active_peak: 40_000,
        held: None,
        transactions: 0,
        stopped: Some(stopped),
        ..whole()
    };
    let judged = |plan: &Plan, counted: ConnectionsReport| {
        let flows = vec![FlowReport::Connections(counted)];
        let observation = Observation { flows, ..Observation::default() };
        let evidence = Evidence { trial: trial(plan), observation };
        let (report, end) = run(plan, &mut Replay::of(vec![evidence]));
        assert_eq!(end, Err(Abort::Stopped));
        assert_eq!((report.verdict.status, is_met(plan, &report, 0)), (Status::Aborted, None));
        report
    };
    let mut plan = plan();
    plan.criteria.setup_rate_min = Some(30_000);
    let report = judged(&plan, so_far.clone());
    assert_eq!(codes(&report), [Code::Stopped]);
    let text = said(&report, Code::Stopped);
    assert!(text.starts_with("stopped 2.000 s after the start, with 40000 connections"), "{text}");
    let step = only(&report);
    // 220,000,000 bytes in 4 s.
    assert_eq!((step.limit, step.throughput_l4), (None, Rate::mbps(440)));
    let failed = FailedConnections { refused: 60_000, ..FailedConnections::default() };
    let report = judged(&plan, ConnectionsReport { failed, attempted: 100_100, ..so_far });
    assert_eq!(codes(&report), [Code::Stopped, Code::LimitFound, Code::ConnectionsFailed]);
}

#[test]
fn a_trial_that_gave_nothing_is_aborted_and_not_judged() {
    let (report, end) = run(&plan(), &mut Replay::of(Vec::new()));
    assert!(end.is_err() && report.steps.is_empty());
    assert_eq!(report.verdict.status, Status::Aborted);
}

//! Every search of a throughput over simulated networks: what it finds, and in how many trials.

use fp_method::mlr::Goal;
use fp_method::rfc2544::{Durations, Limit, Plan, SearchKind, Step, Test, Way};
use fp_model::{Layer, Rate};
use fp_net::path::{LinkSpec, LossSpec, PathSpec, Probability};
use proptest::prelude::*;
use std::time::Duration;

use super::network::{plan, policed, port, rate_l2, run, throughputs, upwards};

const GIGABIT: Rate = Rate::mbps(1000);

fn throughput(frame_bytes: u32) -> Plan {
    plan(frame_bytes, Test::Throughput)
}

/// The rate that a slow port carries at layer 2.
fn carried_l2(line: Rate, frame_bytes: u32) -> f64 {
    line.as_bps() as f64 * f64::from(frame_bytes) / f64::from(frame_bytes + 20)
}

fn assert_within(found: f64, truth: f64, percent: f64) {
    assert!((found / truth - 1.0).abs() * 100.0 <= percent, "{found} of {truth}");
}

//= rfc2544 26.1
/// An Ethernet's rate, which trains of frames have shown, passes, as it does a little above it where a queue
/// takes the rest; then one is lost.
#[test]
fn a_fast_search_finds_a_slower_port_behind_a_queue_in_three_trials() {
    for frame_bytes in [64, 512, 1518] {
        let path = upwards(&[port(GIGABIT), port(Rate::mbps(100))]);
        let (rate, trials) = rate_l2(&run(&throughput(frame_bytes), &path));
        assert_within(rate, carried_l2(Rate::mbps(100), frame_bytes), 0.15);
        assert!(trials <= 3, "{frame_bytes} bytes: {trials}");
    }
}

/// A trial that begins with a full bucket passes 8 · CBS / T too much.
#[test]
fn a_fast_search_is_not_misled_by_the_bucket_of_a_policer() {
    for cbs_bytes in [8_000, 64_000, 400_000] {
        let path = upwards(&[policed(GIGABIT, Rate::mbps(40), cbs_bytes)]);
        let (rate, trials) = rate_l2(&run(&throughput(512), &path));
        assert_within(rate, 40e6, 0.15);
        assert!(trials <= 5, "{trials}");
    }
}

/// Of its longest frames a policer of 9.881 Mbit/s passes what an Ethernet of 10 Mbit/s carries, of short ones 6 % more.
#[test]
fn a_policer_is_not_taken_for_an_ethernet_of_nearly_its_rate() {
    let path = upwards(&[policed(GIGABIT, Rate::bps(9_881_000), 64_000)]);
    let frame_lengths_bytes = vec![256, 1518];
    let report = run(&Plan { frame_lengths_bytes, line_rate_l1: None, ..throughput(256) }, &path);
    let found: Vec<_> = throughputs(&report).iter().map(|found| found.found.unwrap()).collect();
    assert_eq!(found.len(), 2);
    for rate in found {
        assert_within(rate.at(Layer::L2).as_bps() as f64, 9.881e6, 0.15);
    }
}

/// 1 Gbit/s in steps of 0.1 % of what comes through: 100,000,000 / 100,000 halve ten times, and ten
/// times as much four more times.
#[test]
fn a_binary_search_takes_as_many_trials_as_its_range_can_be_halved() {
    let path = upwards(&[port(GIGABIT), port(Rate::mbps(100))]);
    let binary = Plan { search: SearchKind::Binary, ..throughput(1518) };
    let (rate, trials) = rate_l2(&run(&binary, &path));
    assert_within(rate, carried_l2(Rate::mbps(100), 1518), 0.15);
    assert!(trials <= 1 + 14, "{trials}");
}

#[test]
fn a_line_that_carries_everything_takes_one_trial() {
    for search in [SearchKind::Binary, SearchKind::Fast] {
        let report = run(&Plan { search, ..throughput(256) }, &upwards(&[port(GIGABIT)]));
        let found = throughputs(&report)[0];
        assert_eq!(found.trials.len(), 1);
        assert_eq!(found.percent_of_line(), Some(100.0));
        assert_eq!(found.limit, Limit::Line);
    }
}

/// A queue of 1000 frames takes in an excess of 1 % for twelve seconds before it loses anything.
#[test]
fn a_rate_that_only_fills_a_queue_does_not_pass() {
    let short = Plan { line_rate_l1: Some(Rate::mbps(101)), ..throughput(1518) };
    let path = upwards(&[port(GIGABIT), port(Rate::mbps(100))]);
    let (rate, _) = rate_l2(&run(&short, &path));
    assert_within(rate, carried_l2(Rate::mbps(100), 1518), 0.15);
}

fn lossy(share: f64) -> PathSpec {
    let loss = Some(LossSpec::Random(Probability::new(share).unwrap()));
    upwards(&[port(GIGABIT), LinkSpec { loss, ..port(Rate::mbps(100)) }])
}

#[test]
fn random_loss_below_what_is_accepted_changes_nothing() {
    let accepting = Plan { accepted_loss_ratio: 0.005, ..throughput(512) };
    let report = run(&accepting, &lossy(0.001));
    let (rate, _) = rate_l2(&report);
    // 0.5 % may be lost, of which chance takes 0.1 %: so much more than the line may be offered.
    let line = carried_l2(Rate::mbps(100), 512);
    assert!(rate >= line * 0.998 && rate <= line * 1.006, "{rate} of {line}");
}

#[test]
fn a_network_that_loses_at_any_rate_has_no_throughput_and_the_report_says_so() {
    for search in [SearchKind::Binary, SearchKind::Fast, SearchKind::Mlr] {
        let report = run(&Plan { search, ..throughput(64) }, &lossy(0.2));
        assert_eq!(throughputs(&report)[0].found, None);
        let codes: Vec<_> =
            report.verdict.reasons.iter().map(|reason| reason.code.word()).collect();
        assert_eq!(codes, ["no_rate_passed"]);
    }
}

#[test]
fn each_direction_has_its_own_throughput_and_both_together_the_lower_one() {
    let asymmetric = PathSpec {
        far_to_near: vec![port(GIGABIT), port(Rate::mbps(100))],
        ..upwards(&[port(GIGABIT), port(Rate::mbps(20))])
    };
    let ways = vec![Way::Download, Way::Upload, Way::Bidirectional];
    let report = run(&Plan { ways, ..throughput(1024) }, &asymmetric);
    for (found, line) in throughputs(&report).iter().zip([100, 20, 20]) {
        let rate = found.found.unwrap().at(Layer::L2).as_bps() as f64;
        assert_within(rate, carried_l2(Rate::mbps(line), 1024), 0.15);
    }
}

#[test]
fn a_line_is_found_with_the_longest_frames_if_nobody_gives_its_rate() {
    for (mbps, line) in [(10, Some(10)), (100, Some(100)), (37, None)] {
        let unknown = Plan { line_rate_l1: None, ..throughput(256) };
        let path = upwards(&[port(GIGABIT), port(Rate::mbps(mbps))]);
        let report = run(&unknown, &path);
        let known = report.steps.iter().find_map(|step| match step {
            Step::LineRate(found) => Some(found.line_l1),
            _ => None,
        });
        assert_eq!(known, Some(line.map(Rate::mbps)));
        assert_within(rate_l2(&report).0, carried_l2(Rate::mbps(mbps), 256), 0.15);
    }
}

//= rfc2544 24
#[test]
fn a_throughput_is_confirmed_by_a_trial_as_long_as_the_plan_asks() {
    let confirmation = Some(Duration::from_secs(20));
    let durations = Durations { confirmation, ..Durations::SHORT };
    let path = upwards(&[port(GIGABIT), port(Rate::mbps(10))]);
    let report = run(&Plan { durations, ..throughput(1518) }, &path);
    let trials = &throughputs(&report)[0].trials;
    let last = trials.last().unwrap();
    assert!(last.confirmation && last.passed);
    assert_eq!(last.lasts, Duration::from_secs(20));
    assert_within(rate_l2(&report).0, carried_l2(Rate::mbps(10), 1518), 0.25);
}

fn goal(loss_ratio: f64, width: f64) -> Goal {
    Goal { loss_ratio, width, ..Plan::SHORT_GOAL }
}

//= rfc9971 4.6.8
//= rfc9971 4.8.4
/// 1 % lost at 100 / 0.99 of the capacity.
#[test]
fn an_mlrsearch_finds_the_bounds_of_each_of_its_goals() {
    let goals = vec![goal(0.0, 0.002), goal(0.01, 0.002)];
    let mlr = Plan { search: SearchKind::Mlr, goals, ..throughput(512) };
    let report = run(&mlr, &upwards(&[policed(GIGABIT, Rate::mbps(40), 8000)]));
    let found = throughputs(&report)[0];
    assert_within(found.found.unwrap().at(Layer::L2).as_bps() as f64, 40e6, 0.3);
    let to_l2 = 512.0 / 532.0;
    for ((_, result), truth) in found.goals.iter().zip([40e6, 40e6 / 0.99]) {
        assert!(result.is_regular, "{result:?}");
        let [lower, upper] = [result.lower, result.upper].map(|load| load.unwrap().as_bps() as f64);
        // The bucket's 8000 bytes and the silence before a trial are 0.2 % of 40 Mbit/s in a second.
        assert!(lower * to_l2 <= truth * 1.002, "{lower} of {truth}");
        assert!(upper * to_l2 >= truth, "{upper} of {truth}");
        assert!((upper - lower) <= 0.002 * upper);
    }
    let [(_, strict), (_, partial)] = found.goals[..] else { panic!("two goals") };
    assert_eq!(strict.conditional_throughput, strict.lower);
    // The conditional throughput is less than the load by what the goal lets be lost.
    assert!(partial.conditional_throughput < partial.lower);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_policer_is_found_by_a_fast_search_in_few_trials(
        cir_mbps in 2_u64..200, cbs_bytes in 2_000_u64..200_000,
        frame_bytes in prop::sample::select(vec![64_u32, 128, 512, 1024, 1518]),
    ) {
        let path = upwards(&[policed(GIGABIT, Rate::mbps(cir_mbps), cbs_bytes)]);
        let (rate, trials) = rate_l2(&run(&throughput(frame_bytes), &path));
        // A frame more or less in a second, and the silence before it, beside the step.
        let frame_percent = 100.0 * f64::from(frame_bytes * 8) / (cir_mbps as f64 * 1e6);
        assert_within(rate, cir_mbps as f64 * 1e6, 0.15 + 2.0 * frame_percent);
        prop_assert!(trials <= 8, "{trials}");
    }
}

/// 100 Mbit/s over frames of 1522 and of 132 bytes, tag, preamble and gap included. The sender puts
/// four bytes less of each on its line.
#[test]
fn a_tag_that_the_network_adds_counts_in_lengths_and_rates() {
    let path = upwards(&[port(GIGABIT), LinkSpec { vlan_tags: 1, ..port(Rate::mbps(100)) }]);
    for frame_bytes in [132, 1522] {
        let report = run(&Plan { vlan_tags: 1, ..throughput(frame_bytes) }, &path);
        let (rate, _) = rate_l2(&report);
        assert_within(rate, carried_l2(Rate::mbps(100), frame_bytes), 0.15);
    }
}

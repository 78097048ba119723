//! The RFC 6349 method over the lab, with real traffic between real TCP stacks.
//!
//! The tolerances are those of the lab: a frame is released up to 50 microseconds late, a policer
//! counts whole frames, a bottleneck search resolves a quarter of a percent.

use super::result::{number, output, run};
use super::tcp::expect_bottleneck;

/// Where the tester says that the host disturbed it, its rates prove nothing; what it found of the
/// path does.
#[test]
fn a_line_of_100_mbit_is_found_and_filled() {
    let run = run(&["test", "--lab", "line-100m-10ms", "-q", "--sender", "bulk"]);
    run.expect_pass();
    for step in run.steps("path_mtu") {
        assert_eq!((&step["mtu_bytes"], &step["black_hole"]), (&1500.into(), &false.into()));
    }
    let baseline = run.steps("baseline_rtt")[0];
    assert!((number(baseline, "rtt_min_ms") - 10.211).abs() < 0.1, "{baseline}");
    if !run.is_valid() {
        return;
    }
    expect_bottleneck(&[&run], "rate_bps", 100e6);
    assert!(run.steps("bottleneck").iter().all(|step| step["layer"] == "l1"));
    for step in run.alone("bulk") {
        let share = number(step, "throughput_bps") / number(step, "ideal_bps");
        assert!(share >= 0.97 - run.lateness_share(10.211), "{share}: {step}");
        // The path loses nothing. A sender whose host stands still for two round trips probes with one
        // segment (RFC 8985, section 7.2): a few such stalls are a few of 20,000 segments.
        assert!(number(step, "efficiency_percent") >= 99.95, "{step}");
    }
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_in_both_directions_over_ipv6() {
    expect_black_hole("-6");
}

/// What TCP carries afterwards matters no more than that it carries anything.
pub(crate) fn expect_black_hole(family: &str) {
    let words = ["test", "--lab", "blackhole-1400", "-q", "--cir", "50M", "--sender", "bulk"];
    let run = run(&[&words[..], &["-t", "500ms", family]].concat());
    let found = run.steps("path_mtu");
    assert_eq!(found.len(), 2, "{}", run.stderr);
    for step in found {
        assert_eq!((&step["mtu_bytes"], &step["black_hole"]), (&1400.into(), &true.into()));
    }
    assert!(run.tcp("throughput", "bulk").iter().all(|step| number(step, "good_bytes") > 0.0));
}

#[test]
fn a_network_that_nobody_knows_is_bad_input() {
    let output = output(["test", "--lab", "metro-40m-cbs65k"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("metro-40m-cbs64k"), "names the nearest: {said}");
}

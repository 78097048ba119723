//! Lines, policers and black holes, by the whole RFC 6349 test.
//!
//! The tolerances are those of the lab: a frame is released up to 50 microseconds late, a policer
//! counts whole frames, a bottleneck search resolves a quarter of a percent.

use serde_json::Value;

use super::Run;
use crate::result::{Finished, number, within_percent};
use crate::tcp::expect_bursts_cost_most;

/// 100 Mbit/s at layer 1 and 5.1055 ms each way, with few trials, as short as they may be: too short to
/// ask what both directions carry at once, which depends on how their acknowledgements meet.
pub(crate) fn a_line_of_100_mbit_is_found(run: Run) {
    let few = ["-t", "500ms", "-w", "128K", "-P", "1", "--pass-bidirectional", "1"];
    found_line(run, &few);
}

/// The same with trials of the usual length: the line is full.
pub(crate) fn a_line_of_100_mbit_is_found_and_filled(run: Run) {
    let run = found_line(run, &[]);
    for step in run.alone("bulk") {
        let share = number(step, "throughput_bps") / number(step, "ideal_bps");
        assert!(share >= 0.97 - run.lateness_share(10.211), "{share}: {step}");
        // The path loses nothing. A sender whose host stands still for two round trips probes with one
        // segment (RFC 8985, section 7.2): a few such stalls are a few of 20,000 segments.
        assert!(number(step, "efficiency_percent") >= 99.95, "{step}");
    }
}

/// The probe of 100 bytes adds 138 bytes of line to the round trip twice, 0.022 ms.
fn found_line(run: Run, words: &[&str]) -> Finished {
    let run = run("line-100m-10ms", "test", &[&["--sender", "bulk"], words].concat());
    run.expect_pass();
    for step in run.steps("path_mtu") {
        assert_eq!((&step["mtu_bytes"], &step["black_hole"]), (&1500.into(), &false.into()));
    }
    let baseline = run.steps("baseline_rtt")[0];
    assert!((number(baseline, "rtt_min_ms") - 10.211).abs() < 0.1, "{baseline}");
    let bottleneck = run.steps("bottleneck");
    assert_eq!(bottleneck.len(), 2);
    for step in bottleneck {
        assert_eq!(step["layer"], "l1");
        assert!(within_percent(number(step, "rate_bps"), 100e6, 0.5), "{step}");
    }
    run
}

/// Four windows of 64 KB burst into a bucket of 64,000 bytes: a hardware tester measured 13.5 of
/// 38 Mbit/s, and the round trip stayed where it was.
pub(crate) fn a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput(run: Run) {
    let words = ["--cir", "40M", "--sender", "burst", "-C", "reno", "-w", "64K", "-P", "4"];
    expect_bursts_cost_most(&run("metro-40m-cbs64k", "test", &words));
}

pub(crate) fn a_bucket_as_large_as_the_bursts_costs_nothing(run: Run) {
    let run = run("metro-40m-cbs275k", "test", &[]);
    run.expect_pass();
    for step in run.steps("bottleneck") {
        assert_eq!((&step["layer"], &step["kind"]), (&"l2".into(), &"policer".into()));
        assert!(within_percent(number(step, "rate_l2_bps"), 40e6, 0.5), "{step}");
    }
    let late = run.lateness_share(54.0);
    for step in run.tcp("throughput", "bulk") {
        expect_no_cost(step, late);
    }
}

/// Windows arrive whole, 47 of each connection in the 47 round trips of 54 ms that fit into the steady
/// time: at either end of it one may be cut off.
fn expect_no_cost(step: &Value, late: f64) {
    let share = number(step, "throughput_bps") / number(step, "ideal_bps");
    assert!(share >= 1.0 - 2.0 / 47.0 - late, "{late} late: {step}");
    assert_eq!(number(step, "efficiency_percent"), 100.0, "{step}");
    assert!(number(step, "buffer_delay_percent") < 2.0 + 100.0 * late, "{late} late: {step}");
}

pub(crate) fn a_black_hole_at_1400_bytes_is_found_over_ipv4(run: Run) {
    expect_black_hole(run, "-4");
}

//= rfc6349 3.1
pub(crate) fn a_black_hole_at_1400_bytes_is_found_over_ipv6(run: Run) {
    expect_black_hole(run, "-6");
}

/// What TCP carries afterwards matters no more than that it carries anything.
fn expect_black_hole(run: Run, family: &str) {
    let words = ["--cir", "50M", "--sender", "bulk", "-t", "500ms", "-w", "64K", "-P", "1"];
    let run = run("blackhole-1400", "test", &[&words[..], &[family]].concat());
    let found = run.steps("path_mtu");
    assert_eq!(found.len(), 2, "{}", run.stderr);
    for step in found {
        assert_eq!((&step["mtu_bytes"], &step["black_hole"]), (&1400.into(), &true.into()));
    }
    assert!(run.tcp("throughput", "bulk").iter().all(|step| number(step, "good_bytes") > 0.0));
}

impl Finished {
    /// How much longer than its links say a round trip of the emulated network may have taken, as a
    /// share of `rtt_ms`: two crossings with 99 of 100 packets no later than this, in the TCP trial
    /// where they were latest. In virtual time nothing is late.
    pub(crate) fn lateness_share(&self, rtt_ms: f64) -> f64 {
        let evidence = self.result["evidence"].as_array().unwrap();
        let seen = evidence.iter().map(|evidence| &evidence["observation"]);
        let tcp = seen.filter(|seen| seen["flows"][0]["kind"] == "tcp");
        let late_ns = tcp.filter_map(|seen| seen["emulation"]["late_p99_ns"].as_f64());
        2.0 * late_ns.fold(0.0, f64::max) / 1e6 / rtt_ms
    }
}

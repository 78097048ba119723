//! The RFC 6349 method over simulated networks, as `fullpipe sim NET test` runs it.

use serde_json::Value;

use crate::result::{number, run, within_percent};

//= rfc6349 3.2.1
//= rfc6349 3.2.2
/// 100 Mbit/s at layer 1 and 5.1055 ms each way; the probe of 100 bytes adds 138 bytes of line
/// twice, 0.022 ms.
#[test]
fn a_line_of_100_mbit_is_found_and_filled() {
    let run = run(&["sim", "line-100m-10ms", "test", "-q"]);
    assert_eq!((run.exit, run.status()), (0, "pass"), "{}", run.result["verdict"]);
    for step in run.steps("bottleneck") {
        assert_eq!(step["layer"], "l1");
        assert!(within_percent(number(step, "rate_bps"), 100e6, 0.5), "{step}");
    }
    let baseline = run.steps("baseline_rtt")[0];
    assert!((number(baseline, "rtt_min_ms") - 10.211).abs() < 0.1, "{baseline}");
    for step in run.alone("bulk") {
        assert!(number(step, "throughput_bps") >= 0.97 * number(step, "ideal_bps"), "{step}");
        assert_eq!(number(step, "efficiency_percent"), 100.0);
    }
}

/// The worked example of the RFC 6349 application note: four windows of a quarter of the
/// bandwidth-delay product, 127,638 bytes / 4.
#[test]
fn four_windows_of_31_910_bytes_fill_the_line() {
    let run = run(&["sim", "line-100m-10ms", "test", "-q", "-w", "31910", "-P", "4"]);
    let all = run.tcp("walk", "bulk");
    let full = all.iter().find(|step| step["connections"] == 4).unwrap();
    // 1448 of 1538 bytes on the line are payload.
    let ideal = 100e6 * 1448.0 / 1538.0;
    assert!(number(full, "throughput_bps") >= 0.97 * ideal, "{full}");
}

#[test]
fn a_bucket_as_large_as_the_bursts_costs_nothing() {
    let run = run(&["sim", "metro-40m-cbs275k", "test", "-q"]);
    assert_eq!((run.exit, run.status()), (0, "pass"), "{}", run.result["verdict"]);
    for step in run.steps("bottleneck") {
        assert_eq!((&step["layer"], &step["kind"]), (&"l2".into(), &"policer".into()));
        assert!(within_percent(number(step, "rate_bps"), 40e6, 0.5), "{step}");
    }
    for step in run.tcp("throughput", "bulk") {
        assert!(number(step, "throughput_bps") >= 0.97 * number(step, "ideal_bps"), "{step}");
        assert_eq!(number(step, "efficiency_percent"), 100.0);
        assert!(number(step, "buffer_delay_percent") < 2.0);
    }
}

#[test]
fn a_deep_queue_shows_as_buffer_delay() {
    let run = run(&["sim", "bufferbloat-20m", "test", "-q"]);
    let deep = run.tcp("throughput", "bulk");
    let deep: Vec<_> =
        deep.into_iter().filter(|step| number(step, "window_fraction") > 1.0).collect();
    assert_eq!(deep.len(), 4, "each direction alone and with the other");
    for step in deep {
        assert!(number(step, "throughput_bps") >= 0.95 * number(step, "ideal_bps"), "{step}");
        assert!(number(step, "buffer_delay_percent") > 200.0, "{step}");
    }
    assert!(run.reason_codes().contains(&"deep_queue"));
}

#[test]
fn ipv6_is_measured_like_ipv4() {
    let run = run(&["sim", "line-100m-10ms", "test", "-q", "-6", "--sender", "bulk"]);
    assert_eq!((run.exit, run.status()), (0, "pass"), "{}", run.result["verdict"]);
    // 1500 less 40 of IPv6, 20 of TCP and 12 of timestamps.
    assert_eq!(run.tcp("throughput", "bulk")[0]["mss_bytes"], 1428);
}

#[test]
fn random_loss_is_no_limit_of_the_rate() {
    let run = run(&["sim", "lossy-50m", "test", "-q", "--sender", "bulk"]);
    for step in run.steps("bottleneck") {
        assert!(within_percent(number(step, "rate_l1_bps"), 50e6, 2.0), "{step}");
    }
    for step in run.steps("path_mtu") {
        assert_eq!(step["mtu_bytes"], 1500);
    }
}

/// Of 60 s carry 94.6 to 95.0 % of the ideal: two seconds and a half show more and decide nothing.
#[test]
fn a_trial_that_is_too_short_for_its_losses_is_inconclusive() {
    let run = run(&["sim", "lossy-50m", "test", "-q", "--sender", "bulk", "-t", "2500ms"]);
    assert_eq!((run.exit, run.status()), (5, "inconclusive"), "{}", run.result["verdict"]);
    assert!(run.reason_codes().contains(&"trial_too_short"));
    for step in run.steps("tcp") {
        let [least, most] = ["throughput_bps_at_least", "throughput_bps_at_most"];
        assert!(number(step, least) <= number(step, "throughput_bps"), "{step}");
        assert!(number(step, most) >= number(step, "throughput_bps"), "{step}");
    }
}

/// What was asked for is offered in both directions at once, too.
#[test]
fn windows_that_were_given_are_those_of_every_trial() {
    let words = ["sim", "line-100m-10ms", "test", "-q", "-w", "16K", "-P", "2", "-t", "500ms"];
    let run = run(&words);
    // 2 × 16,000 bytes in 10.4 ms are a quarter of the line.
    assert_eq!((run.exit, run.status()), (5, "inconclusive"), "{}", run.result["verdict"]);
    assert!(run.reason_codes().contains(&"windows_too_small"));
    let steps = run.tcp("throughput", "bulk");
    assert_eq!(steps.len(), 4);
    for step in steps {
        assert_eq!((&step["connections"], &step["window_bytes"]), (&2.into(), &16_000.into()));
        let possible = number(step, "ideal_windows_bps") / number(step, "ideal_bps");
        assert!((0.2..0.3).contains(&possible), "{step}");
    }
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let steps = || run(&["sim", "lossy-50m", "test", "-q", "--seed", "7"]).result["steps"].take();
    assert_eq!(steps(), steps());
}

/// The slots of a series are where its totals come from.
#[test]
fn the_sum_of_a_series_is_its_totals() {
    for name in ["rfc6349-bucket-sim", "rfc6349-lab"] {
        let result: Value = serde_json::from_str(&crate::recorded::text(name)).unwrap();
        let steps = result["steps"].as_array().unwrap();
        let all: Vec<_> = steps.iter().filter(|step| step["name"] == "tcp").collect();
        assert!(!all.is_empty());
        for step in all {
            let series = step["series"].as_array().unwrap();
            let sum =
                |field: &str| series.iter().map(|slot| slot[field].as_u64().unwrap()).sum::<u64>();
            assert_eq!(step["good_bytes"], sum("received_bytes"));
            assert_eq!(step["transmitted_bytes"], sum("sent_bytes"));
            assert_eq!(step["retransmitted_bytes"], sum("retransmitted_bytes"));
        }
    }
}

/// The ideal network has no limit to be measured against; what was sold can be given.
#[test]
fn a_path_beyond_the_tester_is_shown_and_not_judged() {
    let run_with = |words: &[&str]| run(&[&["sim", "ideal", "test", "-q"], words].concat());
    let open = run_with(&["--max-rate", "1G", "-t", "0.5s", "--sender", "bulk"]);
    assert_eq!((open.exit, open.status()), (0, "info"), "{}", open.result["verdict"]);
    assert!(open.reason_codes().contains(&"bottleneck_not_reached"));
    let sold = run_with(&["--cir", "100M@l1", "-t", "0.5s", "--sender", "bulk"]);
    assert_eq!((sold.exit, sold.status()), (0, "pass"), "{}", sold.result["verdict"]);
}

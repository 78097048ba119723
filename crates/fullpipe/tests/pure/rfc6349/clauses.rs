//! What RFC 6349 asks of a whole run, read from the result of a simulated one.

use serde_json::Value;

use crate::result::{Finished, number, run};

fn over_the_line(more: &[&str]) -> Finished {
    run(&[&["sim", "line-100m-10ms", "test", "-q", "--sender", "bulk"], more].concat())
}

fn words<'a>(steps: &[&'a Value], field: &str) -> Vec<&'a str> {
    steps.iter().map(|step| step[field].as_str().unwrap()).collect()
}

const METRICS: [&str; 3] = ["transfer_time_ratio", "efficiency_percent", "buffer_delay_percent"];

//= rfc6349 3
#[test]
fn path_mtu_comes_first_then_rtt_and_bottleneck_then_tcp_with_its_implementation_named() {
    let run = over_the_line(&[]);
    let steps: Vec<&Value> = run.result["steps"].as_array().unwrap().iter().collect();
    let mut order = words(&steps, "name");
    order.dedup();
    assert_eq!(order, ["path_mtu", "baseline_rtt", "bottleneck", "tcp"]);
    for step in run.steps("tcp") {
        assert_eq!(step["congestion_control"], "cubic");
        // 1500 less 20 of IPv4, 20 of TCP and 12 of timestamps.
        assert_eq!(step["mss_bytes"], 1448);
    }
}

//= rfc6349 3.3
#[test]
fn each_direction_runs_alone_and_then_both_at_once_with_all_three_metrics() {
    let run = over_the_line(&[]);
    let steps = run.tcp("throughput", "bulk");
    // What fills the queue comes after.
    let directions = &words(&steps, "direction")[..4];
    assert_eq!(directions, ["download", "upload", "bidirectional", "bidirectional"]);
    for step in steps {
        for metric in METRICS {
            assert!(number(step, metric).is_finite(), "{metric}: {step}");
        }
    }
}

//= rfc6349 5
#[test]
fn a_run_that_is_shorter_than_the_rfc_asks_says_so() {
    let deviations = |run: &Finished| run.result["deviations"].to_string();
    assert!(deviations(&over_the_line(&[])).contains("section 5 asks for more than 30 s"));
    assert!(!deviations(&over_the_line(&["-t", "31s"])).contains("section 5 "));
}

//= rfc6349 5.1
#[test]
fn every_connection_has_metrics_of_its_own() {
    for step in over_the_line(&[]).tcp("throughput", "bulk") {
        let flows = step["flows"].as_array().unwrap();
        assert_eq!(flows.len() as f64, number(step, "connections"));
        for flow in flows {
            for metric in METRICS {
                assert!(number(flow, metric).is_finite(), "{metric}: {flow}");
            }
        }
    }
}

//= rfc6349 5.2
#[test]
fn the_result_shows_for_each_window_what_was_possible_beside_what_was_reached() {
    let run = over_the_line(&[]);
    let steps = run.tcp("walk", "bulk");
    let fractions: Vec<f64> = steps.iter().map(|step| number(step, "window_fraction")).collect();
    assert_eq!(fractions, [0.25, 0.5, 0.75, 1.0, 0.25, 0.5, 0.75, 1.0]);
    for step in steps {
        // 100 Mbit/s times 10.211 ms are 127,638 bytes; the search resolves a quarter of a percent.
        assert!((number(step, "bdp_bytes") / 127_638.0 - 1.0).abs() < 0.01, "{step}");
        let possible = number(step, "ideal_windows_bps");
        assert!(number(step, "throughput_bps") <= 1.01 * possible, "{step}");
        assert!(number(step, "throughput_bps") >= 0.9 * possible, "{step}");
        assert!(number(step, "ideal_bps") >= possible, "{step}");
        let share = 100.0 * number(step, "throughput_bps") / possible;
        assert!((number(step, "share_percent") - share).abs() < 1e-6, "{step}");
    }
}

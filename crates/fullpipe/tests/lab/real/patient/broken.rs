//! A test over loopback that loses its far end, its user's patience or its own process.

use std::fs;
use std::time::Duration;

use fp_engine::os::clock;
use rustix::process::Signal;
use serde_json::Value;

use super::serve::serve;
use crate::folder::Folder;
use crate::process::{Running, command, json};

/// A test of many seconds that the processors hardly notice.
fn slow_test(pairing: &str, output: &[&str]) -> Running {
    let words = ["test", pairing, "--cir", "50M", "--sender", "bulk", "--pacing", "10M"];
    let slow = ["-t", "20s", "--interval", "200ms"];
    Running::start(command(&[&words[..], &slow, output].concat()))
}

/// The same in the middle of its first transfer.
fn test_under_way(pairing: &str, output: &[&str]) -> Running {
    let mut test = slow_test(pairing, output);
    test.wait_until_it_says("TCP throughput");
    test.wait_until_it_says("Mbit/s");
    test
}

/// The verdict says so, and the steps before the transfer are there.
fn assert_aborted(result: &Value, code: &str) {
    assert_eq!(result["verdict"]["status"], "aborted", "{result:#}");
    assert_eq!(result["verdict"]["reasons"][0]["code"], code);
    let names = |step: &Value| step["name"].as_str().unwrap().to_owned();
    let steps: Vec<_> = result["steps"].as_array().unwrap().iter().map(names).collect();
    assert_eq!(
        steps,
        ["path_mtu", "path_mtu", "baseline_rtt", "bottleneck", "bottleneck"],
        "what was measured is kept"
    );
    assert!(!result["evidence"].as_array().unwrap().is_empty());
}

#[test]
fn a_far_end_killed_in_the_middle_is_lost_within_3_s_and_what_was_measured_is_kept() {
    let folder = Folder::new();
    let file = folder.file("result.json");
    let far = serve();
    let test = test_under_way(&far.pairing, &["--json", "-o", &file]);
    far.process.send(Signal::KILL);
    let killed = clock::now();
    let run = test.finish();
    assert!(
        clock::now().since(killed) < Duration::from_secs(3),
        "{:?}",
        clock::now().since(killed)
    );
    assert_eq!(run.exit, Some(3), "{}", run.stderr);
    assert_aborted(&run.json(), "far_end_lost");
    assert_eq!(json(&fs::read_to_string(&file).unwrap()).unwrap(), run.json());
}

#[test]
fn who_interrupts_keeps_what_was_measured() {
    let far = serve();
    for (signal, exit) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let test = test_under_way(&far.pairing, &["--json"]);
        // As `timeout` does: to the process, then to its group.
        test.send(signal);
        test.send(signal);
        let sent = clock::now();
        let run = test.finish();
        assert!(
            clock::now().since(sent) < Duration::from_secs(3),
            "{:?}",
            clock::now().since(sent)
        );
        assert_eq!(run.exit, Some(exit), "{}", run.stderr);
        assert_aborted(&run.json(), "stopped");
    }
}

#[test]
fn a_stream_of_events_that_is_interrupted_ends_with_the_result() {
    let far = serve();
    let mut test = slow_test(&far.pairing, &["--json-stream"]);
    // Every line is a document; frames are sampled before the first transfer is.
    let mut is_transfer = false;
    loop {
        let event = json(&test.line()).unwrap();
        if event["event"] == "trial_started" {
            is_transfer = event["trial"]["name"].as_str().unwrap().starts_with("TCP throughput");
        } else if is_transfer && event["event"] == "sample" {
            break;
        }
    }
    test.send(Signal::INT);
    let run = test.finish();
    assert_eq!(run.exit, Some(130), "{}", run.stderr);
    let last = json(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "result");
    assert_aborted(&last["result"], "stopped");
}

#[test]
fn a_far_end_whose_near_end_was_killed_serves_the_next() {
    let mut far = serve();
    let test = test_under_way(&far.pairing, &[]);
    test.send(Signal::KILL);
    far.process.wait_until_it_says("session ends");
    let next = test_under_way(&far.pairing, &["--json"]);
    next.send(Signal::INT);
    assert_eq!(next.finish().exit, Some(130));
}

//! Plans in virtual time: tests one after the other, judged, kept and gone on with.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use super::bad_input::refused;
use super::junit::elements;
use crate::folder::Folder;
use crate::plans::{plan, read, statuses};
use crate::process::{Running, command, fullpipe, json};

/// The policer has a bucket of 64,000 bytes: bursts pass, TCP with windows of 64 KB does not.
const ACCEPTANCE: &str = "name: Acceptance <1>
sim: metro-40m-cbs64k
tests:
  - name: bursts
    burst: {cir: 40M, cbs: 64K, frames: [1518]}
  - name: windows
    test: {cir: 40M, window: 64K}
    pass: {step: baseline_rtt, field: rtt_min_ms, at_most: 50ms}
";

#[test]
fn each_test_is_judged_and_kept_and_a_test_server_can_read_what_became_of_it() {
    let folder = Folder::new();
    let (file, results, xml) = (plan(&folder, ACCEPTANCE), folder.file("r"), folder.file("x.xml"));
    let run = fullpipe(&["run", &file, "--results", &results, "--junit", &xml, "--json"]);
    let summary = run.json();
    assert_eq!(run.exit, Some(1), "{}", run.stderr);
    assert_eq!(summary["schema"], "fullpipe.run/1");
    assert_eq!(statuses(&summary, 0), [("bursts", "passed"), ("windows", "failed")]);
    assert_eq!(read(&folder, "r/summary.json"), summary);

    let failed = &summary["rounds"][0]["tests"][1];
    let document = read(&folder, &format!("r/{}", failed["runs"][0]["result"].as_str().unwrap()));
    assert_eq!(document["method"], "rfc6349");
    // The path of the network has a round trip of 54 ms.
    let judged = &failed["criteria"][0];
    assert_eq!(judged["met"], false);
    assert!((judged["median"].as_f64().unwrap() - 54.0).abs() < 0.1, "{judged}");

    let xml = fs::read_to_string(xml).unwrap();
    let found = elements(&xml);
    let shape: Vec<_> =
        found.iter().map(|element| (element.depth, element.name.as_str())).collect();
    assert_eq!(shape[..2], [(0, "testsuites"), (1, "testsuite")]);
    assert_eq!(found[0].attribute("name"), "Acceptance <1>");
    let suite = &found[1];
    let counts = ["tests", "failures", "errors", "skipped"].map(|name| suite.number(name));
    assert_eq!(counts, [2, 1, 0, 0]);
    let reasons: Vec<_> = found
        .iter()
        .filter(|element| element.name == "failure")
        .map(|f| f.attribute("message"))
        .collect();
    let said: Vec<_> = failed["reasons"].as_array().unwrap().iter().map(Value::as_str).collect();
    assert_eq!(reasons.iter().map(|reason| Some(*reason)).collect::<Vec<_>>(), said);
    assert!(reasons.last().unwrap().contains("at most 50.000 ms, found 54.0"), "{reasons:?}");
}

#[test]
fn repetitions_differ_in_what_is_drawn_and_the_median_decides() {
    let folder = Folder::new();
    let lines = "sim: lossy-50m
tests:
  - flow: {time: 2s}
    repeat: 3
    pass: {step: flow, field: rate_bps, at_least: 1}
";
    let run = fullpipe(&["run", &plan(&folder, lines), "--no-save", "--json"]);
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    let judged = run.json()["rounds"][0]["tests"][0]["criteria"][0].clone();
    let mut figures: Vec<f64> = judged["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|figure| figure.as_f64().unwrap())
        .collect();
    figures.sort_by(f64::total_cmp);
    assert!(figures[0] < figures[1] && figures[1] < figures[2], "{judged}");
    assert_eq!(judged["median"].as_f64(), Some(figures[1]));
}

#[test]
fn a_run_that_was_stopped_goes_on_where_it_ended() {
    let folder = Folder::new();
    let lines = "sim: ideal
tests:
  - name: first
    flow: {time: 1s}
  - name: second
    flow: {time: 1s, reverse: true}
schedule: {every: 10m, times: 2}
";
    let (file, results) = (plan(&folder, lines), folder.file("r"));
    let mut run = Running::start(command(&["run", &file, "--results", &results]));
    run.wait_until_it_says("second: PASS");
    run.send(Signal::INT);
    assert_eq!(run.finish().exit, Some(130));
    let stopped = read(&folder, "r/summary.json");
    assert_eq!(stopped["status"], "aborted");
    assert_eq!(statuses(&stopped, 0), [("first", "passed"), ("second", "passed")]);

    let run = fullpipe(&["run", &file, "--resume", &results, "--json"]);
    let whole = run.json();
    assert_eq!((run.exit, whole["status"].as_str()), (Some(0), Some("passed")), "{}", run.stderr);
    assert_eq!(whole["rounds"][0], stopped["rounds"][0]);
    assert_eq!(statuses(&whole, 1), [("first", "passed"), ("second", "passed")]);

    plan(&folder, &lines.replace("reverse: true", "parallel: 2"));
    refused(&["run", &file, "--resume", &results], &["plan has changed", "`second`"]);
}

#[test]
fn what_follows_a_failed_test_is_left_out_where_the_plan_says_so() {
    let folder = Folder::new();
    let file = plan(&folder, &format!("{ACCEPTANCE}  - flow:\nstop-on-fail: true\n"));
    let xml = folder.file("x.xml");
    let run = fullpipe(&["run", &file, "--no-save", "--skip-tags", "x", "--junit", &xml]);
    assert_eq!(run.exit, Some(1), "{}", run.stderr);
    assert!(run.stdout.contains("1 passed, 1 failed, 1 left out"), "{}", run.stdout);
    let xml = fs::read_to_string(xml).unwrap();
    assert_eq!(elements(&xml)[0].number("skipped"), 1);
}

#[test]
fn a_dry_run_shows_the_command_of_each_test_that_is_asked_for() {
    let folder = Folder::new();
    let lines = "sim: ideal
variables: {cir: 40M}
tests:
  - burst: {cir: $cir, cbs: $cbs, frames: [64, 1518]}
    matrix: {cbs: [64K, 100K]}
    tags: [short]
  - test: {strict-6349: true}
";
    let file = plan(&folder, lines);
    let run = fullpipe(&["run", &file, "--dry-run", "--tags", "short", "--set", "cir=10M"]);
    let expected = "burst (cbs 64K)
  fullpipe sim ideal burst --cir=10M --cbs=64K --frames=64,1518
burst (cbs 100K)
  fullpipe sim ideal burst --cir=10M --cbs=100K --frames=64,1518
";
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with(expected), "{}", run.stdout);
    assert!(run.stdout.contains("2 tests"), "{}", run.stdout);
}

/// 2 MB/s of each of two streams for 10 s; two rounds of it take 2 x 10 s.
#[test]
fn a_plan_that_takes_more_than_is_allowed_is_refused() {
    let folder = Folder::new();
    let lines = "far: far.example
tests:
  - flow: {udp: true, bitrate: 16M, parallel: 2}
schedule: {every: 1s, times: 2}
";
    let file = plan(&folder, lines);
    let dry = |words: &[&str]| fullpipe(&[&["run", &file, "--dry-run"], words].concat());
    let said = dry(&["--max-time", "20s", "--max-volume", "80M"]);
    assert_eq!(said.exit, Some(0), "{said:#?}");
    assert!(
        said.stdout.contains("2 tests in 2 rounds, at least 20 s, at most 80.0 MB"),
        "{said:#?}"
    );
    refused(&["run", &file, "--max-time", "19s"], &["at least 20 s", "--max-time"]);
    refused(&["run", &file, "--max-volume", "79M"], &["80.0 MB", "--max-volume"]);
    let file = plan(&folder, "far: far.example\ntests:\n  - flow:\n");
    refused(&["run", &file, "--max-volume", "900G"], &["as the network carries", "--max-volume"]);
}

#[test]
fn what_is_wrong_with_an_option_is_said_with_its_line_and_column_before_anything_runs() {
    let folder = Folder::new();
    for (lines, place, said) in [
        ("sim: ideal\ntests:\n  - test: {window: 5}\n", "4:20", &["--window", "1,000"][..]),
        ("sim: ideal\ntests:\n  - test: {wnidow: 5K}\n", "4:12", &["did you mean `window`?"]),
        ("sim: ideal\ntests:\n  - burst: {cir: 1M, discover: true}\n", "4:18", &["--discover"]),
        ("sim: ideal\ntests:\n  - burst: {cir: 1M}\n", "4:5", &["--cir and --cbs"]),
        ("sim: ideal\ntests:\n  - burst: {frames: [64, 5]}\n", "4:13", &["64 to 9018"]),
        ("sim: ideal\ntests:\n  - test: {output: x}\n", "4:12", &["not for a plan"]),
        ("sim: ideal\ntests:\n  - test: {strict-6349: 1}\n", "4:25", &["true or false"]),
        ("sim: ideal\ntests:\n  - test: {cc: [a, b]}\n", "4:12", &["one value"]),
        ("sim: ideal\ntests:\n  - y1564: {services: ../s}\n", "4:23", &["own folder"]),
        ("sim: ideal\ntests:\n  - y1564: {services: s}\n", "4:5", &["cannot read"]),
        (
            "sim: ideal\ntests:\n  - test:\n    pass: {step: tcp, field: goodput_bps, at_least: 1M}\n",
            "5:30",
            &["a step tcp has no field `goodput_bps`", "throughput_bps"],
        ),
        ("sim: ../net.yaml\ntests:\n  - test:\n", "2:6", &["own folder"]),
        ("sim: idea\ntests:\n  - test:\n", "2:6", &["did you mean ideal?"]),
        ("tests:\n  - test:\n", "3:5", &["far, lab or sim", "--lab"]),
    ] {
        let file = plan(&folder, lines);
        let words = [&[file.as_str(), place][..], said].concat();
        refused(&["run", &file], &words);
        refused(&["run", &file, "--dry-run"], &words);
    }
    let file = plan(&folder, "sim: ideal\ntests:\n  - test:\n");
    refused(&["run", &file, "--resume", &folder.file("none")], &["summary.json", "has begun"]);
    refused(&["run", &file, "--tags", "none"], &["tags"]);
    refused(&["run", &folder.file("none.yaml")], &["none.yaml", "cannot read"]);
    assert_eq!(fs::read_dir(folder.file("")).unwrap().count(), 1, "nothing was kept");
}

/// TCP counts no lost packets of its own, and without --profile no profile is followed.
#[test]
fn a_criterion_on_what_was_not_measured_is_an_error_and_no_failure() {
    let folder = Folder::new();
    let lines = "sim: ideal
tests:
  - flow: {time: 1s}
    pass:
      - {step: flow, field: lost, at_most: 0}
      - {step: profile, field: tracking_error_percent, at_most: 1%}
";
    let (file, xml) = (plan(&folder, lines), folder.file("x.xml"));
    let run = fullpipe(&["run", &file, "--no-save", "--json", "--junit", &xml]);
    assert_eq!(run.exit, Some(4), "{}", run.stderr);
    let summary = run.json();
    assert_eq!(statuses(&summary, 0), [("flow", "not_valid")]);
    let test = &summary["rounds"][0]["tests"][0];
    for criterion in test["criteria"].as_array().unwrap() {
        assert!(criterion["met"].is_null() && criterion["median"].is_null(), "{criterion}");
    }
    let reasons = test["reasons"].to_string();
    assert!(reasons.contains("lost was not measured"), "{reasons}");
    assert!(reasons.contains("no step profile"), "{reasons}");
    let xml = fs::read_to_string(xml).unwrap();
    let found = elements(&xml);
    assert_eq!(["failures", "errors"].map(|count| found[0].number(count)), [0, 1]);
    assert!(found.iter().any(|element| element.name == "error"), "{xml}");
    assert!(found.iter().all(|element| element.name != "failure"), "{xml}");
}

#[test]
fn the_secret_of_a_far_end_is_kept_nowhere() {
    // 68 characters in the form of a secret, for a port where nobody listens.
    const SECRET: &str = "ATlIjSL6c83emLMmObyc0F7x7geBe1bSQJ65bDuzVnaa2h_MEho3Q3J218zQ3po9yH6I";
    let folder = Folder::new();
    let lines = format!("far: fp://127.0.0.1:1#{SECRET}\ntests:\n  - flow:\n");
    let (file, results) = (plan(&folder, &lines), folder.file("r"));
    let run = fullpipe(&["run", &file, "--results", &results, "--json"]);
    assert_eq!(run.exit, Some(3), "{}", run.stderr);
    let summary = fs::read_to_string(folder.file("r/summary.json")).unwrap();
    let status = json(&summary).unwrap()["rounds"][0]["tests"][0]["reasons"][0].clone();
    assert!(status.as_str().unwrap().contains("127.0.0.1"), "{summary}");
    for text in [&summary, &run.stdout, &run.stderr] {
        assert!(!text.contains(&SECRET[..20]), "{text}");
    }
}

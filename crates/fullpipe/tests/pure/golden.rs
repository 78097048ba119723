//! The formulas against the golden cases of the standards, and `fullpipe calc` as a user meets it.

#![expect(clippy::expect_used, reason = "what the tests share stands outside of test functions")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// Functions of the golden cases that are not computed yet.
const NOT_COVERED: [&str; 0] = [];

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/golden.json")
}

fn calc(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command.arg("calc").args(args).output().expect("fullpipe starts")
}

/// Standard output, standard error and the exit code of `fullpipe calc --cases -`.
fn evaluate(cases: &str) -> (String, String, Option<i32>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fullpipe"))
        .args(["calc", "--cases", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("fullpipe starts");
    let mut stdin = child.stdin.take().expect("its input is a pipe");
    stdin.write_all(cases.as_bytes()).expect("it reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("fullpipe ends");
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file with one case, as golden.json has them.
fn one_case(function: &str, inputs: &str, expected: &str, tolerance: &str) -> String {
    format!(
        r#"{{"schema": "fullpipe-golden/1", "cases": [{{"id": "it", "fn": "{function}",
        "inputs": {inputs}, "expected": {expected}, "tolerance": {tolerance}}}]}}"#
    )
}

#[test]
fn every_golden_case_agrees_but_for_the_functions_listed_as_not_covered() {
    let output = calc(&["--cases", &golden().to_string_lossy(), "--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    let mut covered = BTreeSet::new();
    let mut not_covered = BTreeSet::new();
    for case in result["cases"].as_array().expect("a list of cases") {
        let function = case["function"].as_str().expect("the function's name");
        match case["outcome"].as_str() {
            Some("ok") => covered.insert(function),
            Some("not_implemented") => not_covered.insert(function),
            _ => panic!("{case}"),
        };
    }
    println!("{} functions covered: {covered:?}", covered.len());
    println!("{} functions not covered: {not_covered:?}", not_covered.len());
    assert_eq!(not_covered, BTreeSet::from(NOT_COVERED));
    assert_eq!(covered.len() + not_covered.len(), 73);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_mismatch_is_named_with_what_was_expected_and_fails() {
    let inputs = r#"{"bb_bps": 100000000, "rtt_s": 0.010211}"#;
    let wrong = one_case("bdp", inputs, r#"{"bdp_bits": 1021101}"#, r#""exact""#);
    let (out, _, code) = evaluate(&wrong);
    assert!(out.starts_with("MISMATCH it: bdp_bits expected 1021101 got 1021100\n"), "{out}");
    assert!(out.ends_with("1 cases: 0 ok, 1 mismatches, 0 not implemented\n"), "{out}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_function_that_is_not_there_is_named_and_does_not_fail() {
    let (out, _, code) = evaluate(&one_case("phlogiston", "{}", r#"{"n": 1}"#, r#""exact""#));
    assert!(out.starts_with("not implemented it (phlogiston)\n"), "{out}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_cannot_be_computed_is_a_sentence_for_its_case() {
    for (inputs, sentence) in [
        (r#"{"actual_s": -1, "ideal_s": 1}"#, "actual_s must not be negative"),
        (r#"{"actual_s": "NaN", "ideal_s": 1}"#, "actual_s must be a number, not \"NaN\""),
        (r#"{"actual_s": 1}"#, "ideal_s is missing"),
        (r#"{"actual_s": 1, "ideal_s": 0}"#, "undefined by a division by zero"),
    ] {
        let (out, _, code) = evaluate(&one_case("ttr", inputs, r#"{"ttr": 1}"#, r#""exact""#));
        assert!(out.starts_with("MISMATCH it: ") && out.contains(sentence), "{out}");
        assert_eq!(code, Some(1));
    }
}

#[test]
fn nothing_is_expected_of_what_is_undefined() {
    let inputs = r#"{"tx_bytes": 0, "retx_bytes": 0}"#;
    let file = one_case("tcp_efficiency_pct", inputs, r#"{"pct": null}"#, r#""exact""#);
    assert_eq!(evaluate(&file).2, Some(0));
}

#[test]
fn a_bad_file_is_refused_with_its_place() {
    let case = r#"{"id": "a", "fn": "ttr", "inputs": {}, "expected": {}, "tolerance": "exact"}"#;
    let twice = format!(r#"{{"cases": [{case}, {case}]}}"#);
    let roughly = case.replace("exact", "roughly");
    let roughly = format!("{{\"cases\": [\n{roughly}]}}");
    let untold = case.replace(
        r#""expected": {}, "tolerance": "exact""#,
        r#""expected": {"x": 1}, "tolerance": {}"#,
    );
    let untold = format!(r#"{{"cases": [{untold}]}}"#);
    let no_id = format!("{{\"cases\": [\n{}]}}", case.replace(r#""id": "a", "#, ""));
    for (file, place, sentence) in [
        ("{\n\"cases\": [,]}", "2:11", "expected value"),
        ("{\"cases\": [\nNaN]}", "2:1", "expected value"),
        // Where its object ends: that is the 65th character of its line.
        (no_id.as_str(), "2:65", "missing field `id`"),
        (roughly.as_str(), "2:", "unknown tolerance \"roughly\""),
        (twice.as_str(), "", "the case a is there twice"),
        (untold.as_str(), "", "the case a has no tolerance for x"),
        (r#"{"cases": []}"#, "", "there are no cases"),
        (r#"{"schema": "other/9", "cases": []}"#, "", "the schema is other/9"),
        ("", "1:0", "EOF"),
    ] {
        let (_, error, code) = evaluate(file);
        assert!(error.starts_with("fullpipe: standard input"), "{error}");
        assert!(error.contains(place) && error.contains(sentence), "{place} {sentence}: {error}");
        assert_eq!(code, Some(2), "{error}");
    }
    let absent = calc(&["--cases", "/nonexistent/cases.json"]);
    assert_eq!(absent.status.code(), Some(2));
    assert!(text(&absent.stderr).contains("/nonexistent/cases.json"));
}

#[test]
fn formulas_take_quantities_and_show_units_and_layers() {
    let bdp = calc(&["bdp", "--rate", "100M", "--rtt", "10.211ms"]);
    assert!(text(&bdp.stdout).contains("127,637.5 bytes"), "{}", text(&bdp.stdout));
    let most = calc(&["max-tcp", "--rate", "100M@l1", "--mtu", "1500"]);
    let line = text(&most.stdout);
    assert!(line.contains("layer 4") && line.contains("94,928,478.543563 bit/s"), "{line}");
    let plan = calc(&["cbs-plan", "--cbs", "64K", "--frame", "64", "--cir", "40M", "--time", "2s"]);
    assert!(text(&plan.stdout).contains("156,000"), "{}", text(&plan.stdout));
}

#[test]
fn results_in_json_carry_their_units_in_their_names() {
    let output = calc(&[
        "policer-burst",
        "--cbs",
        "64K",
        "--cir",
        "40M",
        "--link",
        "1G",
        "--burst",
        "135K",
        "--json",
    ]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(result["results"]["dropped_bytes"], 65_600);
    assert_eq!(result["results"]["burst_s"], 0.00108);
}

#[test]
fn a_bad_quantity_is_refused_with_the_option_and_what_is_allowed() {
    for (args, option, sentence) in [
        (["bdp", "--rate", "40Q", "--rtt", "1s"], "--rate", "a rate is a number of bit/s"),
        (["bdp", "--rate", "40M@l2", "--rtt", "1s"], "--rate", "counted at layer l1"),
        (["bdp", "--rate", "40M", "--rtt", "-1s"], "--rtt", "unexpected argument"),
        (["bdp", "--rate", "40M", "--rtt", "soon"], "--rtt", "must begin with a decimal number"),
        (["efficiency", "--tx", "1K", "--retx", "2K"], "--retx", "must not exceed"),
        (["ttr", "--actual", "1s", "--ideal", "0"], "ratio", "is undefined here"),
    ] {
        let output = calc(&args);
        let error = text(&output.stderr);
        assert!(error.contains(sentence), "{error}");
        assert!(error.contains(option) || sentence == "unexpected argument", "{error}");
        assert_eq!(output.status.code(), Some(2), "{error}");
    }
}

#[test]
fn calc_alone_lists_every_function() {
    let output = calc(&[]);
    assert_eq!(output.status.code(), Some(0));
    let list = text(&output.stdout);
    let lines = list.lines().filter(|line| line.starts_with("  ")).count();
    // The 73 of the golden cases and max-tcp for whole segments.
    assert_eq!(lines, 74, "{list}");
}

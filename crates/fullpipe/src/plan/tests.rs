//! Plans as a file gives them, and what a file must not say.

use serde_json::json;

use super::*;

const METHODS: [&str; 3] = ["burst", "flow", "test"];

fn read(text: &str) -> Result<Plan, String> {
    read_with(text, &[])
}

fn read_with(text: &str, set: &[(&str, &str)]) -> Result<Plan, String> {
    let set: Vec<_> = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    parse(text, &set, &METHODS).map_err(|problem| problem.to_string())
}

/// A plan whose tests are these lines.
fn plan(lines: &str) -> String {
    format!("plan: fullpipe.plan/1\n{lines}")
}

/// `key=value` of each option of each test.
fn options(plan: &Plan) -> Vec<Vec<String>> {
    let setting = |setting: &Setting| {
        let values: Vec<_> = setting.values.iter().map(|value| value.value.as_str()).collect();
        format!("{}={}", setting.key.value, values.join("+"))
    };
    plan.tests.iter().map(|test| test.options.iter().map(setting).collect()).collect()
}

fn refused(text: &str, place: &str, said: &[&str]) {
    let sentence = read(text).expect_err(text);
    assert!(sentence.starts_with(&format!("{place}: ")), "{sentence} of\n{text}");
    for words in said {
        assert!(sentence.contains(words), "no {words:?} in {sentence:?} of\n{text}");
    }
}

#[test]
fn variables_stand_in_values_and_in_each_other() {
    let text = plan(
        "variables: {cir: 40M, half: $size, size: \"${digits}K\", digits: 64}
tests:
  - name: at $cir
    burst:
      cir: ${cir}
      cbs: $half
      frames: [64, $digits]
      dscp: $$0
",
    );
    let plan = read(&text).unwrap();
    assert_eq!(plan.tests[0].name, "at 40M");
    assert_eq!(options(&plan), [["cir=40M", "cbs=64K", "frames=64+64", "dscp=$0"]]);
}

#[test]
fn a_variable_of_the_command_line_takes_the_place_of_the_plans() {
    let text = plan("variables: {cir: 40M, rate: $cir}\ntests:\n  - burst: {cir: $rate}\n");
    let plan = read_with(&text, &[("cir", "10M")]).unwrap();
    assert_eq!(options(&plan), [["cir=10M"]]);
    let unknown = read_with(&text, &[("cbs", "1K")]).unwrap_err();
    assert!(unknown.contains("no variable `cbs`"), "{unknown}");
}

#[test]
fn variables_that_stand_in_themselves_are_refused_with_the_circle() {
    let circle = plan("variables:\n  a: ${b}\n  b: x$c\n  c: $a\ntests:\n  - test:\n");
    refused(&circle, "5:6", &["$a → $b → $c → $a"]);
    let itself = plan("variables:\n  a: $a\ntests:\n  - test:\n");
    refused(&itself, "3:6", &["$a → $a"]);
}

/// Each name stands twice in the one before: 2^40 characters in the end.
#[test]
fn variables_that_grow_without_measure_are_refused() {
    let names: String = (0..40).map(|n| format!("  v{n}: $v{m}$v{m}\n", m = n + 1)).collect();
    let text = plan(&format!("variables:\n{names}  v40: x\ntests:\n  - test:\n"));
    let sentence = read(&text).unwrap_err();
    assert!(sentence.contains("4096 bytes"), "{sentence}");
}

#[test]
fn a_matrix_makes_a_test_for_each_combination_with_a_name_that_says_which() {
    let text = plan(
        "variables: {large: 256K}
tests:
  - name: windows
    test: {window: $window, connections: $n}
    matrix:
      window: [64K, $large]
      n: [1, 4]
  - name: $cc alone
    test: {cc: $cc}
    matrix: {cc: [reno, cubic]}
",
    );
    let plan = read(&text).unwrap();
    let names: Vec<_> = plan.tests.iter().map(|test| test.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "windows (window 64K, n 1)",
            "windows (window 64K, n 4)",
            "windows (window 256K, n 1)",
            "windows (window 256K, n 4)",
            "reno alone",
            "cubic alone",
        ]
    );
    assert_eq!(options(&plan)[2], ["window=256K", "connections=1"]);
}

#[test]
fn what_a_test_may_say_is_read() {
    let text = plan(
        "name: all of it
far: far.example
tests:
  - {name: a, test: , lab: ideal, tags: [tcp, long], repeat: 3, pause: 2s, timeout: 2m,
     verdict: ignore}
schedule: {every: 15m, times: 4}
stop-on-fail: true
",
    );
    let plan = read(&text).unwrap();
    let test = &plan.tests[0];
    assert_eq!(plan.target.unwrap().0, Target::Far(String::from("far.example")));
    assert_eq!(test.target.as_ref().unwrap().0, Target::Lab(String::from("ideal")));
    assert_eq!((test.repeat, test.pause), (3, Duration::from_secs(2)));
    assert_eq!(test.timeout, Some(Duration::from_secs(120)));
    assert_eq!(test.tags, ["tcp", "long"]);
    assert!(!test.counts_verdict);
    assert_eq!(plan.schedule, Schedule { every: Duration::from_secs(900), times: 4 });
    assert!(plan.stop_on_fail);
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_what_is_allowed() {
    for (lines, place, said) in [
        ("tests: []\n", "2:8", &["at least one test"][..]),
        ("tests:\n  - brst:\n", "3:5", &["`brst`", "did you mean `burst`?", "repeat"]),
        ("tests:\n  - name: a\n", "3:5", &["no command", "burst, flow, test"]),
        ("tests:\n  - test:\n    burst:\n", "4:5", &["one command", "burst"]),
        ("tests:\n  - test: 5\n", "3:11", &["options of the command"]),
        ("tests:\n  - test: {a: {b: c}}\n", "3:15", &["single value"]),
        ("tests:\n  - test: {a: $x}\n", "3:15", &["unknown variable `x`", "there are none"]),
        ("tests:\n  - test: {a: b$}\n", "3:15", &["$cir", "`$$`"]),
        ("tests:\n  - test: {a: ${x}}\n", "3:16", &["between braces", "$name"]),
        ("tests:\n  - test:\n  - test:\n", "4:5", &["second test `test`"]),
        ("tests:\n  - test:\n    repeat: 0\n", "4:13", &["1 to 100"]),
        ("tests:\n  - test:\n    pause: -2s\n", "4:12", &["negative"]),
        ("tests:\n  - test:\n    timeout: 0s\n", "4:14", &["more than zero"]),
        ("tests:\n  - test:\n    verdict: no way\n", "4:14", &["count and ignore"]),
        ("tests:\n  - test:\n    matrix: {w: [1]}\n", "4:14", &["no value", "$w"]),
        ("tests:\n  - test: {a: $w}\n    matrix: {w: []}\n", "4:14", &["from 1 to 1000"]),
        ("tests:\n  - test: {a: $w}\n    matrix: {w: 1}\n", "4:17", &["list"]),
        ("variables: {1a: 1}\ntests:\n  - test:\n", "2:13", &["begins with a letter"]),
        ("variables: {a: [1]}\ntests:\n  - test:\n", "2:16", &["single value", "a list"]),
        ("far: a\nlab: b\ntests:\n  - test:\n", "3:6", &["one of far, lab and sim"]),
        ("tests:\n  - test:\nschedule: {every: 5m}\n", "4:12", &["`times` is missing"]),
        ("tests:\n  - test:\nstop_on_fail: true\n", "4:1", &["did you mean `stop-on-fail`?"]),
    ] {
        refused(&plan(lines), place, said);
    }
    refused("plan: fullpipe.plan/2\ntests:\n  - test:\n", "1:7", &["another version"]);
    refused("lab: fullpipe.lab/1\n", "1:1", &["`plan` is missing"]);
}

#[test]
fn criteria_that_make_no_sense_are_refused_with_their_place() {
    for (criterion, place, said) in [
        ("{step: tcp, at_least: 1}", "5:9", "`field` is missing"),
        ("{step: tcp, field: a_bps}", "5:9", "one of at_least, at_most and equals"),
        ("{step: tcp, field: a_bps, at_least: 1, at_most: 2}", "5:9", "one of at_least"),
        ("{step: tcp, field: a_bps, at_least: fast}", "5:45", "number"),
        ("{step: tcp, field: a_bps, at_least: 1M@l2}", "5:45", "layer"),
        ("{step: tcp, field: rtt_ms, at_most: 60}", "5:45", "as in 60ms"),
        ("{step: tcp, field: a_bps, at_leest: 1}", "5:9", "one of at_least"),
        ("{step: tcp, field: a, equals: 1, foo: 2}", "5:42", "unknown key `foo`"),
        ("{step: tcp, field: a, equals: 1, where: x}", "5:49", "direction: download"),
    ] {
        let lines = format!("tests:\n  - test:\n    pass:\n      - {criterion}\n");
        refused(&plan(&lines), place, &[said]);
    }
}

fn criterion(text: &str) -> Criterion {
    let text = plan(&format!("tests:\n  - test:\n    pass: {text}\n"));
    read(&text).unwrap().tests[0].pass[0].clone()
}

/// The unit is in the field's name: 35M is 35,000,000 bit/s, 60 ms is 60 of `_ms`.
#[test]
fn a_limit_has_the_unit_of_its_field() {
    for (text, steps, is_met) in [
        (
            "{step: a, field: x_bps, at_least: 35M}",
            json!([{"name": "a", "x_bps": 35_000_000}]),
            true,
        ),
        (
            "{step: a, field: x_bps, at_least: 35M}",
            json!([{"name": "a", "x_bps": 34_999_999}]),
            false,
        ),
        ("{step: a, field: x_ms, at_most: 0.06s}", json!([{"name": "a", "x_ms": 60.0}]), true),
        ("{step: a, field: x_us, at_most: 60ms}", json!([{"name": "a", "x_us": 60_001}]), false),
        (
            "{step: a, field: x_bytes, at_least: 64K}",
            json!([{"name": "a", "x_bytes": 64_000}]),
            true,
        ),
        (
            "{step: a, field: x_percent, at_most: 1%}",
            json!([{"name": "a", "x_percent": 1.5}]),
            false,
        ),
        ("{step: a, field: pass, equals: true}", json!([{"name": "a", "pass": true}]), true),
        ("{step: a, field: b.n, equals: 4}", json!([{"name": "a", "b": {"n": 4}}]), true),
    ] {
        let criterion = criterion(text);
        let figure = criterion.look_up(&json!({"steps": steps}));
        assert_eq!(criterion.is_met_by(&figure), Some(is_met), "{text} in {steps}");
    }
}

#[test]
fn of_several_steps_the_worst_is_judged_and_others_are_not_looked_at() {
    let steps = json!({"steps": [
        {"name": "tcp", "direction": "download", "throughput_bps": 36_000_000},
        {"name": "tcp", "direction": "download", "throughput_bps": 34_000_000},
        {"name": "tcp", "direction": "upload", "throughput_bps": 1},
        {"name": "cbs", "direction": "download", "throughput_bps": 2},
    ]});
    let of_tcp = "{step: tcp, where: {direction: download}, field: throughput_bps, at_least: 35M}";
    assert_eq!(criterion(of_tcp).look_up(&steps), Figure::Number(34_000_000.0));
    let at_most = "{step: tcp, where: {direction: download}, field: throughput_bps, at_most: 35M}";
    assert_eq!(criterion(at_most).look_up(&steps), Figure::Number(36_000_000.0));
}

#[test]
fn what_was_not_measured_neither_meets_nor_misses_a_criterion_and_it_is_said_why() {
    let steps = json!({"steps": [{"name": "tcp", "direction": "upload", "rtt_ms": null}]});
    for (text, why) in [
        ("{step: tcp, field: rtt_ms, at_most: 60ms}", "rtt_ms was not measured"),
        ("{step: bottleneck, field: rtt_ms, at_most: 60ms}", "there are tcp"),
        ("{step: tcp, where: {direction: download}, field: rtt_ms, at_most: 1s}", "`where`"),
    ] {
        let criterion = criterion(text);
        let figure = criterion.look_up(&steps);
        assert_eq!(criterion.is_met_by(&figure), None);
        assert!(criterion.shown(&figure).contains(why), "{why} in {}", criterion.shown(&figure));
    }
}

#[test]
fn a_step_that_misses_decides_whatever_was_not_measured_in_another() {
    let miss = criterion("{step: a, field: x, at_least: 5}");
    let steps =
        |second: i32| json!({"steps": [{"name": "a", "x": null}, {"name": "a", "x": second}]});
    assert_eq!(miss.look_up(&steps(4)), Figure::Number(4.0));
    assert!(matches!(miss.look_up(&steps(6)), Figure::Unknown(_)));
}

#[test]
fn a_name_that_no_result_has_is_refused_with_its_place_and_the_names_that_there_are() {
    for (criterion, place, said) in [
        (
            "{step: tpc, field: rtt_mean_ms, equals: 1}",
            "4:18",
            &["test has no step", "path_mtu, baseline_rtt", "bottleneck"][..],
        ),
        ("{step: cbs, field: pass, equals: true}", "4:18", &["test has no step `cbs`", "path_mtu"]),
        (
            "{step: tcp, field: rrt_mean_ms, at_most: 1s}",
            "4:30",
            &["did you mean `rtt_mean_ms`?", "role"],
        ),
        ("{step: tcp, field: series, equals: 1}", "4:30", &["`series`", "series.0.rtt_us"]),
        ("{step: tcp, field: series.a.rtt_us, equals: 1}", "4:30", &["`series.a.rtt_us`"]),
        (
            "{step: tcp, where: {way: up}, field: role, equals: walk}",
            "4:31",
            &["`way`", "direction"],
        ),
    ] {
        let text = plan(&format!("tests:\n  - test:\n    pass: {criterion}\n"));
        let sentence = read(&text).unwrap().expect_known_names().unwrap_err().error.to_string();
        assert!(sentence.starts_with(&format!(":{place}: ")), "{sentence} of {criterion}");
        for words in said {
            assert!(sentence.contains(words), "no {words:?} in {sentence:?}");
        }
    }
    let known =
        plan("tests:\n  - test:\n    pass: {step: tcp, field: series.3.rtt_us, at_most: 1s}\n");
    assert!(read(&known).unwrap().expect_known_names().is_ok());
}

/// The middle of an odd number; of an even one the worse of the two in the middle, so that an
/// outlier on the good side does not pass a test.
#[test]
fn the_median_of_repetitions_decides() {
    let at_least = criterion("{step: a, field: x, at_least: 5}");
    let at_most = criterion("{step: a, field: x, at_most: 5}");
    let numbers = |numbers: &[f64]| numbers.iter().copied().map(Figure::Number).collect::<Vec<_>>();
    assert_eq!(at_least.median(numbers(&[9.0, 1.0, 6.0])), Figure::Number(6.0));
    assert_eq!(at_most.median(numbers(&[9.0, 1.0, 6.0])), Figure::Number(6.0));
    assert_eq!(at_least.median(numbers(&[9.0, 1.0, 6.0, 4.0])), Figure::Number(4.0));
    assert_eq!(at_most.median(numbers(&[9.0, 1.0, 6.0, 4.0])), Figure::Number(6.0));
    let unknown = || Figure::Unknown(String::new());
    let two_of_three = vec![unknown(), Figure::Number(9.0), unknown()];
    assert_eq!(at_least.median(two_of_three), unknown());
    let one_of_three = vec![unknown(), Figure::Number(9.0), Figure::Number(7.0)];
    assert_eq!(at_least.median(one_of_three), Figure::Number(7.0));
}

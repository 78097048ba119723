//! Across the emulated network, in real time.

use std::fs;

use rustix::process::Signal;

use crate::folder::Folder;
use crate::plans::{plan, read, statuses};
use crate::process::{Running, command, fullpipe};

/// A line of 100 Mbit/s carries 94 Mbit/s of payload at most, and by accident of the cuts on a busy
/// host half as much more in a second; however little it is, something arrives.
#[test]
fn repetitions_over_the_lab_are_judged_by_what_a_line_can_carry() {
    let folder = Folder::new();
    let lines = "lab: fast-ethernet
variables: {most: 150M}
tests:
  - name: a line's worth
    flow: {time: 1s}
    repeat: 3
    pass:
      - {step: flow, field: rate_bps, at_most: $most}
      - {step: flow, field: payload_bytes, at_least: 1}
      - {step: flow, field: conserved, equals: true}
      - {step: path_mtu, field: mtu_bytes, equals: 1500}
  - name: more than a line
    flow: {time: 1s, reverse: true, parallel: 2}
    pass: {step: flow, field: rate_bps, at_least: $most}
";
    let (file, results, xml) = (plan(&folder, lines), folder.file("r"), folder.file("x.xml"));
    let run = fullpipe(&["run", &file, "--results", &results, "--junit", &xml, "--json"]);
    let summary = run.json();
    assert_eq!(run.exit, Some(1), "{}", run.stderr);
    assert_eq!(
        statuses(&summary, 0),
        [("a line's worth", "passed"), ("more than a line", "failed")],
        "{summary:#}"
    );
    let runs = summary["rounds"][0]["tests"][0]["runs"].as_array().unwrap();
    let mut rates: Vec<f64> = runs
        .iter()
        .map(|run| {
            let document = read(&folder, &format!("r/{}", run["result"].as_str().unwrap()));
            let steps = document["steps"].as_array().unwrap();
            let flow = steps.iter().find(|step| step["name"] == "flow").unwrap();
            flow["rate_bps"].as_f64().unwrap()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let judged = &summary["rounds"][0]["tests"][0]["criteria"][0];
    assert_eq!((rates.len(), judged["median"].as_f64()), (3, Some(rates[1])), "{judged}");

    let xml = fs::read_to_string(xml).unwrap();
    for counted in ["tests=\"2\"", "failures=\"1\"", "errors=\"0\"", "skipped=\"0\""] {
        assert!(xml.contains(counted), "{counted}: {xml}");
    }
}

/// The second test would take a minute: its timeout ends it, and in the second run a signal.
#[test]
fn a_test_that_does_not_end_is_ended_by_its_timeout_and_by_the_users_signal() {
    let folder = Folder::new();
    let lines = "lab: ideal
tests:
  - name: short
    flow: {time: 1s}
  - name: long
    flow: {time: 60s}
    timeout: 2s
";
    let run = |lines: &str, results: &str| {
        let (file, results) = (plan(&folder, lines), folder.file(results));
        Running::start(command(&["run", &file, "--results", &results]))
    };
    let timed_out = run(lines, "timeout").finish();
    assert_eq!(timed_out.exit, Some(3), "{timed_out:#?}");
    let summary = read(&folder, "timeout/summary.json");
    assert_eq!(statuses(&summary, 0), [("short", "passed"), ("long", "not_run")]);
    assert!(timed_out.stdout.contains("timeout of 2 s"), "{timed_out:#?}");

    let mut stopped = run(&lines.replace("    timeout: 2s\n", ""), "signal");
    stopped.wait_until_it_says("[2/2] long");
    stopped.wait_until_it_says("bit/s");
    stopped.send(Signal::TERM);
    let stopped = stopped.finish();
    assert_eq!(stopped.exit, Some(143), "{stopped:#?}");
    let summary = read(&folder, "signal/summary.json");
    assert_eq!(statuses(&summary, 0), [("short", "passed"), ("long", "aborted")]);
}

//! Across the emulated network, in real time.

use rustix::process::Signal;

use super::super::folder::Folder;
use super::super::process::{Running, command};
use super::{plan, read, statuses};

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

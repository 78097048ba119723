//! `fullpipe lab`: exit codes, files, and nothing left behind.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::folder::Folder;
use crate::process::{Running, command, fullpipe, json};

/// Those that every installation has.
const BUILT_IN: [&str; 12] = [
    "ideal",
    "line-100m-10ms",
    "metro-40m-cbs64k",
    "metro-40m-cbs275k",
    "fast-ethernet",
    "gigabit",
    "transatlantic-limited",
    "five-class-20m",
    "bufferbloat-20m",
    "lossy-50m",
    "blackhole-1400",
    "nat-gateway",
];

/// 128 and the number of a signal, 127 for a program that is not there: as shells have it.
#[test]
fn the_exit_code_is_that_of_the_program() {
    for (program, exit) in [
        (&["true"][..], 0),
        (&["sh", "-c", "exit 7"], 7),
        (&["sh", "-c", "kill -TERM $$"], 143),
        (&["no-such-program"], 127),
        (&["/"], 126),
    ] {
        let run = fullpipe(&[&["lab", "line-100m-10ms", "--"], program].concat());
        assert_eq!((run.exit, run.stdout.as_str()), (Some(exit), ""), "{program:?}: {run:#?}");
    }
}

#[test]
fn near_and_far_are_known_by_name() {
    let run = fullpipe(&["lab", "ideal", "--", "getent", "hosts", "near", "far"]);
    assert_eq!((run.exit, run.stdout.lines().count()), (Some(0), 2), "{run:#?}");
}

#[test]
fn every_built_in_network_is_listed_with_a_sentence() {
    let run = fullpipe(&["lab", "list"]);
    for name in BUILT_IN {
        let line = run.stdout.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.split_whitespace().count() > 3), "{name}: {line:?}");
    }
}

#[test]
fn a_network_that_is_shown_can_be_saved_and_run() {
    let folder = Folder::new();
    for name in BUILT_IN {
        let shown = fullpipe(&["lab", "show", name]).stdout;
        let file = folder.written(&format!("{name}.yaml"), &shown);
        assert_eq!(fullpipe(&["lab", "show", &file]).stdout, shown);
        let run = fullpipe(&["lab", &file, "--", "true"]);
        assert_eq!(run.exit, Some(0), "{run:#?}");
    }
}

#[test]
fn the_truth_of_a_network_is_one_document() {
    let folder = Folder::new();
    let file = folder.file("truth.json");
    let run = fullpipe(&["lab", "ideal", "--truth", &file, "--", "true"]);
    assert_eq!(run.exit, Some(0), "{run:#?}");
    assert!(json(&fs::read_to_string(&file).unwrap()).unwrap().is_object());
}

/// Whatever the lab starts inherits the third descriptor, so that stdout ends with the last of it. Who
/// is started in the background by a shell without job control ignores SIGINT, and so would the program.
#[test]
fn nothing_outlives_the_lab_however_it_ends() {
    for (signal, exit) in
        [(Signal::INT, Some(130)), (Signal::TERM, Some(143)), (Signal::KILL, None)]
    {
        let mut shell = Command::new("env");
        shell.args([
            "--default-signal=INT",
            "sh",
            "-c",
            r#"exec "$0" "$@" 3>&1"#,
            env!("CARGO_BIN_EXE_fullpipe"),
            "lab",
            "ideal",
        ]);
        // Of the program's own children one tries to stay.
        shell.args(["--", "sh", "-c", "setsid sleep 600 & echo ready; exec sleep 600"]);
        let mut lab = Running::start(shell);
        assert_eq!(lab.line(), "ready\n");
        lab.send(signal);
        let run = lab.finish();
        assert_eq!(run.exit, exit, "{}", run.stderr);
    }
}

#[test]
fn the_program_is_passed_a_signal_and_may_end_in_its_own_way() {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let trap = "trap 'exit 5' TERM; echo ready; sleep 600 & wait";
    let mut lab =
        Running::start(command(&["lab", "ideal", "--truth", &truth, "--", "sh", "-c", trap]));
    assert_eq!(lab.line(), "ready\n");
    lab.send(Signal::TERM);
    assert_eq!(lab.finish().exit, Some(5));
    assert!(json(&fs::read_to_string(&truth).unwrap()).unwrap().is_object());
}

/// Nothing is measured here, so a host that did not run an end in time makes no difference.
#[test]
fn a_test_inside_the_lab_needs_no_more_than_the_name_far() {
    let binary = env!("CARGO_BIN_EXE_fullpipe");
    let inside = ["lab", "line-100m-10ms", "--", binary, "flow", "far", "-b", "1M", "-t", "1"];
    let run = fullpipe(&[&inside[..], &["-q", "--json"]].concat());
    assert!(matches!(run.exit, Some(0 | 4)) && run.stderr.is_empty(), "{run:#?}");
    let result = run.json();
    let steps = result["steps"].as_array().unwrap();
    let flow = steps.iter().find(|step| step["name"] == "flow").unwrap();
    assert!(flow["payload_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{flow}");
}

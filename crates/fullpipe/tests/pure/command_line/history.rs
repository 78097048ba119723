//! The history: what was measured is there, whatever becomes of the history changes no measurement.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::event::{Timespec, poll};
use rustix::process::Signal;
use serde_json::Value;

use crate::folder::Folder;
use crate::process::{Finished, Running, command, fullpipe};
use crate::recorded;

const SIM: [&str; 6] = ["sim", "fast-ethernet", "flow", "-t", "500ms", "-q"];

/// A history of its own.
struct Data(Folder);

impl Data {
    fn new() -> Self {
        Self(Folder::new())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        command.env("FULLPIPE_DATA", self.0.file("data"));
        command
    }

    fn run(&self, words: &[&str]) -> Finished {
        Running::start(self.command(words)).finish()
    }

    /// Takes recorded results in.
    fn import(&self, names: &[&str]) {
        let files =
            names.iter().map(|name| self.0.written(&format!("{name}.json"), &recorded::text(name)));
        let files: Vec<String> = files.collect();
        let files = files.iter().map(String::as_str);
        let words: Vec<&str> = ["history", "--import"].into_iter().chain(files).collect();
        let run = self.run(&words);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
    }

    /// The runs that it holds.
    fn runs(&self) -> Vec<Value> {
        let listed = self.run(&["history", "--limit", "1000", "--json"]).json();
        let runs = listed["runs"].as_array().unwrap().clone();
        assert_eq!(listed["count"], runs.len());
        runs
    }
}

#[test]
fn a_run_that_is_kept_is_shown_again_to_the_byte() {
    let data = Data::new();
    let file = data.0.file("result.json");
    let run = data.run(&[&SIM[..], &["--save", "-o", &file]].concat());
    assert_eq!((run.exit, run.stderr.as_str()), (Some(0), ""));
    let again = data.run(&["report", "last", "--json"]);
    assert_eq!(again.stdout, fs::read_to_string(&file).unwrap());
    let id = again.json()["id"].as_str().unwrap().to_owned();
    for name in ["last", &id, &id[..10], &file] {
        let shown = data.run(&["report", name]);
        assert_eq!((shown.exit, &shown.stdout), (Some(0), &run.stdout), "{name}");
    }
}

#[test]
fn a_simulation_is_kept_where_it_is_asked_for_and_no_save_keeps_nothing() {
    let data = Data::new();
    data.run(&SIM);
    assert_eq!(data.runs(), Vec::<Value>::new());
    let both = data.run(&[&SIM[..], &["--save", "--no-save"]].concat());
    assert_eq!(both.exit, Some(2), "{}", both.stderr);
    data.run(&[&SIM[..], &["--save", "--site", "Hamburg", "--order", "A-1"]].concat());
    let runs = data.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["method"], &runs[0]["verdict"]), (&"flow".into(), &"info".into()));
    assert_eq!(runs[0]["labels"]["site"], "Hamburg");
    assert_eq!(runs[0]["figure"]["unit"], "bit/s");
    let listed = data.run(&["history", "--where", "site=hamb,order=A-1"]);
    assert!(listed.stdout.contains("Hamburg, A-1"), "{}", listed.stdout);
    let none = data.run(&["history", "--where", "site=Bremen"]);
    assert_eq!(none.stdout, "no run meets these conditions\n");
}

#[test]
fn what_a_plan_measures_is_kept_as_well() {
    let data = Data::new();
    let plan = "plan: fullpipe.plan/1\nname: Two\nsim: fast-ethernet\ntests:\n  - flow: {time: 500ms, save: true}\n";
    let plan = data.0.written("plan.yaml", plan);
    let results = data.0.file("results");
    let run = data.run(&["run", &plan, "-q", "--results", &results]);
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    assert_eq!(data.runs().len(), 1);
    let results = data.0.file("others");
    data.run(&["run", &plan, "-q", "--results", &results]);
    data.run(&["run", &plan, "-q", "--no-save"]);
    assert_eq!(data.runs().len(), 2);
}

/// What the program says and how it ends is the same as without a history.
fn expect_measured(run: &Finished, says: &str) {
    let plain = fullpipe(&[&SIM[..], &["--json"]].concat());
    assert_eq!(run.exit, plain.exit, "{}", run.stderr);
    assert_eq!(run.json()["steps"], plain.json()["steps"]);
    assert!(run.stderr.contains("history: this run was not kept: "), "{}", run.stderr);
    assert!(run.stderr.contains(says), "{}", run.stderr);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

#[test]
fn a_history_that_cannot_be_used_costs_no_measurement() {
    let data = Data::new();
    let kept = [&SIM[..], &["--save", "--json"]].concat();
    // A file where the folder should be.
    data.0.written("data", "");
    expect_measured(&data.run(&kept), "$FULLPIPE_DATA");
    fs::remove_file(data.0.file("data")).unwrap();
    // Somebody else's file where the history should be.
    fs::create_dir(data.0.file("data")).unwrap();
    data.0.written("data/history.db", &"a song\n".repeat(1000));
    expect_measured(&data.run(&kept), "is no history of fullpipe");
    assert!(fs::read_to_string(data.0.file("data/history.db")).unwrap().starts_with("a song"));
}

/// A disk of 64 kB, in a mount namespace of its own.
#[test]
fn a_full_disk_costs_no_measurement() {
    let data = Data::new();
    let mut full = Command::new("unshare");
    full.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    full.arg("mkdir \"$FULLPIPE_DATA\" && mount -t tmpfs -o size=64k none \"$FULLPIPE_DATA\" && exec \"$0\" \"$@\"");
    full.arg(env!("CARGO_BIN_EXE_fullpipe")).args(SIM).args(["--save", "--json"]);
    full.env("FULLPIPE_DATA", data.0.file("data"));
    expect_measured(&Running::start(full).finish(), "no place is left");
}

#[test]
fn killed_at_any_moment_a_run_is_whole_or_absent() {
    let data = Data::new();
    const RUNS: u32 = 12;
    for run in 0..RUNS {
        let started = Running::start(data.command(&[&SIM[..], &["--save"]].concat()));
        // Over the time that such a run takes, and what it takes to keep it.
        let moment = Duration::from_millis(20) * run;
        let timeout = Timespec { tv_sec: 0, tv_nsec: moment.subsec_nanos().into() };
        poll(&mut [], Some(&timeout)).unwrap();
        started.send(Signal::KILL);
        started.finish();
    }
    data.run(&[&SIM[..], &["--save"]].concat());
    let runs = data.runs();
    assert!(!runs.is_empty());
    for run in &runs {
        let id = run["id"].as_str().unwrap();
        let document = data.run(&["report", id, "--json"]);
        assert_eq!(document.exit, Some(0), "{}", document.stderr);
        assert_eq!(document.json()["id"], id);
    }
}

#[test]
fn runs_go_out_as_files_and_come_in_as_files() {
    let (one, other) = (Data::new(), Data::new());
    one.import(&["flow-tcp-sim", "flow-udp-lab"]);
    let folder = one.0.file("out");
    assert_eq!(one.run(&["history", "--export", &folder]).exit, Some(0));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    let said = |run: Finished| (run.exit, run.stdout);
    let new = "2 runs are new in the history, 0 were there\n";
    assert_eq!(said(other.run(&["history", "--import", &folder])), (Some(0), new.into()));
    let known = "0 runs are new in the history, 2 were there\n";
    assert_eq!(said(other.run(&["history", "--import", &folder])), (Some(0), known.into()));
    let ids = |data: &Data| -> BTreeSet<String> {
        data.runs().iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&other), ids(&one));
    for id in ids(&one) {
        let [here, there] = [&one, &other].map(|data| data.run(&["report", &id, "--json"]).stdout);
        assert_eq!(here, there);
    }
    // One that is not whole, and nothing is taken.
    let whole = one.run(&["report", "last", "--json"]).stdout;
    let half = one.0.written("out/half.json", &whole[..whole.len() / 2]);
    let refused = Data::new().run(&["history", "--import", &folder]);
    assert_eq!(refused.exit, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains(&half) && refused.stderr.contains("ends in the middle"));
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let data = Data::new();
    assert_eq!(data.run(&["history", "--keep-runs", "2"]).exit, Some(0));
    data.import(&["flow-tcp-sim", "flow-udp-sim", "rfc6349-sim"]);
    assert_eq!(data.runs().len(), 2);
    // A run of today is younger than any recording.
    let run = data.run(&[&SIM[..], &["--save", "--json"]].concat()).json();
    let runs = data.runs();
    assert_eq!((runs.len(), &runs[0]["id"]), (2, &run["id"]));
    let none = data.run(&["history", "--keep-runs", "0"]);
    assert_eq!(none.exit, Some(2), "{}", none.stderr);
}

#[test]
fn what_is_asked_of_the_history_in_vain_is_told() {
    let data = Data::new();
    assert_eq!(data.run(&["history"]).stdout, "nothing was measured yet, or nothing was kept\n");
    for (words, says) in [
        (&["report", "last"][..], "the history is empty"),
        (&["report", "0123"], "the history is empty"),
        (&["report", "./nowhere.json"], "cannot read ./nowhere.json"),
        (&["history", "--where", "colour=red"], "there are method, far"),
        (&["history", "--where", "since=soon"], "'soon' is no time"),
    ] {
        let run = data.run(words);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{words:?}");
        assert!(run.stderr.contains(says), "{words:?}: {}", run.stderr);
    }
    data.import(&["flow-tcp-sim"]);
    let run = data.run(&["report", "zzzz"]);
    assert!(
        run.stderr.contains("neither a run 'zzzz' in the history nor a file"),
        "{}",
        run.stderr
    );
    // Without a folder there is no history, and a run does not miss it.
    let run = fullpipe(&["history"]);
    assert_eq!(run.exit, Some(3), "{}", run.stderr);
}

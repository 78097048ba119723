//! Very many connections across the lab whose user has had enough of them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fp_engine::os::clock;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::load::expect_all_accounted_for;
use crate::result::number;

/// Far more than a second or two, which is what the ramps are.
const SOON: Duration = Duration::from_secs(10);

/// What a run of a minute left that was stopped when all its connections were open.
struct Stopped {
    exit: Option<i32>,
    result: Value,
    took: Duration,
}

fn stopped(signal: Signal, words: &[&str]) -> Stopped {
    let load = ["stress", "--lab", "ideal", "--connections", "2k", "--ramp-up", "300ms"];
    let shown = ["--steady", "60s", "--interval", "200ms", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command.args([&load[..], &shown, words].concat()).env("FULLPIPE_DATA", "/dev/null");
    let mut run = Run(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut progress = BufReader::new(run.0.stderr.take().unwrap()).lines();
    let all_are_open = progress.any(|line| line.unwrap().contains(" 2,000 active"));
    assert!(all_are_open);
    kill_process(Pid::from_child(&run.0), signal).unwrap();
    let sent = clock::now();
    let mut document = String::new();
    run.0.stdout.take().unwrap().read_to_string(&mut document).unwrap();
    let exit = run.0.wait().unwrap().code();
    Stopped {
        exit,
        result: serde_json::from_str(&document).unwrap(),
        took: clock::now().since(sent),
    }
}

/// It does not outlive this value.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All were open, and all were closed by this end: the result is whole as far as it went.
fn expect_kept(run: &Stopped, how: &str) -> Value {
    assert!(run.took < SOON, "{:?}", run.took);
    let (verdict, step) = (&run.result["verdict"], &run.result["steps"][0]);
    assert_eq!(verdict["status"], "aborted", "{verdict:#}");
    let reason = &verdict["reasons"][0];
    assert_eq!((&reason["code"], &reason["step"]), (&json!("stopped"), &json!(0)));
    let text = reason["text"].as_str().unwrap();
    assert!(text.contains("with 2000 connections open") && text.contains(how), "{text}");
    expect_all_accounted_for(step);
    for field in ["attempted", "established", "closed", "connections_peak"] {
        assert_eq!(number(step, field), 2000.0, "{field}: {step:#}");
    }
    assert_eq!(step["held"], json!({"wanted": 2000, "least": 2000, "most": 2000}));
    assert_eq!(number(&step["stopped"], "active"), 2000.0);
    let last = step["series"].as_array().unwrap().last().unwrap();
    let end_s = number(last, "t_s") + number(last, "dt_s");
    assert!((end_s - number(&step["stopped"], "until_s")).abs() < 1e-6, "{last}");
    assert_eq!(run.result["evidence"].as_array().unwrap().len(), 1);
    step["stopped"].clone()
}

/// Two thousand in a second of their opening are as many in one of their closing.
#[test]
fn who_interrupts_has_all_closed_and_keeps_what_was_counted() {
    let run = stopped(Signal::INT, &[]);
    let stopped = expect_kept(&run, "they were closed");
    assert_eq!((run.exit, &stopped["abort"]), (Some(130), &json!(false)));
    let took_s = number(&stopped, "until_s") - number(&stopped, "at_s");
    assert!(took_s > 0.9, "{took_s}");
}

#[test]
fn who_wants_it_has_all_reset_at_once() {
    let run = stopped(Signal::TERM, &["--abort"]);
    let stopped = expect_kept(&run, "they were reset");
    assert_eq!((run.exit, &stopped["abort"]), (Some(143), &json!(true)));
}

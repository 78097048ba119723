//! Runs the binary and reads its result as a script would.

use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// What a run of `fullpipe` left: its exit code and its JSON.
pub(crate) struct Finished {
    pub(crate) exit: i32,
    pub(crate) result: Value,
    pub(crate) stderr: String,
}

/// What a busy host spoils is tried so often.
const TRIES: u32 = 2;
const NOT_VALID: i32 = 4;
/// A host on which a sleeper oversleeps by more takes its processors away from whoever measures, too:
/// a hundred times what a timer needs.
const OVERSLEPT_MAX: Duration = Duration::from_millis(2);

/// Runs `fullpipe` with these words and `--json`; across the lab again where it says that the host
/// kept it from measuring, which must be so.
pub(crate) fn run(words: &[&str]) -> Finished {
    let mut finished = run_once(words).0;
    for _ in 1..TRIES {
        if finished.exit != NOT_VALID || !words.contains(&"--lab") {
            return finished;
        }
        let overslept;
        (finished, overslept) = run_once(words);
        let is_excused = finished.exit != NOT_VALID || overslept > OVERSLEPT_MAX;
        assert!(is_excused, "{overslept:?}: {:#}", finished.result["verdict"]);
    }
    finished
}

/// A run, and the longest that a thread which only sleeps overslept meanwhile.
fn run_once(words: &[&str]) -> (Finished, Duration) {
    let words: Vec<&str> = words.iter().chain(&["--json"]).copied().collect();
    let (output, overslept) = thread::scope(|scope| {
        let run = scope.spawn(|| output(words.iter().copied()));
        let mut overslept = Duration::ZERO;
        while !run.is_finished() {
            overslept = overslept.max(oversleep());
        }
        (run.join().unwrap(), overslept)
    });
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON from {words:?}: {error}\n{stderr}"));
    (Finished { exit: output.status.code().unwrap(), result, stderr }, overslept)
}

/// How much longer than it wanted this thread has slept.
#[expect(clippy::disallowed_methods, reason = "what is measured is the host, by no code of ours")]
fn oversleep() -> Duration {
    const NAP: Duration = Duration::from_millis(2);
    let began = Instant::now();
    thread::sleep(NAP);
    began.elapsed() - NAP
}

/// Runs `fullpipe` with these words as they are; one at a time, because two would compete for the
/// processors of the machine.
pub(crate) fn output<'a>(words: impl IntoIterator<Item = &'a str>) -> Output {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    // What a test measures is not for the history of whoever runs it.
    command.args(words).env("FULLPIPE_DATA", "/dev/null").output().unwrap()
}

impl Finished {
    /// The steps of this name.
    pub(crate) fn steps(&self, name: &str) -> Vec<&Value> {
        let steps = self.result["steps"].as_array().unwrap();
        steps.iter().filter(|step| step["name"] == name).collect()
    }

    pub(crate) fn status(&self) -> &str {
        self.result["verdict"]["status"].as_str().unwrap()
    }

    pub(crate) fn reason_codes(&self) -> Vec<&str> {
        let reasons = self.result["verdict"]["reasons"].as_array().unwrap();
        reasons.iter().map(|reason| reason["code"].as_str().unwrap()).collect()
    }
}

/// A number of a step.
pub(crate) fn number(step: &Value, field: &str) -> f64 {
    step[field].as_f64().unwrap_or_else(|| panic!("no {field} in {step}"))
}

/// Whether `value` is within `percent` of `truth`.
pub(crate) fn within_percent(value: f64, truth: f64, percent: f64) -> bool {
    (value / truth - 1.0).abs() * 100.0 <= percent
}

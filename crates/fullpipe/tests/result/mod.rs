//! Runs the binary and reads its result as a script would.

use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// What a run of `fullpipe` left: its exit code and its JSON.
pub(crate) struct Finished {
    pub(crate) exit: i32,
    pub(crate) result: Value,
    pub(crate) stderr: String,
}

/// What a busy host spoils is tried so often.
const TRIES: u32 = 3;
const NOT_VALID: i32 = 4;

/// Runs `fullpipe` with these words and `--json`; again where it says that the host kept it from
/// measuring, which no simulation ever says.
pub(crate) fn run(words: &[&str]) -> Finished {
    let mut finished = run_once(words);
    for _ in 1..TRIES {
        if finished.exit != NOT_VALID || !words.contains(&"--lab") {
            break;
        }
        finished = run_once(words);
    }
    finished
}

fn run_once(words: &[&str]) -> Finished {
    let output = output(words.iter().chain(&["--json"]).copied());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON from {words:?}: {error}\n{stderr}"));
    Finished { exit: output.status.code().unwrap(), result, stderr }
}

/// Runs `fullpipe` with these words as they are; one at a time, because two would compete for the
/// processors of the machine.
pub(crate) fn output<'a>(words: impl IntoIterator<Item = &'a str>) -> Output {
    static ONE: Mutex<()> = Mutex::new(());
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    Command::new(env!("CARGO_BIN_EXE_fullpipe")).args(words).output().unwrap()
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

//! Runs the binary and reads its result as a script would.

use std::process::{Command, Output};

use serde_json::Value;

/// What a run of `fullpipe` left: its exit code and its JSON.
pub(crate) struct Finished {
    pub(crate) exit: i32,
    pub(crate) result: Value,
    pub(crate) stderr: String,
    /// How the host was disturbed meanwhile; in virtual time it never is.
    pub(crate) disturbance: Option<String>,
}

const INCONCLUSIVE: i32 = 5;

/// Runs `fullpipe` with these words and `--json`.
pub(crate) fn run(words: &[&str]) -> Finished {
    let output = output(words.iter().chain(&["--json"]).copied());
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let result = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("no JSON from {words:?}: {error}\n{stderr}"));
    Finished { exit: output.status.code().unwrap(), result, stderr, disturbance: None }
}

/// Runs a method over the simulation of a network.
pub(crate) fn simulated(network: &str, method: &str, words: &[&str]) -> Finished {
    run(&[&["sim", network, method, "-q"], words].concat())
}

/// Runs `fullpipe` with these words as they are.
pub(crate) fn output<'a>(words: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    // What a test measures is not for the history of whoever runs it.
    command.args(words).env("FULLPIPE_DATA", "/dev/null").output().unwrap()
}

impl Finished {
    /// Where the host hid from the tester what it needs to decide, the test ends as disturbed.
    pub(crate) fn expect_pass(&self) {
        let Self { exit, result, stderr, .. } = self;
        self.expect_of_tester(*exit != INCONCLUSIVE, "what was seen does not decide");
        assert_eq!((*exit, self.status()), (0, "pass"), "{:#}\n{stderr}", result["verdict"]);
    }

    /// What only a quiet host lets the tester do: where the host was disturbed and the tester says that
    /// it could not, the test ends as disturbed.
    pub(crate) fn expect_of_tester(&self, could: bool, what: &str) {
        if let (false, Some(disturbance)) = (could, &self.disturbance) {
            panic!("disturbed: {disturbance}: {what}");
        }
        let Self { result, stderr, .. } = self;
        assert!(could, "the host was quiet: {what}: {:#}\n{stderr}", result["verdict"]);
    }

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

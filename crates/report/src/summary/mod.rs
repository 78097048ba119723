//! What became of a plan: its tests, round by round, as a document, as text and as JUnit XML.

mod junit;
mod text;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use junit::junit;
pub(crate) use junit::plain;
pub use text::{test_line, text, whole_time};

/// The format of the document.
pub const SCHEMA: &str = "fullpipe.run/1";

/// A plan that was run, or is being run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    pub schema: String,
    pub name: String,
    /// RFC 3339.
    pub started: String,
    pub duration_s: f64,
    pub tool: Tool,
    pub status: Status,
    pub planned: Vec<Planned>,
    pub rounds_planned: u32,
    pub rounds: Vec<Round>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

/// A test as the plan has it, variables and matrices worked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    pub name: String,
    pub method: String,
    pub tags: Vec<String>,
    /// The command line, without secrets and documents.
    pub command: Vec<String>,
    pub repeat: u32,
    /// What the method finds good or bad counts.
    pub counts_verdict: bool,
    pub criteria: Vec<String>,
}

/// All tests once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Round {
    pub round: u32,
    pub started: String,
    /// Those that have run, in the order of the plan.
    pub tests: Vec<Tested>,
}

/// What became of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tested {
    pub name: String,
    pub status: Status,
    pub started: String,
    pub duration_s: f64,
    pub reasons: Vec<String>,
    pub criteria: Vec<Judged>,
    pub runs: Vec<Repetition>,
}

/// A criterion and what was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    pub criterion: String,
    /// `None` where what decides was not measured.
    pub met: Option<bool>,
    /// Of each run, `null` where it is unknown.
    pub figures: Vec<Value>,
    /// The one that decides.
    pub median: Value,
    /// The same in words.
    pub found: String,
}

/// One run of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Repetition {
    pub status: Status,
    pub duration_s: f64,
    /// The file of its result, beside the summary.
    pub result: Option<String>,
    pub reasons: Vec<String>,
}

/// How a run, a test or a plan ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Passed,
    /// What was measured does not decide what was asked.
    Inconclusive,
    /// The tester was measured, not the network.
    NotValid,
    Failed,
    NotRun,
    /// Stopped by a signal.
    Aborted,
}

impl Status {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Passed => "PASS",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::NotValid => "INVALID",
            Self::Failed => "FAIL",
            Self::NotRun => "NOT RUN",
            Self::Aborted => "ABORTED",
        }
    }
}

impl Summary {
    pub fn json(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }

    /// What became of the test `planned` in this round.
    pub fn tested<'a>(&self, round: &'a Round, planned: &Planned) -> Option<&'a Tested> {
        round.tests.iter().find(|tested| tested.name == planned.name)
    }

    fn count(&self, status: Status) -> usize {
        let all = self.rounds.iter().flat_map(|round| &round.tests);
        all.filter(|tested| tested.status == status).count()
    }
}

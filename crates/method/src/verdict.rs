//! What a run amounts to: steps, verdict, reasons in plain words, the tester's checks of itself.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::Abort;

use crate::reason::Code;
use crate::rounded;

/// What a method found: its steps in the order they ran, and what follows from them.
#[derive(Clone, Debug, PartialEq)]
pub struct Report<S> {
    pub steps: Vec<S>,
    pub verdict: Verdict,
    pub checks: Vec<Check>,
    /// Where the run departs from its standard, each a sentence.
    pub deviations: Vec<String>,
    /// What happened during the run, in the order of time as far as it is known.
    pub events: Vec<Event>,
}

/// Something that happened to a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// From when trials could be run; `None` where it is known only in which trial it was.
    pub at: Option<Duration>,
    /// The name of the trial.
    pub trial: String,
    /// As of the [`Reason`] that tells of it.
    pub code: Code,
    /// `None` of what took no time, or an unknown one.
    pub lasts: Option<Duration>,
}

impl<S> Default for Report<S> {
    fn default() -> Self {
        Self {
            steps: Vec::new(),
            verdict: Verdict::default(),
            checks: Vec::new(),
            deviations: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl<S> Report<S> {
    /// Adds a self-check; if it is broken, nothing that was found holds.
    pub(crate) fn submit(&mut self, check: Check, why: Option<String>) {
        if let Some(text) = why.filter(|_| !check.ok) {
            let reason = Reason { code: check.name, text, step: None };
            self.verdict.reasons.insert(0, reason);
        }
        if !check.ok && self.verdict.status != Status::Aborted {
            self.verdict.status = Status::Invalid;
        }
        self.checks.push(check);
    }

    /// What was asked and nothing was measured for, each a sentence: a run that has not failed
    /// otherwise is invalid. One that was broken off says so already.
    pub(crate) fn heed_unmeasured(&mut self, unmeasured: Vec<String>) {
        if unmeasured.is_empty() || self.verdict.status == Status::Aborted {
            return;
        }
        let count = unmeasured.len() as f64;
        self.checks.push(Check::at_most(Code::CriteriaNotMeasured, count, 0.0, "criteria"));
        if self.verdict.status != Status::Fail {
            self.verdict.status = Status::Invalid;
        }
        let reason = |text| Reason { code: Code::CriteriaNotMeasured, text, step: None };
        self.verdict.reasons.extend(unmeasured.into_iter().map(reason));
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    pub status: Status,
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    Pass,
    /// Nothing that was asked is missed, and something was found that the path's owner should know.
    Findings,
    Fail,
    /// What was measured does not decide what was asked.
    Inconclusive,
    Invalid,
    /// There was nothing to judge by.
    Info,
    #[default]
    Aborted,
}

impl Status {
    pub const ALL: [Self; 7] = [
        Self::Pass,
        Self::Findings,
        Self::Fail,
        Self::Inconclusive,
        Self::Invalid,
        Self::Aborted,
        Self::Info,
    ];

    /// Whether what was asked is met; `None` where nothing was asked, or what was measured does not
    /// say.
    pub const fn is_met(self) -> Option<bool> {
        match self {
            Self::Pass | Self::Findings => Some(true),
            Self::Fail => Some(false),
            Self::Inconclusive | Self::Invalid | Self::Info | Self::Aborted => None,
        }
    }

    /// Its name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Findings => "findings",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
            Self::Invalid => "invalid",
            Self::Info => "info",
            Self::Aborted => "aborted",
        }
    }

    /// That of this name in documents.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Findings => "PASS WITH FINDINGS",
            Self::Fail => "FAIL",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Invalid => "INVALID",
            Self::Info => "MEASURED",
            Self::Aborted => "ABORTED",
        }
    }

    /// What it says of the path, in a sentence.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Pass => "The path meets what was asked of it.",
            Self::Findings => {
                "Nothing that was asked of the path is missed; its owner should know what was found."
            }
            Self::Fail => "The path does not meet what was asked of it.",
            Self::Inconclusive => {
                "What was measured does not decide whether the path meets what was asked of it."
            }
            Self::Invalid => {
                "The tester, not the network, was measured: this run says nothing about the path."
            }
            Self::Info => "Nothing was asked of the path, so that there is nothing to judge by.",
            Self::Aborted => {
                "The run was broken off: there is no verdict on what was not measured."
            }
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why the verdict is what it is, in plain words.
#[derive(Clone, Debug, PartialEq)]
pub struct Reason {
    pub code: Code,
    pub text: String,
    /// Place of the step among the report's steps.
    pub step: Option<usize>,
}

/// A self-check: was the network measured, or the tester?
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub name: Code,
    pub ok: bool,
    pub value: f64,
    pub limit: f64,
    pub unit: &'static str,
}

impl Verdict {
    /// Where nothing asked for was missed, tells a path with findings from one without.
    pub(crate) fn heed_findings(&mut self) {
        let is_finding = |reason: &Reason| reason.code.is_finding();
        let is_sound = matches!(self.status, Status::Pass | Status::Info);
        if is_sound && self.reasons.iter().any(is_finding) {
            self.status = Status::Findings;
        }
    }
}

impl Reason {
    /// Why a run was broken off.
    pub fn of_abort(abort: &Abort) -> Self {
        let code = match abort {
            Abort::Stopped => Code::Stopped,
            Abort::Lost(_) => Code::FarEndLost,
            Abort::Testbed(_) => Code::TrialNotRun,
        };
        Self { code, text: abort.to_string(), step: None }
    }
}

impl Check {
    /// A check that holds up to `limit`.
    pub(crate) fn at_most(name: Code, value: f64, limit: f64, unit: &'static str) -> Self {
        Self { name, ok: value <= limit, value, limit, unit }
    }

    /// A check that holds from `limit` on.
    pub(crate) fn at_least(name: Code, value: f64, limit: f64, unit: &'static str) -> Self {
        Self { name, ok: value >= limit, value, limit, unit }
    }

    /// Why a run with this check broken says nothing; `what` in plain words.
    pub(crate) fn as_reason(&self, what: &str) -> Reason {
        let Self { name, value, limit, unit, .. } = *self;
        let [value, limit] = [value, limit].map(|figure| rounded(figure, 2));
        let text = format!("{what} ({value} {unit}, limit {limit})");
        Reason { code: name, text, step: None }
    }
}

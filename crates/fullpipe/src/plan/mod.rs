//! Plans: tests in the order in which they run, what each must meet, and how often all of it.

mod criterion;
mod file;
mod spec;
mod variables;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use fp_method::methods::Method;

use crate::exit::Failure;
use crate::yaml::{Kind, Node, Problem, Text};

pub(crate) use criterion::{Criterion, Figure};

const KIND: Kind =
    Kind { key: "plan", schema: "fullpipe.plan/1", describes: "plan", name: "plan file" };

/// What a plan file says, variables and matrices worked out.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) target: Option<(Target, Text)>,
    pub(crate) tests: Vec<Test>,
    pub(crate) schedule: Schedule,
    pub(crate) stop_on_fail: bool,
    file: PathBuf,
}

/// One test of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) tags: Vec<String>,
    /// Where the plan's own does not hold.
    pub(crate) target: Option<(Target, Text)>,
    /// The command, such as `burst`, where it stands.
    pub(crate) method: Text,
    /// Options of the command: each with its value, or a list of them.
    pub(crate) options: Vec<Setting>,
    pub(crate) repeat: u32,
    /// Before each run.
    pub(crate) pause: Duration,
    pub(crate) timeout: Option<Duration>,
    /// What the command finds good or bad counts, beside the criteria.
    pub(crate) counts_verdict: bool,
    pub(crate) pass: Vec<Criterion>,
}

/// An option of a command as a plan has it.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    pub(crate) key: Text,
    pub(crate) values: Vec<Text>,
}

/// Across what a test runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A pairing string or HOST[:PORT].
    Far(String),
    /// An emulated network.
    Lab(String),
    /// The same in virtual time.
    Sim(String),
}

/// How often the tests of a plan are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    /// From one beginning to the next.
    pub(crate) every: Duration,
    pub(crate) times: u32,
}

impl Schedule {
    pub(crate) const ONCE: Self = Self { every: Duration::ZERO, times: 1 };
}

/// Reads the plan file at `path`; `set` takes the place of variables in it, `methods` are the
/// commands that a plan may have.
///
/// # Errors
/// Bad input: no such file, or what in it is wrong, where, and what is allowed.
pub(crate) fn load(
    path: &Path,
    set: &[(String, String)],
    methods: &[&str],
) -> Result<Plan, Failure> {
    let text = KIND.text_of(path).map_err(Failure::bad_input)?;
    let plan = parse(&text, set, methods).map_err(|problem| located(path, &problem))?;
    Ok(Plan { file: path.to_owned(), ..plan })
}

impl Plan {
    /// # Errors
    /// Bad input: a criterion names a step or a field that no result of its command has.
    pub(crate) fn expect_known_names(&self) -> Result<(), Failure> {
        for test in &self.tests {
            let Some(method) = Method::of_command(&test.method.value) else { continue };
            for criterion in &test.pass {
                criterion.expect_names_of(method).map_err(|problem| self.refusal(&problem))?;
            }
        }
        Ok(())
    }

    /// What is wrong with the plan, with the place in its file.
    pub(crate) fn refusal(&self, problem: &Problem) -> Failure {
        located(&self.file, problem)
    }
}

fn located(file: &Path, problem: &Problem) -> Failure {
    Failure::bad_input(anyhow!("{}:{problem}", file.display()))
}

fn parse(text: &str, set: &[(String, String)], methods: &[&str]) -> Result<Plan, Problem> {
    let file = KIND.read(text).map_err(|problem| with_hint(problem, text))?;
    spec::plan(file, set, methods)
}

/// YAML takes the brace of `${name}` for its own inside `{…}`.
fn with_hint(problem: Problem, text: &str) -> Problem {
    let line = text.lines().nth(problem.line().saturating_sub(1) as usize);
    if line.is_some_and(|line| line.contains("${")) {
        problem.and("between braces write $name or \"${name}\"")
    } else {
        problem
    }
}

#[cfg(test)]
mod tests;

//! A test of a plan, ready to be run as a command of its own.

use std::path::Path;
use std::time::Duration;

use fp_report::summary::Planned;

use super::super::cost::Cost;
use super::super::{reach, words};
use crate::exit::Failure;

use crate::network;
use crate::plan::{Criterion, Plan, Target, Test};
use crate::yaml::{Problem, Text};

#[derive(Debug)]
pub(super) struct Job {
    pub(super) planned: Planned,
    /// Of all its runs.
    pub(super) cost: Cost,
    pub(super) pause: Duration,
    pub(super) timeout: Option<Duration>,
    pub(super) criteria: Vec<Criterion>,
    /// Where the network is emulated and the plan gives no seed, each repetition has its own.
    pub(super) draws_seeds: bool,
    /// The secret of the far end, which is on no command line.
    pub(super) key: Option<String>,
}

impl Job {
    /// Of a test across `target`, or across what the plan says.
    ///
    /// # Errors
    /// Bad input: what of the test cannot be run, and where it stands.
    pub(super) fn of(
        test: &Test,
        plan: &Plan,
        target: Option<&Target>,
        key_file: Option<&Path>,
    ) -> Result<Self, Failure> {
        let written = test.target.as_ref().or(plan.target.as_ref());
        let Some(target) = target.or(written.map(|(target, _)| target)) else {
            let sentence = "there is nothing to test across: the plan says far, lab or sim, or the \
                            command line says FAR, --lab or --sim";
            return Err(plan.refusal(&Problem::with(&test.method, sentence)));
        };
        if let Some((Target::Lab(_) | Target::Sim(_), text)) =
            written.filter(|(written, _)| written == target)
        {
            expect_network(text).map_err(|problem| plan.refusal(&problem))?;
        }
        if let Target::Lab(net) | Target::Sim(net) = target {
            network::load(net)?;
        }
        let (command, cost) = words::words(&test.method, &test.options, target)
            .map_err(|problem| plan.refusal(&problem))?;
        Ok(Self {
            planned: Planned {
                name: test.name.clone(),
                method: test.method.value.clone(),
                tags: test.tags.clone(),
                command,
                repeat: test.repeat,
                counts_verdict: test.counts_verdict,
                criteria: test.pass.iter().map(Criterion::to_string).collect(),
            },
            cost: Cost { at_least: cost.at_least + test.pause, ..cost }.times(test.repeat),
            pause: test.pause,
            timeout: test.timeout,
            criteria: test.pass.clone(),
            draws_seeds: !matches!(target, Target::Far(_))
                && test.options.iter().all(|option| option.key.value != "seed"),
            key: key(target, key_file)?,
        })
    }

    /// As it would be typed into a shell.
    pub(super) fn command_line(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@%+".contains(c);
        let word = |word: &String| match word.chars().all(is_plain) && !word.is_empty() {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', "'\\''")),
        };
        self.planned.command.iter().map(word).collect::<Vec<_>>().join(" ")
    }
}

/// A network that is built in, or that a file of the plan's folder describes.
fn expect_network(text: &Text) -> Result<(), Problem> {
    if network::list().any(|(name, _)| name == text.value) {
        return Ok(());
    }
    words::inside(text)?;
    let sentence = |failure: Failure| Problem::with(text, format!("{:#}", failure.error));
    network::load(&text.value).map(|_| ()).map_err(sentence)
}

/// The secret in the far end's own pairing string, or in the key file.
fn key(target: &Target, key_file: Option<&Path>) -> Result<Option<String>, Failure> {
    match (target, key_file) {
        (Target::Far(far), _) if far.contains('#') => Ok(Some(far.clone())),
        (Target::Far(_), Some(file)) => {
            let key = reach::key_in(file)?;
            reach::expect_secret(&key, file)?;
            Ok(Some(key))
        }
        (Target::Far(_) | Target::Lab(_) | Target::Sim(_), _) => Ok(None),
    }
}

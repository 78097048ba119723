//! What a run asked of the network and what it saw: enough to judge it again without the network.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{Abort, Observation, Testbed, Trial};

/// One trial with what was observed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub trial: Trial,
    pub observation: Observation,
}

/// Passes trials on and keeps them with their observations.
#[derive(Debug)]
pub struct Recorder<T> {
    bed: T,
    evidence: Vec<Evidence>,
    broken_off: Option<Observation>,
}

impl<T: Testbed> Recorder<T> {
    pub const fn new(bed: T) -> Self {
        Self { bed, evidence: Vec::new(), broken_off: None }
    }

    /// What was recorded so far, in order.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// Takes the recorder apart: the testbed and what was recorded, in order.
    pub fn into_parts(self) -> (T, Vec<Evidence>) {
        (self.bed, self.evidence)
    }
}

impl<T: Testbed> Testbed for Recorder<T> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let outcome = self.bed.run(trial);
        self.broken_off = if outcome.is_err() { self.bed.broken_off() } else { None };
        if let Some(observation) = outcome.as_ref().ok().or(self.broken_off.as_ref()).cloned() {
            self.evidence.push(Evidence { trial: trial.clone(), observation });
        }
        outcome
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.broken_off.take()
    }
}

/// Answers the trials of a recorded run, in their order.
#[derive(Debug)]
pub struct Replay {
    evidence: VecDeque<Evidence>,
    broken_off: Option<Observation>,
}

impl Replay {
    pub fn of(evidence: Vec<Evidence>) -> Self {
        Self { evidence: evidence.into(), broken_off: None }
    }
}

impl Testbed for Replay {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        match self.evidence.pop_front() {
            Some(recorded) if recorded.trial == *trial => {
                if recorded.observation.broken_off.is_none() {
                    return Ok(recorded.observation);
                }
                self.broken_off = Some(recorded.observation);
                Err(Abort::Lost(String::from("the recording is over")))
            }
            Some(recorded) => Err(Abort::Testbed(alloc::format!(
                "the recording holds the trial '{}' where '{}' was asked for",
                recorded.trial.name,
                trial.name
            ))),
            // A run that was broken off ends where its recording ends.
            None => Err(Abort::Lost(String::from("the recording is over"))),
        }
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.broken_off.take()
    }
}

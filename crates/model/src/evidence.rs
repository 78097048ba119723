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
}

impl<T: Testbed> Recorder<T> {
    pub const fn new(bed: T) -> Self {
        Self { bed, evidence: Vec::new() }
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
        let observation = self.bed.run(trial)?;
        self.evidence.push(Evidence { trial: trial.clone(), observation: observation.clone() });
        Ok(observation)
    }
}

/// Answers the trials of a recorded run, in their order.
#[derive(Debug)]
pub struct Replay(VecDeque<Evidence>);

impl Replay {
    pub fn of(evidence: Vec<Evidence>) -> Self {
        Self(evidence.into())
    }
}

impl Testbed for Replay {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        match self.0.pop_front() {
            Some(recorded) if recorded.trial == *trial => Ok(recorded.observation),
            Some(recorded) => Err(Abort::Testbed(alloc::format!(
                "the recording holds the trial '{}' where '{}' was asked for",
                recorded.trial.name,
                trial.name
            ))),
            // A run that was broken off ends where its recording ends.
            None => Err(Abort::Lost(String::from("the recording is over"))),
        }
    }
}

//! A testbed across a lab, whose observations say how well the network was emulated.

use fp_model::{Abort, Emulation, Observation, Testbed, Trial};

use super::{Lab, LabError};

/// Runs trials over `bed`, between the two ends of `lab`.
#[derive(Debug)]
pub struct Emulated<'a, B> {
    lab: &'a Lab,
    bed: B,
}

impl<'a, B: Testbed> Emulated<'a, B> {
    pub const fn new(lab: &'a Lab, bed: B) -> Self {
        Self { lab, bed }
    }

    fn lateness(&self) -> Result<Emulation, Abort> {
        self.lab.take_lateness().map_err(|error: LabError| Abort::Testbed(error.to_string()))
    }
}

impl<B: Testbed> Testbed for Emulated<'_, B> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        // What was late before is no matter.
        self.lateness()?;
        let seen = self.bed.run(trial)?;
        Ok(Observation { emulation: Some(self.lateness()?), ..seen })
    }
}

//! A testbed across a lab, whose observations say how well the network was emulated.
//!
//! A host that shares its processors stands still for milliseconds. The methods therefore use the
//! lateness of each trial: a low throughput that the lateness explains, or a burst whose time at
//! the policer is unknown, is repeated and after that decides nothing. What a host holds up comes
//! late and never early: a stream's rate is counted between two frames that nothing held up, and the
//! refill of a bucket by arrivals that no later one followed faster than it refills.

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
        self.lab.take_lateness().map_err(broken)
    }

    /// Frames so far that no link of the network dropped.
    fn lost_frames(&self) -> Result<u64, Abort> {
        Ok(self.lab.truth().map_err(broken)?.frames_lost_by_the_lab())
    }
}

fn broken(error: LabError) -> Abort {
    Abort::Testbed(error.to_string())
}

impl<B: Testbed> Testbed for Emulated<'_, B> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        // What was late before is no matter.
        self.lateness()?;
        let lost_before = self.lost_frames()?;
        let mut seen = self.bed.run(trial)?;
        // The emulation runs on the near end's host and is as much part of the tester.
        seen.near.dropped_packets += self.lost_frames()? - lost_before;
        seen.emulation = Some(self.lateness()?);
        Ok(seen)
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.bed.broken_off()
    }
}

//! The seam between how a trial is run and what the trials mean.

use alloc::string::String;
use core::error::Error;
use core::fmt;

use crate::{ConnectionsSample, Direction, Observation, Sample, Trial};

/// A near end and a far end with the network under test between them.
///
/// Methods see nothing else of the world, so the same method runs over a real network, over the
/// lab, over a simulation and over a recording.
pub trait Testbed {
    /// Runs one trial to its end and reports what was observed, flow by flow.
    ///
    /// # Errors
    /// An [`Abort`] when the trial gave no observation.
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort>;

    /// What both ends had told of the trial that [`Testbed::run`] has just broken off, if anything;
    /// it is told once.
    fn broken_off(&mut self) -> Option<Observation> {
        None
    }
}

/// What a testbed tells whoever watches while a trial runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Started(Trial),
    /// A slot of a flow has passed; `flow` is its place in the trial.
    Sampled {
        flow: usize,
        direction: Direction,
        sample: Sample,
    },
    /// The same of a flow of many connections.
    Counted {
        flow: usize,
        direction: Direction,
        sample: ConnectionsSample,
    },
    Finished(Observation),
}

/// Why a trial gave no observation: a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The user broke it off.
    Stopped,
    /// The far end is gone or was never there.
    Lost(String),
    /// This end or its host failed us.
    Testbed(String),
}

impl fmt::Display for Abort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("stopped"),
            Self::Lost(why) | Self::Testbed(why) => f.write_str(why),
        }
    }
}

impl Error for Abort {}

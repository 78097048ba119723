//! How a command ends: its exit code, and what is said where it did not get to its end.

use fp_engine::os::signal::{self, Signal};

/// How a command ended: the exit codes that scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Passed,
    Failed,
    BadInput,
    NotRun,
    NotValid,
    Inconclusive,
    Interrupted,
    Terminated,
    /// That of a program which was run on the user's behalf.
    OfProgram(u8),
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::BadInput => 2,
            Self::NotRun => 3,
            Self::NotValid => 4,
            Self::Inconclusive => 5,
            Self::Interrupted => 130,
            Self::Terminated => 143,
            Self::OfProgram(code) => code,
        }
    }
}

/// A command that did not get to its end: a sentence for the user and an exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    /// Bad usage or a bad file: exit code 2.
    pub(crate) fn bad_input(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::BadInput, error: error.into() }
    }

    /// The work could not be done or finished: exit code 3.
    pub(crate) fn not_run(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::NotRun, error: error.into() }
    }
}

/// The exit code for the signal that stopped the program.
pub(crate) fn stopped_by() -> Exit {
    match signal::caught() {
        Some(Signal::Terminate) => Exit::Terminated,
        Some(Signal::Interrupt) | None => Exit::Interrupted,
    }
}

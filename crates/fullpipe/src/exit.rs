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
    /// Those of a test, in the order of their codes.
    pub(crate) const OF_TESTS: [Self; 8] = [
        Self::Passed,
        Self::Failed,
        Self::BadInput,
        Self::NotRun,
        Self::NotValid,
        Self::Inconclusive,
        Self::Interrupted,
        Self::Terminated,
    ];

    /// What it says, for the man pages.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Passed => "The test passed, or nothing was asked of the path.",
            Self::Failed => {
                "The test ran and failed its criteria; with --strict, something was found that the \
                 path's owner should know."
            }
            Self::BadInput => "Wrong use, or a file that is not as it must be.",
            Self::NotRun => {
                "The test could not be run or finished: the far end was not reached, refused, or was \
                 lost."
            }
            Self::NotValid => "The result is not valid: the tester, not the network, was measured.",
            Self::Inconclusive => {
                "What was measured does not decide what was asked; the text says what would."
            }
            Self::Interrupted => {
                "Stopped by SIGINT; what was measured until then is in the result."
            }
            Self::Terminated => {
                "Stopped by SIGTERM; what was measured until then is in the result."
            }
            Self::OfProgram(_) => "That of the program which was run.",
        }
    }

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

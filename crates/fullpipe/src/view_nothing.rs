//! In place of the live view, where fullpipe was built without it.

use fp_report::StepLine;

/// Nothing is shown.
pub(crate) const fn on_across(_across: &str) {}

pub(crate) const fn on_steps(_steps: &[StepLine]) {}

pub(crate) const fn is_open() -> bool {
    false
}

pub(crate) const fn keep_line(_line: &str) -> bool {
    false
}

//! Runs the binary across its lab, in real time, with an eye on the host.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::result::{self, Finished};
use crate::watch::Watch;

const NOT_VALID: i32 = 4;

/// Runs a method across the lab. See [`measured`].
pub(crate) fn run(network: &str, method: &str, words: &[&str]) -> Finished {
    measured(&[&[method, "--lab", network, "-q"], words].concat())
}

/// Runs `fullpipe` with these words and `--json`. A result that is not valid proves neither that the
/// network is measured right nor that it is measured wrong: the test ends as disturbed if the host
/// was, and fails if the host was quiet.
pub(crate) fn measured(words: &[&str]) -> Finished {
    let _alone = alone();
    let watch = Watch::start();
    let finished = result::run(words);
    let finished = Finished { disturbance: watch.end().disturbance(), ..finished };
    finished.expect_of_tester(finished.exit != NOT_VALID, "the result is not valid");
    finished
}

/// One at a time: two would compete for the processors of the host.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

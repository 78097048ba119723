//! When the run under way will be over, for whoever shows how far it is.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fp_engine::os::clock as clocks;
use fp_model::Time;

/// A process has one run.
static ENDS: Mutex<Option<Time>> = Mutex::new(None);

/// How long it will still take, where that can be told.
pub(crate) fn left() -> Option<Duration> {
    let ends = *ENDS.lock().unwrap_or_else(PoisonError::into_inner);
    ends.map(|ends| ends.since(clocks::now()))
}

/// Says how long it will take from now on.
pub(crate) fn expect(left: Option<Duration>) {
    let ends = left.map(|left| clocks::now() + left);
    *ENDS.lock().unwrap_or_else(PoisonError::into_inner) = ends;
}

/// Minutes and seconds, and hours where there are some.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 3600 {
        0 => format!("{:02}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

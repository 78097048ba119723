//! The wish to stop: set by a signal or by the program, asked for by whatever takes time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Once set it stays set.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

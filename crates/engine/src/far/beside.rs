//! The trials that run at a far end at once: each knows how many others ran beside it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All trials that run at this far end, of all sessions.
#[derive(Debug, Default)]
pub(super) struct Trials {
    /// For each trial that runs, the most others that have run beside it at one time.
    running: Mutex<Vec<Arc<AtomicU32>>>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Beside {
    trials: Arc<Trials>,
    most_others: Arc<AtomicU32>,
}

impl Trials {
    /// Counts a trial that begins, for itself and for those that run already.
    pub(super) fn begin(self: &Arc<Self>) -> Beside {
        let mut running = self.running();
        let others = u32::try_from(running.len()).unwrap_or(u32::MAX);
        for trial in running.iter() {
            trial.fetch_max(others, Ordering::Relaxed);
        }
        let most_others = Arc::new(AtomicU32::new(others));
        running.push(Arc::clone(&most_others));
        Beside { trials: Arc::clone(self), most_others }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Arc<AtomicU32>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Beside {
    /// The most other trials that ran at one time while this one did.
    pub(super) fn most_others(&self) -> u32 {
        self.most_others.load(Ordering::Relaxed)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.trials.running().retain(|trial| !Arc::ptr_eq(trial, &self.most_others));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_keeps_the_most_others_that_ran_beside_it_also_those_that_began_later_or_are_over() {
        let trials = Arc::new(Trials::default());
        let first = trials.begin();
        assert_eq!(first.most_others(), 0);
        let second = trials.begin();
        let third = trials.begin();
        drop((second, third));
        // Two others ran beside the first, and none of them does any more.
        let fourth = trials.begin();
        assert_eq!((first.most_others(), fourth.most_others()), (2, 1));
        drop(first);
        assert_eq!(fourth.most_others(), 1);
        drop(fourth);
        assert_eq!(trials.begin().most_others(), 0);
    }
}

//! How fine the clock is, and whether somebody sets it.

use std::time::Duration;

use crate::os::clock;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFacts {
    /// The smallest difference between two readings that differ.
    pub step: Duration,
    /// A reading takes this long: half of all take less.
    pub reading: Duration,
    /// The wall clock was set by this much, forward or back, while it was watched.
    pub wall_moved: Duration,
}

/// A look at the clocks that ends later.
#[derive(Debug)]
pub struct WatchedClock {
    wall_ahead_ns: u64,
}

impl WatchedClock {
    pub fn start() -> Self {
        Self { wall_ahead_ns: clock::wall_ahead_of_monotonic() }
    }

    pub fn end(self) -> ClockFacts {
        const READINGS: usize = 10_000;
        let readings: Vec<_> = (0..READINGS).map(|_| clock::now()).collect();
        let pairs = readings.windows(2);
        let mut steps: Vec<Duration> = pairs.map(|pair| pair[1].since(pair[0])).collect();
        steps.sort_unstable();
        let moved_ns = clock::wall_ahead_of_monotonic().abs_diff(self.wall_ahead_ns);
        ClockFacts {
            step: steps.iter().copied().find(|step| !step.is_zero()).unwrap_or_default(),
            reading: steps[steps.len() / 2],
            wall_moved: Duration::from_nanos(moved_ns),
        }
    }
}

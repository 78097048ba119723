//! Bursts that keep their distance although the host holds one of them up.

use core::time::Duration;

/// A burst later than this is left out if its successor is due already.
pub const BURST_LATENESS_MAX: Duration = Duration::from_millis(5);

/// By how much bursts that keep their distance are due later than planned.
#[derive(Debug, Default)]
pub struct MovedBursts {
    by: Duration,
    /// What the fastest burst took.
    shortest: Option<Duration>,
}

impl MovedBursts {
    /// By how much the next burst is due later than planned.
    pub const fn by(&self) -> Duration {
        self.by
    }

    /// A burst lasted from `from` to `until` after it was planned. One that took longer than another
    /// may have paused at its end: what a bucket got back before has to come again.
    pub fn after(&mut self, from: Duration, until: Duration) {
        let lasted = until.saturating_sub(from);
        let shortest = self.shortest.map_or(lasted, |shortest| shortest.min(lasted));
        self.shortest = Some(shortest);
        self.by = self.by.max(until.saturating_sub(shortest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_that_is_late_or_pauses_moves_those_after_it_by_as_much() {
        let at = Duration::from_micros;
        let mut moved = MovedBursts::default();
        moved.after(at(0), at(500));
        assert_eq!(moved.by(), at(0));
        moved.after(at(3000), at(3500));
        assert_eq!(moved.by(), at(3000));
        moved.after(at(3000), at(7500));
        assert_eq!(moved.by(), at(7000));
        // The first one had paused as well.
        moved.after(at(7000), at(7400));
        assert_eq!(moved.by(), at(7000));
    }
}

//! Whether a line that was found hides a bucket behind it: it is overloaded for long.

use core::time::Duration;

use fp_model::Abort;

use super::{Finder, Precision, drained};
use crate::infer::rate::{Estimate, FINE, Kind, OVER, Quiet};

/// How long a line is overloaded to see what its queue holds,
const HOLDS: f64 = 2.0 / 3.0;
/// and how long it is then kept busy to empty a bucket that may hide behind it: in five seconds one of a
/// second at its rate, whose rate is five sixths of the line's.
const KEEPS_BUSY: Duration = Duration::from_secs(3);

/// What came of offering more than a line carries for long.
pub(super) enum Held {
    /// The rate stayed as it was; with how long the queue delays.
    Stood(Estimate),
    /// After a while less came through, at this rate.
    Fell { rate: f64 },
    /// Something in front of the line lets this rate pass.
    DropsInFront { rate: f64 },
}

impl Finder<'_> {
    /// Whether what was found is no policer for certain, and the train was near enough to its rate.
    pub(super) fn may_hide_a_bucket(&self, found: &Estimate) -> bool {
        let is_unclear = self.search.precision == Precision::Result && found.kind == Kind::Unknown;
        !found.falling && (found.kind == Kind::Queue || is_unclear)
    }

    /// Offers more than a line carries for longer: a bucket behind it is empty after a while, and the
    /// queue in front of it shows how much it holds.
    pub(super) fn hold(&mut self, found: &Estimate, quiet: &Quiet) -> Result<Held, Abort> {
        // What drops is full and says how much it holds; what the ends tell each other takes the same way.
        let over = if found.drops { FINE } else { OVER };
        let rate = (over * found.bps).min(self.limit);
        let lasts = self.search.empties.mul_f64(HOLDS);
        // At the line's own rate its queue stays as full as it is, and hardly drops: what the ends tell each
        // other takes the same way.
        let steps = drained(rate, lasts, [(found.bps.min(self.limit), KEEPS_BUSY)]);
        let mut may_fall = true;
        let train = loop {
            let stream = self.sound(&steps, lasts.mul_f64(OVER - 1.0), "bottleneck, held")?;
            let train = self.told(&stream, &steps)?;
            let slices = train.whole().end;
            let last = slices * 3 / 4..slices;
            if let Some(rate) = train.fell(last.clone(), found, quiet) {
                return Ok(Held::Fell { rate });
            }
            if let Some(rate) = train.passes_in_front(last.clone(), quiet) {
                return Ok(Held::DropsInFront { rate });
            }
            // A bucket that was emptied at the very end is less full when the same comes again.
            let second_half = usize::midpoint(last.start, last.end)..last.end;
            let fell_at_last = train.came_slower(second_half, found, quiet);
            if !(may_fall && fell_at_last) {
                self.carried = self.carried.max(train.arrived(0..last.start));
                break train;
            }
            may_fall = false;
        };
        let step = train.step(0);
        let filled = step.end - step.len() / 4..step.end;
        let drops = found.drops || train.loss(filled.clone()) > quiet.loss() + 0.08;
        let delay = found.delay.max(train.waits(filled, quiet));
        Ok(Held::Stood(Estimate { drops, delay, ..*found }))
    }
}

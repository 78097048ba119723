//! Whether the bucket of a policer that was found holds hardly a frame: then more of its rate passes of
//! frames that come densely.

use core::time::Duration;

use fp_model::Abort;

use super::{Finder, MOST, PAST_THE_KNEE, drained};
use crate::infer::rate::{Estimate, Quiet};
use crate::infer::train::SAME;

/// A bucket that is offered this many times its rate passes a frame as soon as it has earned an eighth
/// of a frame more than it needs.
const DENSE: f64 = 8.0;
/// The count of 150 frames that pass is right to a percent.
const DENSE_FRAMES: f64 = 150.0;
/// How many times the dense frames are offered when more comes than was known.
const DENSER: u32 = 4;

impl Finder<'_> {
    /// A bucket that holds hardly more than a frame is full, and earns nothing, whenever the next
    /// frame is not there yet: it lets its rate pass only of frames that come close together.
    pub(super) fn offer_densely(
        &mut self,
        found: &mut Estimate,
        quiet: &Quiet,
    ) -> Result<(), Abort> {
        // What comes to the bucket, at most: a line in front of it may let less pass.
        let mut fed = f64::INFINITY;
        let (mut taken, mut queued) = (found.held, Duration::ZERO);
        let (mut least_s, most_s) = (0.0, self.search.empties.as_secs_f64());
        for _ in 0..DENSER {
            let rate = (DENSE * found.bps).min(self.limit);
            let lasts = self.frame_time(found.bps).mul_f64(DENSE_FRAMES);
            let lasts = lasts.clamp(Duration::from_millis(400), MOST);
            // What the buckets hold is taken first.
            let held = taken * self.frame_bits() / (rate.min(fed) - found.bps).max(1.0);
            let drain = Duration::from_secs_f64((PAST_THE_KNEE * held).clamp(least_s, most_s));
            let steps = drained(rate, drain, [(rate, lasts)]);
            let stream = self.sound(&steps, queued, "bottleneck, densely")?;
            let train = self.told(&stream, &steps)?;
            if !self.has_come(&stream) {
                // A line in front of the bucket lets through what came, and needs longer for all of it.
                fed = fed.min(train.through(train.whole()).bps);
                if fed <= found.bps / SAME {
                    break;
                }
                queued =
                    (drain + lasts).mul_f64((rate / fed.max(found.bps) - 1.0).max(0.0)).min(MOST);
                continue;
            }
            let step = train.step(train.steps() - 1);
            let third = step.len() / 3;
            let (first, last) = (step.start..step.start + third, step.end - third..step.end);
            let is_even = !train.differ(first, last.clone(), quiet);
            let came = train.through(last.clone());
            let beyond = (came.bps - found.bps) * lasts.as_secs_f64() / self.frame_bits();
            if train.loses_as(quiet, last.clone()) && beyond > 0.0 {
                // Nothing is refused: what the buckets hold pays for it, and they hold that at least.
                found.held = found.held.max(beyond);
                taken += taken.max(beyond);
                continue;
            }
            if is_even && found.is_less_than(&came, quiet) && came.bps < SAME * fed.min(rate) {
                // All that came may have been paid for by what the bucket won since the last train, and a line in
                // front of it may let no more pass.
                (fed, least_s) = (came.bps, most_s);
                continue;
            }
            if !is_even || !found.raise(&came, quiet) || rate >= self.limit {
                break;
            }
        }
        Ok(())
    }
}

//! What is lost and delayed at any rate.

use core::time::Duration;

use fp_model::{Abort, Step as PaceStep};

use super::Finder;
use crate::infer::rate::{Quiet, whole};
use crate::infer::train::Train;

/// How many times a quiet trial is offered at most while the queue that an overload left still empties
/// in it: at half the rate, a second of it empties half a second of queue.
const QUIETER: u32 = 3;

impl Finder<'_> {
    /// Half of what gets through: what is lost and delayed there, the rate is not the cause of.
    /// `None` where even that was too much.
    pub(crate) fn quiet(&mut self, rate: f64) -> Result<Option<Quiet>, Abort> {
        let lasting = |frames: f64| {
            let needed = self.frame_time(rate).as_secs_f64() * frames;
            Duration::from_secs_f64(needed.clamp(1.0, 2.0))
        };
        let (first, more) = (lasting(800.0), lasting(2000.0));
        let Some(quiet) = self.quiet_for(rate, first)? else { return Ok(None) };
        // A loss is known by its count: more of it where there is any.
        if quiet.lost > 0.0 && quiet.frames < 4000.0 {
            return Ok(self.quiet_for(rate, more)?.map(|other| quiet.and(&other)));
        }
        Ok(Some(quiet))
    }

    fn quiet_for(&mut self, rate: f64, lasts: Duration) -> Result<Option<Quiet>, Abort> {
        let steps = [PaceStep { rate: whole(rate), lasts }];
        let mut train = self.quiet_train(&steps)?;
        for _ in 1..QUIETER {
            if !train.empties(train.whole()) {
                break;
            }
            train = self.quiet_train(&steps)?;
        }
        let over = train.overload(self.floor());
        Ok(Quiet::of(&train, rate).filter(|_| !over.loses && !over.grows))
    }

    fn quiet_train(&mut self, steps: &[PaceStep]) -> Result<Train, Abort> {
        let stream = self.sound(steps, Duration::ZERO, "loss at half the rate")?;
        self.told(&stream, steps)
    }
}

//! Who runs the trials of an inference, and what comes of one.

use core::time::Duration;

use fp_model::{Abort, FramesReport, Observation, Step as PaceStep, Testbed, Trial};

/// Who runs the trials of a search.
pub(crate) trait Offers {
    /// A trial that may ask more of the tester than it can do, so that its health says nothing.
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort>;

    /// Counts the frames of a trial that the ends should have been able to send and receive.
    fn count(&mut self, frames: Counts);
}

/// Who runs the trials of a search, for questions that any testbed answers.
pub(crate) struct Probing<'a>(pub(crate) &'a mut dyn Offers);

impl Testbed for Probing<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.0.offer(trial)
    }
}

/// Frames of a trial.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub(crate) planned: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// By the ends themselves.
    pub(crate) dropped: u64,
}

/// One trial of frames, with what the ends themselves dropped of it.
pub(crate) struct Stream {
    pub(crate) seen: FramesReport,
    pub(crate) dropped_frames: u64,
}

impl Stream {
    /// Whether all frames left in the time in which they were due, and the ends dropped none of those that
    /// arrived, but for this share.
    pub(crate) fn is_sound(&self, steps: &[PaceStep], frame_bits: f64, tolerated: f64) -> bool {
        let Self { seen, dropped_frames, .. } = self;
        let unsent = seen.planned_frames.saturating_sub(seen.sent_frames);
        let steady: Duration = steps.iter().map(|step| step.lasts).sum();
        let stretch = seen.sent_in.as_secs_f64() / steady.as_secs_f64();
        // The time of the last frame itself, which a slow step after a fast one makes longer than
        // that of frames in the mean.
        let slowest = steps.iter().map(|step| step.rate.as_bps()).min().unwrap_or(1).max(1);
        let one_frame = frame_bits / slowest as f64 / steady.as_secs_f64();
        unsent as f64 <= tolerated * seen.planned_frames as f64
            && (stretch - 1.0).abs() <= tolerated + one_frame
            && *dropped_frames as f64 <= tolerated * seen.received_frames as f64
    }
}

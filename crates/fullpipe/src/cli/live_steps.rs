//! A testbed that is followed: its evidence kept, and shown step by step to whoever watches.

use std::slice;
use std::time::Duration;

use fp_engine::os::{clock, signal};
use fp_model::{Abort, Evidence, Observation, Recorder, Testbed, Time, Trial};

use super::measure::{Ends, Measured};
use super::outlook::Outlook;
use crate::exit::Failure;
use crate::{time_left, view};

/// A testbed with the method that is run over it.
pub(super) struct LiveSteps<'a, T, M> {
    recorder: Recorder<T>,
    ends: Ends,
    method: &'a M,
    begun: Time,
    outlook: Outlook,
    /// Somebody is told how far the run is.
    is_watched: bool,
    /// When the steps were looked at last, and how long that took.
    looked: Option<(Time, Duration)>,
}

impl<'a, T, M> LiveSteps<'a, T, M>
where
    T: Testbed,
    M: Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
{
    pub(super) fn new(bed: T, ends: &Ends, method: &'a M, is_watched: bool) -> Self {
        // What a method says beforehand it has said once.
        let ends = Ends { is_quiet: true, ..ends.clone() };
        let (begun, outlook) = (clock::now(), Outlook::default());
        let recorder = Recorder::new(bed);
        Self { recorder, ends, method, begun, outlook, is_watched, looked: None }
    }

    /// Gives up the testbed.
    pub(super) fn into_evidence(self) -> Vec<Evidence> {
        self.recorder.into_parts().1
    }

    /// Runs the method over what is known so far, for its steps and for what is still to come: a report
    /// follows from its evidence, that of half a run as well.
    fn look(&mut self) {
        // Of the time of a run this takes a tenth at most.
        const SHARE: u32 = 10;
        let now = clock::now();
        if self.looked.is_some_and(|(at, took)| now.since(at) < took * SHARE) {
            return;
        }
        let mut so_far = SoFar(self.recorder.evidence().iter());
        // A method that cannot judge half a run has no steps yet.
        if let Ok(Measured { work, .. }) = (self.method)(&self.ends, &mut so_far) {
            if view::is_open() {
                view::on_steps(&fp_report::steps(&work));
            }
            self.outlook.learn(&self.ends, self.recorder.evidence(), &work, self.method);
        }
        self.looked = Some((now, clock::now().since(now)));
    }
}

impl<T, M> Testbed for LiveSteps<'_, T, M>
where
    T: Testbed,
    M: Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
{
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        // A simulation hears of no signal itself.
        if signal::caught().is_some() {
            return Err(Abort::Stopped);
        }
        let is_watched = self.is_watched || view::is_open();
        if is_watched {
            let elapsed = clock::now().since(self.begun);
            time_left::expect(self.outlook.from(trial, elapsed));
        }
        let seen = self.recorder.run(trial)?;
        if is_watched {
            self.look();
        }
        Ok(seen)
    }

    fn broken_off(&mut self) -> Option<Observation> {
        self.recorder.broken_off()
    }
}

/// Answers the trials of a run under way, as far as they have been run.
pub(super) struct SoFar<'a>(pub(super) slice::Iter<'a, Evidence>);

impl Testbed for SoFar<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        match self.0.next() {
            Some(known) if known.trial == *trial && known.observation.broken_off.is_none() => {
                Ok(known.observation.clone())
            }
            Some(_) | None => Err(Abort::Stopped),
        }
    }
}

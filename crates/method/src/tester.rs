//! What every method does with a trial: it takes the reports that fit it, and offers it again where it says
//! something of the tester only.

use alloc::format;
use alloc::vec::Vec;

use fp_model::{Abort, FlowReport, Observation, Testbed, Trial};

/// How often a trial is offered again.
pub(crate) const REPEATS: u32 = 5;
/// Of frames due, those that did not leave or were lost in the ends, and of time, what sending took more or less:
/// with more, a trial was not the one that was asked for.
pub(crate) const TOLERATED: f64 = 0.001;
/// The same in percent of all packets of a run that measures no loss: with more, it was not the run asked for.
pub(crate) const LOST_PERCENT_MAX: f64 = 1.0;
/// A clock and the sending of one frame: by less a burst is neither late nor early.
pub(crate) const CLOCK_S: f64 = 20e-6;

/// What a trial shows, which is told how many there have been; again while it `is_spoilt`, `repeats` times
/// at most. The last one is taken as it is.
pub(crate) fn repeated<T>(
    repeats: u32,
    mut offer: impl FnMut(u32) -> Result<T, Abort>,
    is_spoilt: impl Fn(&T) -> bool,
) -> Result<T, Abort> {
    let mut trial = 1;
    loop {
        let shown = offer(trial)?;
        if trial > repeats || !is_spoilt(&shown) {
            return Ok(shown);
        }
        trial += 1;
    }
}

/// What a trial shows, with a report of each of its flows.
pub(crate) fn observed(bed: &mut dyn Testbed, trial: &Trial) -> Result<Observation, Abort> {
    let seen = bed.run(trial)?;
    if seen.flows.len() == trial.flows.len() { Ok(seen) } else { Err(mismatch(trial)) }
}

/// The report of each flow of a trial, all of one kind.
pub(crate) fn reports<'a, T>(
    trial: &Trial,
    seen: &'a Observation,
    of_kind: fn(&'a FlowReport) -> Option<&'a T>,
) -> Result<Vec<&'a T>, Abort> {
    let reports: Option<Vec<&T>> = seen.flows.iter().map(of_kind).collect();
    let fit = reports.filter(|reports| reports.len() == trial.flows.len());
    fit.ok_or_else(|| mismatch(trial))
}

pub(crate) fn mismatch(trial: &Trial) -> Abort {
    Abort::Testbed(format!("the observation of '{}' does not fit the trial", trial.name))
}

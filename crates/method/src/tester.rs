//! What every method does with a trial: it takes the reports that fit it, and offers it again where it says
//! something of the tester only.

use alloc::format;
use alloc::vec::Vec;

use fp_model::{Abort, FlowReport, Observation, Testbed, Trial};

/// How often a trial is offered again.
pub(crate) const REPEATS: u32 = 5;
/// Share of the frames due that may not have left or may have been lost in the ends, and by which sending may have
/// taken more or less time than planned: with more, a trial was not the one that was asked for.
pub(crate) const TOLERATED: f64 = 0.001;
/// Percentage of the packets of a run that the ends may not have sent or may have dropped, where the run measures
/// rates and not losses: with more, it was not the one that was asked for.
pub(crate) const LOST_PERCENT_MAX: f64 = 1.0;
/// Time that reading a clock and sending one frame take: by less a burst is neither late nor early.
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

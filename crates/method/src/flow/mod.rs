//! Traffic of any kind: flows of TCP and UDP all at once, and what became of each and of all.
//!
//! All flows run in one trial, with paces of any shape.

mod classes;
mod figures;
mod follow;
mod headline;
mod path;
mod plan;
mod resample;
mod steps;
mod sums;
mod tester_limits;
mod verdict;

use alloc::vec::Vec;

use fp_model::{Abort, FlowSpec, Observation, Testbed, Trial};

pub use path::{Path, PathAsk, PathStep, look};
pub use plan::{Arrivals, Criteria, Lines, Plan, PlannedFlow, SharedProfile};
pub use resample::resample;
pub use steps::{
    Carried, Connection, FLOW, FlowStep, Interval, Limit, PROFILE, Part, ProfileStep, RateByLayer,
    Report, Step, Transport,
};

use crate::definition::{Definition, Method};
use crate::sanity::SanityChecked;
use crate::tester::mismatch;

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "flow",
        command: "flow",
        title: "Traffic measurement",
        kinds: &[&crate::path::PATH_MTU.kind, &FLOW.kind, &PROFILE.kind],
        note: "",
        shown: steps::shown,
        headline: headline::headline,
        sentence: headline::sentence,
        figure: headline::figure,
    },
    run,
    row: Step::row,
    is_met: verdict::is_met,
};

/// Asks of the path what the plan says, then sends all of its flows in one trial.
///
/// The report always comes back; where the trial gave no observation it has no flows, and the second
/// part says why.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let path = look(&plan.path, bed);
    run_over(plan, path, bed)
}

/// The same where the path has been asked already, so that the plan could be made for it.
pub fn run_over(
    plan: &Plan,
    path: Result<Path, Abort>,
    bed: &mut dyn Testbed,
) -> (Report, Result<(), Abort>) {
    let mut report = Report::default();
    let mut unknown = None;
    let mut bed = SanityChecked::over(bed);
    let end = path.and_then(|path| {
        report.steps.extend(path.known.into_iter().map(Step::Path));
        unknown = path.unknown;
        steps(plan, &mut bed, &mut report)
    });
    report.verdict = verdict::judge(plan, &report, unknown, end.as_ref().err());
    report.heed_unmeasured(verdict::unmeasured(plan, &report));
    bed.conclude(&mut report);
    (report, end)
}

fn steps(plan: &Plan, bed: &mut dyn Testbed, report: &mut Report) -> Result<(), Abort> {
    let trial = trial(plan);
    let seen = match bed.run(&trial) {
        Ok(seen) => seen,
        Err(abort) => {
            let half = bed.broken_off().map(|seen| half(plan, &trial, &seen, report));
            half.unwrap_or(Ok(()))?;
            return Err(abort);
        }
    };
    if seen.flows.len() != trial.flows.len() {
        return Err(mismatch(&trial));
    }
    let flows: Option<Vec<FlowStep>> = plan
        .flows
        .iter()
        .zip(&seen.flows)
        .map(|(flow, seen)| figures::of(plan, flow, seen))
        .collect();
    let flows = flows.ok_or_else(|| mismatch(&trial))?;
    report.steps.extend(flows.iter().cloned().map(Step::Flow));
    report.steps.extend(sums::of(plan, &flows).into_iter().map(Step::Flow));
    report.checks = verdict::checks(plan, report, &seen);
    if let Some(shared) = &plan.profile {
        report.steps.extend(follow::steps(plan, shared, &flows).into_iter().map(Step::Profile));
    }
    Ok(())
}

/// The flows of a trial that was broken off, until then.
fn half(plan: &Plan, trial: &Trial, seen: &Observation, report: &mut Report) -> Result<(), Abort> {
    let until = seen.broken_off.unwrap_or(plan.timing.steady);
    let mut plan = plan.clone();
    plan.timing.steady = until.saturating_sub(plan.timing.warm_up).min(plan.timing.steady);
    let flows =
        plan.flows.iter().zip(&seen.flows).map(|(flow, seen)| figures::of(&plan, flow, seen));
    let flows: Vec<FlowStep> = flows.collect::<Option<_>>().ok_or_else(|| mismatch(trial))?;
    report.steps.extend(flows.iter().cloned().map(Step::Flow));
    report.steps.extend(sums::of(&plan, &flows).into_iter().map(Step::Flow));
    Ok(())
}

/// The trial in which all of the plan's flows are sent.
pub fn trial(plan: &Plan) -> Trial {
    let flows: Vec<FlowSpec> = plan.flows.iter().map(|flow| flow.spec.clone()).collect();
    Trial { name: plan.title(), flows, timing: plan.timing }
}

#[cfg(test)]
mod tests;

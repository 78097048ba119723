//! Traffic of any kind: flows of TCP and UDP all at once, and what became of each and of all.

mod classes;
mod figures;
mod follow;
mod plan;
mod report;
mod resample;
mod sums;
mod verdict;

use alloc::vec::Vec;

use fp_model::{Abort, FlowSpec, Testbed, Trial};

pub use plan::{Arrivals, Criteria, Lines, Plan, PlannedFlow, SharedProfile};
pub use report::{
    Carried, Connection, FlowStep, Interval, Limit, Part, ProfileStep, RateByLayer, Report, Step,
    Transport,
};
pub use resample::resample;

use crate::packet_sockets::PacketSockets;
use crate::path::mismatch;

/// Sends all of the plan's flows in one trial.
///
/// The report always comes back; where the trial gave no observation it has no steps, and the second
/// part says why.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut report = Report::default();
    let mut bed = PacketSockets::watched(bed);
    let end = steps(plan, &mut bed, &mut report);
    report.verdict = verdict::judge(plan, &report, end.as_ref().err());
    report.verdict.reasons.extend(bed.remarks());
    (report, end)
}

fn steps(plan: &Plan, bed: &mut dyn Testbed, report: &mut Report) -> Result<(), Abort> {
    let trial = trial(plan);
    let seen = bed.run(&trial)?;
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
    report.checks = verdict::checks(&seen);
    report.steps.extend(flows.iter().cloned().map(Step::Flow));
    report.steps.extend(sums::of(plan, &flows).into_iter().map(Step::Flow));
    if let Some(shared) = &plan.profile {
        report.steps.extend(follow::steps(plan, shared, &flows).into_iter().map(Step::Profile));
    }
    Ok(())
}

fn trial(plan: &Plan) -> Trial {
    let flows: Vec<FlowSpec> = plan.flows.iter().map(|flow| flow.spec.clone()).collect();
    Trial { name: plan.title(), flows, timing: plan.timing }
}

#[cfg(test)]
mod tests;

//! Very many connections: set up, held, spoken on and closed, and where the path had enough of them.
//!
//! One trial offers connections; the stages of the load give their number.

mod headline;
mod limit;
mod plan;
mod steps;
mod verdict;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use core::time::Duration;

use fp_model::{
    Abort, ConnectionsLoad, ConnectionsReport, FlowReport, FlowSpec, Load, Rate, Testbed, Timing,
    Trial,
};

pub use limit::{Cause, Limit};
pub use plan::{Criteria, Plan, PlanError};
pub use steps::{Report, STRESS, Step, StressStep};

use crate::definition::{Definition, Method, every};
use crate::sanity::SanityChecked;
use crate::tester::mismatch;

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "stress",
        command: "stress",
        title: "Connection load test",
        kinds: &[&STRESS.kind],
        note: "",
        shown: every,
        headline: headline::headline,
        sentence: headline::sentence,
        figure: |_| None,
    },
    run,
    row: Step::row,
    is_met,
};

/// Runs the plan's load in one trial.
///
/// The report always comes back; where the trial gave no observation it has no step, and the second
/// part says why. A trial that was stopped has its step, and the second part says that it was.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut report = Report::default();
    let mut bed = SanityChecked::over(bed);
    let end = steps(plan, &mut bed, &mut report);
    report.verdict = verdict::judge(plan, &report, end.as_ref().err());
    report.heed_unmeasured(verdict::unmeasured(plan, &report));
    bed.conclude(&mut report);
    (report, end)
}

/// Whether a step meets what the plan asks for; `None` where the tester did not show it.
fn is_met(plan: &Plan, report: &Report, place: usize) -> Option<bool> {
    let Step::Stress(step) = report.steps.get(place)?;
    let is_shown = report.checks.iter().all(|check| check.ok) && step.counted.stopped.is_none();
    is_shown.then(|| verdict::failures(plan, place, step).is_empty())
}

fn steps(plan: &Plan, bed: &mut dyn Testbed, report: &mut Report) -> Result<(), Abort> {
    let trial = trial(plan);
    let seen = match bed.run(&trial) {
        Ok(seen) => seen,
        Err(abort) => {
            if let Some([FlowReport::Connections(counted)]) =
                bed.broken_off().as_ref().map(|seen| seen.flows.as_slice())
            {
                report.steps.push(Step::Stress(step(plan, counted)));
            }
            return Err(abort);
        }
    };
    let [FlowReport::Connections(counted)] = seen.flows.as_slice() else {
        return Err(mismatch(&trial));
    };
    let step = step(plan, counted);
    report.checks = verdict::checks(plan, &step, &seen);
    let is_stopped = step.counted.stopped.is_some();
    report.steps.push(Step::Stress(step));
    if is_stopped { Err(Abort::Stopped) } else { Ok(()) }
}

/// The trial in which all connections of the plan are opened and closed.
pub fn trial(plan: &Plan) -> Trial {
    let Plan { direction, family, dscp, ref load, settle, .. } = *plan;
    let timing = Timing { warm_up: Duration::ZERO, steady: load.lasts(), settle };
    let spec = FlowSpec::new(direction, family, dscp, Load::Connections(load.clone()));
    Trial { name: name(load), flows: vec![spec], timing }
}

fn name(load: &ConnectionsLoad) -> String {
    format!("{} connections", load.connections_peak())
}

fn step(plan: &Plan, counted: &ConnectionsReport) -> StressStep {
    let good_bytes = counted.upload_good_bytes + counted.download_good_bytes;
    let connections_target = plan.load.connections_peak();
    let went_on = counted.stopped.map_or(Duration::MAX, |stopped| stopped.until);
    StressStep {
        direction: plan.direction,
        family: plan.family,
        connections_target,
        good_bytes,
        throughput_l4: Rate::over(good_bytes, plan.load.lasts().min(went_on)),
        limit: limit::of(connections_target, plan.load.syn_retransmissions_max, counted),
        counted: counted.clone(),
    }
}

#[cfg(test)]
mod tests;

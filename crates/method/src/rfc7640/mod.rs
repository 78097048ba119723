//! RFC 7640: what devices that police, queue and shape traffic do to bursts.
//!
//! Bursts and TCP are sent against policer, queue, scheduler and shaper.

mod bursts;
mod capacity;
mod headline;
mod hunt;
mod plan;
mod policer;
mod queue;
mod shaper;
mod stateful;
mod steps;
mod trains;
mod verdict;

use core::time::Duration;

use fp_model::{Abort, BurstsReport, Observation, Testbed, Trial};

use crate::definition::{Definition, Method, every};
use crate::infer::offers::{Counts, Offers};
use crate::path::{self, Packets};
use crate::sanity::SanityChecked;
use crate::tester::observed;
pub use fp_model::Directions;
pub use hunt::{BurstHunt, BurstOutcome, HuntStep};
pub use plan::{
    BadPlan, Class, Device, Plan, PolicerPlan, PortClass, QueuePlan, Scheduler, ShaperPlan, TcpPlan,
};
pub use steps::{
    BaselineRtt, CAPACITY, CapacityClass, CapacityStep, ClassStep, Hunt, HuntTrial, POLICER,
    Pattern, PolicerStep, QUEUE, QueueStep, Report, SCHEDULER, SHAPER, SchedulerStep, ShaperStep,
    Stateful, Stateless, Step, Trains, Ttpet,
};

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "rfc7640",
        command: "rfc7640",
        title: "Traffic management test (RFC 7640)",
        kinds: &[
            &path::BASELINE_RTT.kind,
            &POLICER.kind,
            &QUEUE.kind,
            &SCHEDULER.kind,
            &SHAPER.kind,
            &CAPACITY.kind,
        ],
        note: "",
        shown: every,
        headline: headline::headline,
        sentence: |found| headline::headline(found.steps).map(|one| one.named()),
        figure: |_| None,
    },
    run,
    row: Step::row,
    is_met: |plan, report, place| verdict::is_met(plan, &report.steps, place),
};

/// Runs the tests of section 6 that the plan names, in each direction.
///
/// The report always comes back, with as many steps as were finished; the second part says why
/// there are no more, if there are none.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut bed = SanityChecked::over(bed).repeating_outages();
    let mut run = Run {
        plan,
        bed: &mut bed,
        report: Report::default(),
        health: Health::default(),
        baseline_rtt: Duration::ZERO,
    };
    let end = steps(&mut run);
    let Run { mut report, health, .. } = run;
    report.deviations = verdict::deviations(plan, &report.steps);
    report.checks = verdict::checks(&health);
    report.verdict = verdict::judge(plan, &report.steps, &report.checks, end.as_ref().err());
    report.heed_unmeasured(verdict::unmeasured(&report.steps));
    report.verdict.reasons.extend(bed.remarked());
    bed.conclude(&mut report);
    (report, end)
}

//= rfc7640 6
fn steps(run: &mut Run<'_>) -> Result<(), Abort> {
    let plan = run.plan;
    let packets = Packets { family: plan.family, dscp: plan.dscp };
    let rough_rtt = path::rough_rtt(run, packets)?.max;
    let baseline = path::baseline_rtt(run, packets, rough_rtt)?;
    run.baseline_rtt = baseline.rtt.min;
    run.report.steps.push(Step::BaselineRtt(baseline));
    for &direction in plan.directions.list() {
        if let Some(policer) = &plan.policer {
            policer::test(run, direction, policer)?;
        }
        if let Some(queue) = &plan.queue {
            queue::test(run, direction, queue)?;
        }
        if let Some(shaper) = &plan.shaper {
            shaper::test(run, direction, shaper)?;
        }
        if !plan.capacity.is_empty() {
            capacity::test(run, direction, &plan.capacity)?;
        }
    }
    Ok(())
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    bed: &'a mut dyn Testbed,
    report: Report,
    health: Health,
    baseline_rtt: Duration,
}

impl Testbed for Run<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        observed(self.bed, trial)
    }
}

impl Offers for Run<'_> {
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.run(trial)
    }

    fn count(&mut self, frames: Counts) {
        self.health.received_frames += frames.received;
        self.health.dropped_packets += frames.dropped;
    }
}

/// What both ends said against themselves, of the trials that count.
#[derive(Debug, Default)]
struct Health {
    received_frames: u64,
    dropped_packets: u64,
    spoilt_trials: u32,
}

impl Health {
    fn add(&mut self, seen: &Observation) {
        self.dropped_packets += seen.dropped_packets();
    }

    fn add_bursts(&mut self, reports: &[&BurstsReport], seen: &Observation) {
        self.add(seen);
        let bursts = reports.iter().flat_map(|report| &report.bursts);
        self.received_frames += bursts.map(|burst| u64::from(burst.received_frames)).sum::<u64>();
    }
}

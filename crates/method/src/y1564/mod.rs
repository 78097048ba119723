//! Service activation in the style of ITU-T Y.1564: each service by itself, then all at once.
//!
//! The Recommendation is not public. What is done here follows the descriptions that operators and
//! makers of testers have published; every report says so.
//!
//! Each service is offered frames in steps of its CIR and beyond it, and bursts of its buckets. One
//! trial then carries all services.

mod availability;
mod configuration;
mod figures;
mod headline;
mod judge;
mod offer;
mod performance;
mod plan;
mod rates;
mod shortfall;
mod step;
mod steps;
mod verdict;

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, Direction, FlowReport, FlowSpec, Load, Observation, ProbesLoad, RttSummary, Testbed,
    Timing, Trial,
};

pub use availability::{Availability, Second};
pub use fp_model::Directions;
pub use plan::{
    Colours, Configuration, Criteria, Frames, PERFORMANCE_DEFAULT, Plan, Service, Tcp, Traffic,
};
pub use rates::{Profile, eir_step_passes, policing_rate, step_load};
pub use shortfall::Shortfall;
pub use steps::{
    CONFIGURATION, Figures, Ftd, IrSpan, Measured, Offered, PERFORMANCE, Report, ServiceStep, Step,
    TcpFigures,
};

use crate::definition::{Definition, Method, every};
use crate::path::{BASELINE_RTT, BaselineRtt, UNKNOWN_RTT};
use crate::sanity::SanityChecked;
use crate::tester::{observed, repeated, reports};
use crate::verdict::Status;
use offer::Offer;

pub static METHOD: Definition<Plan, Step> = Definition {
    method: Method {
        name: "y1564",
        command: "y1564",
        title: "Service activation test (in the style of ITU-T Y.1564)",
        kinds: &[&BASELINE_RTT.kind, &PERFORMANCE.kind, &CONFIGURATION.kind],
        note: "",
        shown: every,
        headline: headline::headline,
        sentence: headline::sentence,
        figure: |_| None,
    },
    run,
    row: Step::row,
    is_met: |_, _, _| None,
};

/// Tests each service by itself and then all of them at once, as far as the plan asks for it.
///
/// The report always comes back, with as many steps as were finished; the second part says why
/// there are no more, if there are none.
pub fn run(plan: &Plan, bed: &mut dyn Testbed) -> (Report, Result<(), Abort>) {
    let mut bed = SanityChecked::over(bed);
    let mut run = Run { plan, bed: &mut bed, report: Report::default(), rtt: Duration::ZERO };
    let end = steps(&mut run);
    let mut report = run.report;
    report.deviations = verdict::deviations(plan);
    report.checks = verdict::checks(&report.steps);
    report.verdict = verdict::judge(plan, &report, end.as_ref().err());
    report.heed_unmeasured(verdict::unmeasured(plan, &report.steps));
    bed.conclude(&mut report);
    (report, end)
}

fn steps(run: &mut Run<'_>) -> Result<(), Abort> {
    let plan = run.plan;
    round_trips(run)?;
    if let Some(configuration) = &plan.configuration {
        for place in 0..plan.services.len() {
            configuration::test(run, configuration, place)?;
        }
    }
    match plan.performance {
        Some(lasts) => performance::test(run, lasts),
        None => Ok(()),
    }
}

/// A run under way.
struct Run<'a> {
    plan: &'a Plan,
    bed: &'a mut dyn Testbed,
    report: Report,
    /// The longest of the services' round trips on the idle path.
    rtt: Duration,
}

impl Run<'_> {
    /// Offers a trial until the tester has not spoilt it or there are no more `repeats`.
    fn offer(
        &mut self,
        offer: &Offer,
        repeats: u32,
        judged: impl Fn(&Observation) -> Result<Vec<ServiceStep>, Abort>,
    ) -> Result<Vec<ServiceStep>, Abort> {
        let offer = |tries: u32| {
            let seen = observed(self.bed, &offer.trial)?;
            let steps = judged(&seen)?.into_iter();
            Ok(steps.map(|step| ServiceStep { tries, ..step }).collect::<Vec<_>>())
        };
        let is_spoilt =
            |steps: &Vec<ServiceStep>| steps.iter().any(|step| step.status == Status::Invalid);
        repeated(repeats, offer, is_spoilt)
    }
}

/// Probes every service's class at once: how long to wait for late frames, and whether anything
/// comes back at all.
fn round_trips(run: &mut Run<'_>) -> Result<(), Abort> {
    let load = ProbesLoad {
        packet_bytes: 100,
        answer_bytes: 100,
        count: 50,
        interval: Duration::from_millis(20),
    };
    let flow = |service: &Service| FlowSpec {
        vlan_tags: service.vlan_tags,
        ..FlowSpec::new(Direction::Upload, run.plan.family, service.dscp, Load::Probes(load))
    };
    let trial = Trial {
        name: "round trip of each service".into(),
        flows: run.plan.services.iter().map(flow).collect(),
        timing: Timing {
            warm_up: Duration::ZERO,
            steady: load.interval * load.count,
            settle: crate::path::settle(UNKNOWN_RTT),
        },
    };
    let seen = run.bed.run(&trial)?;
    let reports = reports(&trial, &seen, FlowReport::probes)?;
    let mut known = Vec::<RttSummary>::new();
    for (service, report) in run.plan.services.iter().zip(reports) {
        let Some(rtt) = report.rtt else { continue };
        known.push(rtt);
        run.report.steps.push(Step::BaselineRtt {
            service: service.name.clone(),
            baseline: BaselineRtt {
                rtt,
                sent: report.sent,
                answered: report.answered,
                by: report.by,
            },
        });
    }
    let longest = known.iter().map(|rtt| rtt.max).max();
    run.rtt = longest.ok_or_else(|| {
        Abort::Lost(
            "no UDP probe of any service came back from the far end: open its UDP ports, or look \
             for a firewall between the ends"
                .into(),
        )
    })?;
    Ok(())
}

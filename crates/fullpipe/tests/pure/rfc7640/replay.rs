//! A run can be judged again from its evidence and its plan, both as JSON.

use fp_method::rfc7640::{self, Plan, Scheduler, TcpPlan};
use fp_model::{Evidence, Recorder, Replay};
use fp_net::sim::SimTestbed;
use fp_report::Work;
use serde_json::Value;

use super::network::{BE, EF, classes, plan, policer_plan, queue_plan, queued, shaper_plan};

#[test]
fn the_evidence_of_a_run_gives_the_same_report() {
    let scheduler = Scheduler::Wfq { classes: classes(&[(EF, 2), (BE, 1)]) };
    let everything = Plan {
        policer: Some(policer_plan(10, 20_000)),
        shaper: shaper_plan(fp_model::Rate::mbps(10), 3000, 60_000).shaper,
        tcp: Some(TcpPlan::default()),
        ..queue_plan(60_000, scheduler)
    };
    assert!(everything.check().is_ok() && plan().check().is_err());
    let mut recorder = Recorder::new(SimTestbed::new(&queued(60_000, None), 1));
    let (report, end) = rfc7640::run(&everything, &mut recorder);
    end.unwrap();
    let (_, evidence) = recorder.into_parts();
    let written = serde_json::to_string(&(&everything, &evidence)).unwrap();
    let (plan, evidence): (Plan, Vec<Evidence>) = serde_json::from_str(&written).unwrap();
    assert_eq!(plan, everything);
    let (again, end) = rfc7640::run(&plan, &mut Replay::of(evidence));
    end.unwrap();
    assert_eq!(report, again);
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_result_gives_the_same_report_to_the_last_byte() {
    for name in ["rfc7640-sim", "rfc7640-50k-sim", "rfc7640-lab"] {
        let result: Value = serde_json::from_str(&crate::recorded::text(name)).unwrap();
        let again = crate::judged::again(
            &result,
            |_| {},
            |plan: Plan, bed| Work::run(&rfc7640::METHOD, plan, bed),
        );
        crate::judged::expect_the_same(&result, &again);
    }
}

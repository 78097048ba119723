//! Networks whose policer, queue or shaper is known, and plans that fit them.

use std::time::Duration;

use fp_method::rfc7640::{
    self, Class, Directions, Plan, PolicerPlan, QueuePlan, Report, Scheduler, ShaperPlan, Step,
};
use fp_model::{Dscp, Family, Layer, LayeredRate, Rate};
use fp_net::meter::{BandwidthProfileSpec, ColourMode, Coupling};
use fp_net::path::{
    Aqm, Charge, ColourMap, DrrClass, Exceed, LinkSpec, PathSpec, PoliceSpec, PrioritySpec,
    QueueLimit, QueueSpec, ShapeSpec,
};
use fp_net::sim::SimTestbed;

pub(crate) const LINE: Rate = Rate::mbps(1000);
pub(crate) const SLOW: Rate = Rate::mbps(20);
const ONE_WAY: Duration = Duration::from_millis(5);

/// The same links both ways, 10 ms in all, behind a line of 1 Gbit/s.
pub(crate) fn behind_a_line(link: LinkSpec) -> PathSpec {
    let queue = QueueSpec { limit: QueueLimit::Packets(100_000), aqm: Aqm::Fifo };
    let line = LinkSpec { line_rate: Some(LINE), queue: Some(queue), ..LinkSpec::default() };
    PathSpec::symmetric("under test", vec![line, LinkSpec { delay: ONE_WAY, ..link }])
}

pub(crate) fn policed(policer: PolicerPlan) -> PathSpec {
    let profile = BandwidthProfileSpec {
        cir_l2: policer.cir_l2,
        cbs_bytes: policer.cbs_bytes,
        eir_l2: policer.eir_l2,
        ebs_bytes: policer.ebs_bytes,
        coupling: Coupling::Uncoupled,
        mode: ColourMode::Blind,
    };
    let police = PoliceSpec {
        profile,
        charge: Charge::default(),
        colours: ColourMap::default(),
        mark_yellow: None,
        exceed: Exceed::Drop,
    };
    behind_a_line(LinkSpec { police: Some(police), ..LinkSpec::default() })
}

/// A line of 20 Mbit/s behind a queue of so many bytes, or one for each class.
pub(crate) fn queued(queue_bytes: u64, priority: Option<PrioritySpec>) -> PathSpec {
    let queue = QueueSpec { limit: QueueLimit::Bytes(queue_bytes), aqm: Aqm::Fifo };
    let line_rate = Some(SLOW);
    behind_a_line(LinkSpec { line_rate, queue: Some(queue), priority, ..LinkSpec::default() })
}

pub(crate) fn shaped(rate: Rate, burst_bytes: u64, queue_bytes: u64) -> PathSpec {
    let queue = QueueSpec { limit: QueueLimit::Bytes(queue_bytes), aqm: Aqm::Fifo };
    let shape = ShapeSpec { rate, burst_bytes, queue };
    behind_a_line(LinkSpec { shape: Some(shape), ..LinkSpec::default() })
}

pub(crate) const EF: Dscp = Dscp::new(46).unwrap();
pub(crate) const AF41: Dscp = Dscp::new(34).unwrap();
pub(crate) const BE: Dscp = Dscp::BEST_EFFORT;

pub(crate) fn drr(quanta: &[(Dscp, u32)]) -> PrioritySpec {
    let class = |&(dscp, quantum_bytes)| DrrClass { dscp: vec![dscp], quantum_bytes };
    PrioritySpec::Drr(quanta.iter().map(class).collect())
}

pub(crate) fn classes(weights: &[(Dscp, u32)]) -> Vec<Class> {
    weights.iter().map(|&(dscp, weight)| Class { dscp, weight }).collect()
}

/// Short runs of one direction, without TCP.
pub(crate) fn plan() -> Plan {
    Plan {
        directions: Directions::Upload,
        runs: 1,
        trial: Duration::from_millis(200),
        tcp: None,
        ..Plan::new(Family::Ipv4, 1500)
    }
}

pub(crate) fn policer_plan(cir_mbps: u64, cbs_bytes: u64) -> PolicerPlan {
    PolicerPlan { cir_l2: Rate::mbps(cir_mbps), cbs_bytes, eir_l2: Rate::ZERO, ebs_bytes: 0 }
}

pub(crate) fn queue_plan(queue_bytes: u64, scheduler: Scheduler) -> Plan {
    let bandwidth = LayeredRate { rate: SLOW, layer: Layer::L1 };
    Plan { queue: Some(QueuePlan { queue_bytes, bandwidth, scheduler }), ..plan() }
}

pub(crate) fn shaper_plan(rate_l2: Rate, bc_bytes: u64, queue_bytes: u64) -> Plan {
    let shaper =
        ShaperPlan { rate_l2, bc_bytes, be_bytes: 0, queue_bytes, burst_bytes: queue_bytes };
    Plan { shaper: Some(shaper), ..plan() }
}

/// Runs a plan that makes sense over a simulated path.
pub(crate) fn simulate(path: &PathSpec, plan: &Plan) -> Report {
    plan.check().unwrap();
    let (report, end) = rfc7640::run(plan, &mut SimTestbed::new(path, 1));
    end.unwrap();
    report
}

pub(crate) fn codes(report: &Report) -> Vec<&'static str> {
    report.verdict.reasons.iter().map(|reason| reason.code.word()).collect()
}

/// The step of the only test of a run.
pub(crate) fn only_test(report: &Report) -> &Step {
    assert_eq!(report.steps.len(), 2, "a baseline round trip and one test: {report:#?}");
    &report.steps[1]
}

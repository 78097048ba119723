//! Buckets of any size and rate behind simulated ports: what the method finds of them.

use std::time::Duration;

use fp_method::burst::{self, Goal, Plan, PolicingStep, RateStep, Report, Step, Ways};
use fp_method::verdict::Status;
use fp_model::{Family, Layer, LayeredRate, Rate};
use fp_net::path::{
    Charge, LinkSpec, LossSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec, ShapeSpec,
};
use fp_net::sim::SimTestbed;
use proptest::prelude::*;

pub(crate) fn port(line: Rate) -> LinkSpec {
    LinkSpec {
        line_rate: Some(line),
        delay: Duration::from_millis(5),
        queue: Some(QueueSpec { limit: QueueLimit::Packets(4000), ..QueueSpec::default() }),
        ..LinkSpec::default()
    }
}

pub(crate) fn path(link: LinkSpec) -> PathSpec {
    PathSpec::symmetric("test", vec![link])
}

pub(crate) fn policed(cir: Rate, cbs_bytes: u64) -> PathSpec {
    path(LinkSpec {
        police: Some(PoliceSpec::single_bucket(cir, cbs_bytes)),
        ..port(Rate::mbps(1000))
    })
}

fn verify(cir: Rate, cbs_bytes: u64) -> Plan {
    let cir = LayeredRate { rate: cir, layer: Layer::L2 };
    let goal = Goal::Verify { cir, cbs_bytes };
    Plan { ways: Ways::Upload, ..Plan::new(Family::Ipv4, 1500, goal) }
}

fn run(path: &PathSpec, plan: &Plan) -> Report {
    plan.check(None).unwrap();
    let (report, end) = burst::run(plan, &mut SimTestbed::new(path, 1));
    end.unwrap();
    report
}

fn policing(report: &Report) -> Vec<&PolicingStep> {
    let steps = report.steps.iter();
    steps
        .filter_map(|step| match step {
            Step::Policing(step) => Some(step),
            _ => None,
        })
        .collect()
}

#[test]
fn a_correct_policer_passes_every_frame_length() {
    let report = run(&policed(Rate::mbps(40), 64_000), &verify(Rate::mbps(40), 64_000));
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    assert!(policing(&report).iter().all(|step| step.pass == Some(true)));
}

/// A line of 100 Mbit/s whose queue overflows drops frames, too, after they have waited: 512 of 532
/// bytes on the line are frame, 96.24 Mbit/s.
#[test]
fn a_queue_that_overflows_is_told_from_a_bucket() {
    let queue = QueueSpec { limit: QueueLimit::Packets(100), ..QueueSpec::default() };
    let slow = LinkSpec { queue: Some(queue), ..port(Rate::mbps(100)) };
    let path = PathSpec::symmetric("slow", vec![port(Rate::mbps(1000)), slow]);
    let plan = Plan { frame_bytes: vec![512], ..verify(Rate::mbps(10), 32_000) };
    let report = run(&path, &plan);
    assert_eq!(report.verdict.status, Status::Fail, "{:?}", report.verdict);
    assert!(policing(&report).is_empty());
    let [rate] = rates(&report)[..] else { panic!("one direction: {:?}", report.steps) };
    let line = f64::from(rate.frame_bytes) / f64::from(rate.frame_bytes + 20) * 100e6;
    let measured = rate.measured.unwrap().as_bps() as f64;
    assert!((measured / line - 1.0).abs() < 0.01, "{rate:?}");
    assert!(rate.waited.is_some(), "{rate:?}");
}

/// Queues of 30 kB (5 ms) to 1 MB, which hold more than the overload in front of them brings.
#[test]
fn a_shaper_is_named_and_its_bursts_are_not_judged() {
    for queue_bytes in [30_000, 300_000, 1_000_000] {
        for (sold, expected) in
            [(Rate::mbps(40), Status::Fail), (Rate::bps(49_500_000), Status::Inconclusive)]
        {
            let limit = QueueLimit::Bytes(queue_bytes);
            let queue = QueueSpec { limit, ..QueueSpec::default() };
            let shape = Some(ShapeSpec { rate: Rate::mbps(50), burst_bytes: 4000, queue });
            let path =
                PathSpec::symmetric("shaper", vec![LinkSpec { shape, ..port(Rate::mbps(1000)) }]);
            let plan = Plan { frame_bytes: vec![1518], ..verify(sold, 16_000) };
            let report = run(&path, &plan);
            assert_eq!(report.verdict.status, expected, "{queue_bytes}: {:?}", report.verdict);
            let [rate] = rates(&report)[..] else { panic!("one direction: {:?}", report.steps) };
            let measured = rate.measured.unwrap_or_default().as_bps() as f64;
            assert!((measured / 50e6 - 1.0).abs() < 0.005, "{sold:?}, {queue_bytes}: {rate:?}");
            assert!(report.verdict.reasons.iter().any(|reason| reason.code.word() == "no_policer"));
        }
    }
}

fn rates(report: &Report) -> Vec<&RateStep> {
    let steps = report.steps.iter();
    let rates = steps.filter_map(|step| match step {
        Step::Rate(rate) => Some(rate),
        _ => None,
    });
    rates.collect()
}

/// A host may be slower with short frames than the line: they do not say what the line carries.
#[test]
fn the_line_is_measured_by_long_frames_also_where_short_ones_are_tested() {
    let cases = [(64_000, 64, 1518), (4_000, 64, 1000), (2_000, 512, 512)];
    for (cbs_bytes, tested, measuring) in cases {
        let plan = Plan { frame_bytes: vec![tested], ..verify(Rate::mbps(40), cbs_bytes) };
        let report = run(&policed(Rate::mbps(40), cbs_bytes), &plan);
        assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
        let lengths = report.steps.iter().filter_map(|step| match step {
            Step::Line(line) => Some(line.frame_bytes),
            Step::Rate(rate) => Some(rate.frame_bytes),
            _ => None,
        });
        assert_eq!(lengths.collect::<Vec<_>>(), [measuring; 2]);
    }
}

/// The network takes and gives with random loss of a thousandth what no bucket explains: the
/// interval grows by it, the estimate does not move.
#[test]
fn single_losses_elsewhere_do_not_move_the_estimate() {
    let loss = Some(LossSpec::Random(Probability::new(0.001).unwrap()));
    let police = Some(PoliceSpec::single_bucket(Rate::mbps(40), 64_000));
    let link = LinkSpec { loss, police, ..port(Rate::mbps(1000)) };
    let report = run(&path(link), &verify(Rate::mbps(40), 64_000));
    // The CBS test loses as many frames as any stream.
    assert_eq!(report.verdict.status, Status::Findings);
    assert!(report.verdict.reasons.iter().all(|reason| reason.code.word() == "random_loss"));
    for step in policing(&report) {
        let bounds = step.estimate.unwrap();
        assert!((bounds.estimate / 64_000.0 - 1.0).abs() < 0.01, "{step:?}");
        assert!(step.pass != Some(false), "{step:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_bucket_is_estimated_within_one_percent(
        cbs in 8_000_f64.ln()..1_000_000_f64.ln(), cir in 1e6_f64.ln()..500e6_f64.ln(),
        frame_bytes in prop::sample::select(vec![64_u32, 128, 256, 512, 768, 1024, 1280, 1518]),
        charge in prop::sample::select(vec![Charge::L1, Charge::L2, Charge::L3]),
    ) {
        let (cbs_bytes, cir) = (cbs.exp() as u64, Rate::bps(cir.exp() as u64));
        let cir_of_layer = LayeredRate { rate: cir, layer: charge.layer() };
        let goal = Goal::Verify { cir: cir_of_layer, cbs_bytes };
        let plan = Plan { goal, ..verify(cir, cbs_bytes) };
        let plan = Plan { frame_bytes: vec![frame_bytes], test: Duration::from_millis(100), ..plan };
        let police = PoliceSpec { charge, ..PoliceSpec::single_bucket(cir, cbs_bytes) };
        let link = LinkSpec { police: Some(police), ..port(Rate::mbps(1000)) };
        let report = run(&path(link), &plan);
        for step in policing(&report) {
            let bounds = step.estimate.unwrap();
            let (least, most) = (bounds.at_least, bounds.at_most);
            prop_assert!((bounds.estimate / cbs_bytes as f64 - 1.0).abs() < 0.01, "{step:?}");
            prop_assert!(least <= cbs_bytes as f64 && cbs_bytes as f64 <= most, "{step:?}");
        }
        prop_assert!(report.verdict.status != Status::Fail, "{:?}", report.verdict);
    }
}

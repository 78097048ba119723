//! Ports with several policers and shapers, tested at the same time.

use fp_method::rfc7640::{
    CapacityStep, Device, Plan, PolicerPlan, PortClass, Report, ShaperPlan, Step,
};
use fp_method::verdict::Status;
use fp_model::{Dscp, Rate};
use fp_net::path::{
    Aqm, ClassPoliceSpec, ClassShapeSpec, LinkSpec, PathSpec, PoliceSpec, QueueLimit, QueueSpec,
    ShapeSpec,
};

use super::super::network::{
    AF41, BE, EF, LINE, behind_a_line, codes, only_test, plan, policer_plan, simulate,
};

fn policer(dscp: Dscp, cir_mbps: u64, cbs_bytes: u64) -> PortClass {
    PortClass { dscp, device: Device::Policer(policer_plan(cir_mbps, cbs_bytes)) }
}

fn shaper(dscp: Dscp, mbps: u64, queue_bytes: u64) -> PortClass {
    let shaper = ShaperPlan {
        rate_l2: Rate::mbps(mbps),
        bc_bytes: 16_000,
        be_bytes: 0,
        queue_bytes,
        burst_bytes: queue_bytes,
    };
    PortClass { dscp, device: Device::Shaper(shaper) }
}

/// A port that does what these classes ask for.
fn port(classes: &[PortClass]) -> PathSpec {
    let mut link = LinkSpec::default();
    for PortClass { dscp, device } in classes {
        let dscp = vec![*dscp];
        match device {
            Device::Policer(PolicerPlan { cir_l2, cbs_bytes, .. }) => {
                let police = PoliceSpec::single_bucket(*cir_l2, *cbs_bytes);
                link.police_classes.push(ClassPoliceSpec { dscp, police });
            }
            Device::Shaper(shaper) => {
                let limit = QueueLimit::Bytes(shaper.queue_bytes);
                let queue = QueueSpec { limit, aqm: Aqm::Fifo };
                let (rate, burst_bytes) = (shaper.rate_l2, shaper.bc_bytes);
                let shape = ShapeSpec { rate, burst_bytes, queue };
                link.shape_classes.push(ClassShapeSpec { dscp, shape });
            }
        }
    }
    behind_a_line(link)
}

fn run(path: &PathSpec, capacity: &[PortClass]) -> Report {
    simulate(path, &Plan { capacity: capacity.to_vec(), ..plan() })
}

fn capacity(report: &Report) -> &CapacityStep {
    match only_test(report) {
        Step::Capacity(step) => step,
        other => panic!("{other:?}"),
    }
}

const POLICERS: [(Dscp, u64, u64); 3] = [(EF, 10, 16_000), (AF41, 40, 64_000), (BE, 100, 128_000)];

fn policers() -> Vec<PortClass> {
    POLICERS.map(|(dscp, cir, cbs)| policer(dscp, cir, cbs)).to_vec()
}

/// What a bucket holds passes, and at most what comes back while bursts of all classes last: of
/// 160,000 bytes and what passes beyond them, 1.7 ms at a gigabit.
//= rfc7640 6.1.2
#[test]
fn every_policer_of_a_port_passes_its_bursts_and_no_larger_ones() {
    let report = run(&port(&policers()), &policers());
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    for (class, (dscp, cir_mbps, cbs_bytes)) in capacity(&report).classes.iter().zip(POLICERS) {
        assert_eq!(class.dscp, dscp);
        assert!(class.compliant.is_lossless(), "{class:?}");
        let excess = class.excess.as_ref().unwrap();
        assert_eq!(excess.whole_bursts, 0, "{class:?}");
        let hunt = class.hunt.as_ref().unwrap();
        assert!(hunt.is_limit, "{class:?}");
        let found = hunt.bsa_bytes.unwrap();
        let most = cbs_bytes + cir_mbps * 1_000_000 / 8 * 17 / 10_000;
        assert!((cbs_bytes - 1518..=most).contains(&found), "{found} of {cbs_bytes}");
    }
}

//= rfc7640 6.1.2
#[test]
fn of_several_policers_exactly_the_wrong_one_fails() {
    for (cbs_bytes, code) in [(60_000, "compliant_burst_lost"), (74_000, "excess_burst_passed")] {
        let mut configured = policers();
        configured[1] = policer(AF41, 40, cbs_bytes);
        let report = run(&port(&configured), &policers());
        assert_eq!(codes(&report), [code], "{:?}", report.verdict);
        let text = &report.verdict.reasons[0].text;
        assert!(text.starts_with("capacity, upload, class 34: "), "{text}");
    }
}

/// Frames leave one by one at the shaper's rate: within half a frame in 74,000 bytes at most.
//= rfc7640 6.3.2
#[test]
fn every_shaper_of_a_port_keeps_its_rate_while_all_are_active() {
    let classes = [shaper(EF, 10, 148_000), shaper(AF41, 30, 148_000), shaper(BE, 60, 256_000)];
    let report = run(&port(&classes), &classes);
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    for (class, mbps) in capacity(&report).classes.iter().zip([10.0, 30.0, 60.0]) {
        assert!(class.compliant.is_lossless() && class.hunt.is_none(), "{class:?}");
        let rate = class.trains.unwrap().rate_l2.unwrap().as_bps() as f64 / 1e6;
        assert!((rate / mbps - 1.0).abs() < 0.01, "{rate} of {mbps}");
    }
    let mut fast = classes;
    fast[2] = shaper(BE, 66, 256_000);
    let report = run(&port(&fast), &classes);
    assert_eq!(codes(&report), ["shaper_rate_wrong"], "{:?}", report.verdict);
}

//= rfc7640 6.4
#[test]
fn policers_and_shapers_are_tested_at_the_same_time() {
    let classes = [policer(EF, 10, 16_000), shaper(AF41, 30, 148_000), policer(BE, 100, 128_000)];
    let report = run(&port(&classes), &classes);
    assert_eq!(report.verdict.status, Status::Pass, "{:?}", report.verdict);
    let of_each = capacity(&report).classes.iter();
    let found: Vec<_> = of_each.map(|one| (one.hunt.is_some(), one.trains.is_some())).collect();
    assert_eq!(found, [(true, false), (false, true), (true, false)]);
}

#[test]
fn a_port_whose_policers_are_as_fast_as_its_line_is_refused() {
    let classes = vec![policer(EF, 500, 640_000), policer(BE, 500, 640_000)];
    let refused = Plan { capacity: classes, line_rate_l1: Some(LINE), ..plan() }.check();
    assert!(refused.unwrap_err().to_string().starts_with("all classes together"));
    let alone = Plan { capacity: vec![policer(EF, 10, 16_000)], ..plan() }.check();
    assert!(alone.unwrap_err().to_string().starts_with("a port is tested with 2 to 8"));
}

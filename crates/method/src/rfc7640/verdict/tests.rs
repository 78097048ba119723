//! Steps made for it, against what was asked of them.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec;
use core::time::Duration;

use fp_model::{Direction, Dscp, Family, ProbedBy, RttSummary};

use super::*;
use crate::rfc7640::{BaselineRtt, ClassStep, PolicerPlan, ShaperPlan};

const POLICER: PolicerPlan =
    PolicerPlan { cir_l2: Rate::mbps(40), cbs_bytes: 64_000, eir_l2: Rate::ZERO, ebs_bytes: 0 };

const SHAPER: ShaperPlan = ShaperPlan {
    rate_l2: Rate::mbps(40),
    bc_bytes: 10_000,
    be_bytes: 0,
    queue_bytes: 100_000,
    burst_bytes: 90_000,
};

fn plan() -> Plan {
    Plan::new(Family::Ipv4, 1500)
}

/// Ten bursts, of which so many have lost one frame each.
fn bursts(lost_frames: u64) -> Stateless {
    Stateless {
        burst_bytes: 60_720,
        bursts: 10,
        whole_bursts: 10 - lost_frames,
        sent_frames: 400,
        received_frames: 400 - lost_frames,
        lost_frames,
        ..Stateless::default()
    }
}

fn baseline() -> Step {
    let rtt = RttSummary::of(vec![Duration::from_millis(10)]).unwrap();
    Step::BaselineRtt(BaselineRtt { rtt, sent: 1, answered: 1, by: ProbedBy::Datagrams })
}

fn policer(compliant: Stateless, excess: Option<Stateless>) -> Step {
    Step::Policer(Box::new(PolicerStep {
        direction: Direction::Upload,
        frame_bytes: 1518,
        cir_l2: POLICER.cir_l2,
        cbs_bytes: POLICER.cbs_bytes,
        eir_l2: POLICER.eir_l2,
        ebs_bytes: POLICER.ebs_bytes,
        compliant,
        burst_rate_l2: None,
        excess,
        hunt: Hunt::default(),
        rate: None,
        depth: None,
    }))
}

fn queue(stateless: Stateless) -> Step {
    Step::Queue(QueueStep {
        direction: Direction::Upload,
        frame_bytes: 1518,
        queue_bytes: 64_000,
        bandwidth_l2: Rate::mbps(40),
        stateless,
        hunt: Hunt::default(),
        stateful: Vec::new(),
    })
}

/// Of two classes, of which each is to have half.
fn scheduler(shares_percent: [f64; 2]) -> Step {
    let class = |share_percent| ClassStep {
        dscp: Dscp::BEST_EFFORT,
        weight: 1,
        stateless: bursts(5),
        share_percent: Some(share_percent),
        expected_share_percent: 50.0,
    };
    Step::Scheduler(SchedulerStep {
        direction: Direction::Upload,
        scheduler: "wfq",
        frame_bytes: 1518,
        queue_bytes: 64_000,
        bandwidth_l2: Rate::mbps(40),
        classes: shares_percent.map(class).into(),
        stateful: Vec::new(),
    })
}

fn trains(rate_l2: Rate) -> Trains {
    let at_once = Some(SHAPER.bc_bytes);
    Trains { rate_l2: Some(rate_l2), bucket_least_bytes: at_once, ..Trains::default() }
}

fn shaper(rate_l2: Rate) -> Step {
    Step::Shaper(ShaperStep {
        direction: Direction::Upload,
        frame_bytes: 1518,
        rate_l2: SHAPER.rate_l2,
        bc_bytes: SHAPER.bc_bytes,
        be_bytes: SHAPER.be_bytes,
        queue_bytes: SHAPER.queue_bytes,
        stateless: bursts(0),
        trains: trains(rate_l2),
        stateful: Vec::new(),
    })
}

/// A policer and a shaper at the same time, with what is more than the policer lets through.
fn capacity(excess: Stateless, shaped_l2: Rate) -> Step {
    let class = |device| CapacityClass {
        dscp: Dscp::BEST_EFFORT,
        device,
        compliant: bursts(0),
        excess: None,
        hunt: None,
        trains: None,
    };
    let policer = CapacityClass { excess: Some(excess), ..class(Device::Policer(POLICER)) };
    let shaper = CapacityClass { trains: Some(trains(shaped_l2)), ..class(Device::Shaper(SHAPER)) };
    Step::Capacity(CapacityStep {
        direction: Direction::Upload,
        frame_bytes: 1518,
        classes: vec![policer, shaper],
    })
}

fn met(steps: &[Step]) -> Vec<Option<bool>> {
    (0..steps.len()).map(|place| is_met(&plan(), steps, place)).collect()
}

/// A burst in ten may be whole for a sender that was held up; rates and shares may differ by 2 %.
#[test]
fn a_device_meets_what_was_asked_up_to_the_limit_itself() {
    let within = [
        policer(bursts(0), Some(bursts(9))),
        queue(bursts(0)),
        scheduler([52.0, 48.0]),
        shaper(Rate::bps(40_790_000)),
        capacity(bursts(10), Rate::mbps(40)),
    ];
    assert_eq!(met(&within), [Some(true); 5]);
    let beyond = [
        policer(bursts(1), Some(bursts(10))),
        policer(bursts(0), Some(bursts(8))),
        queue(bursts(1)),
        queue(Stateless { out_of_order_frames: 1, ..bursts(0) }),
        scheduler([52.5, 47.5]),
        shaper(Rate::bps(40_810_000)),
        capacity(bursts(0), Rate::mbps(40)),
        capacity(bursts(10), Rate::mbps(41)),
    ];
    assert_eq!(met(&beyond), [Some(false); 8]);
    // Bursts that come no faster than the rates cannot be in excess: nobody knows.
    let slow = policer(bursts(0), None);
    assert_eq!(met(core::slice::from_ref(&slow)), [None]);
    assert!(unmeasured(&[slow])[0].contains("test over a faster line"));
    assert_eq!(met(&[baseline()]), [None], "nothing is asked of a round trip");
    assert_eq!(is_met(&plan(), &[], 0), None, "there is no such step");
}

#[test]
fn the_verdict_finds_fault_with_those_steps_that_do_not_meet_what_was_asked() {
    let steps = [
        baseline(),
        policer(bursts(0), Some(bursts(10))),
        policer(bursts(1), None),
        queue(bursts(0)),
        scheduler([10.0, 90.0]),
        shaper(Rate::mbps(40)),
        capacity(bursts(0), Rate::mbps(50)),
    ];
    let met = met(&steps);
    let missed: BTreeSet<Option<usize>> =
        (0..steps.len()).filter(|place| met[*place] == Some(false)).map(Some).collect();
    assert_eq!(missed, BTreeSet::from([2, 4, 6].map(Some)));
    let verdict = judge(&plan(), &steps, &[], None);
    let faults: BTreeSet<Option<usize>> =
        verdict.reasons.iter().map(|reason| reason.step).collect();
    assert_eq!((verdict.status, faults), (Status::Fail, missed));
}

//! Steps made for it, against what was asked of them.

use alloc::collections::BTreeSet;

use fp_model::{Direction, Family, Layer, LayeredRate, ProbedBy, Rate};

use super::*;
use crate::path::PathMtu;
use crate::reason::Code;
use crate::rfc2544::{
    BackToBack, BurstFigures, FrameLoss, FrameRate, Latency, LeastThroughput, Recovery, TrialRow,
    Way,
};

const FRAME_BYTES: u32 = 1518;
const MILLISECOND: Duration = Duration::from_millis(1);

/// Of a line of 100 Mbit/s.
fn rate(percent: u64) -> FrameRate {
    FrameRate { frame_bytes: FRAME_BYTES, rate_l1: Rate::mbps(percent) }
}

fn throughput(found: Option<FrameRate>) -> Step {
    Step::Throughput(Throughput {
        way: Way::Download,
        frame_bytes: FRAME_BYTES,
        found,
        at_least: None,
        at_most: None,
        theoretical: Some(rate(100)),
        limit: Limit::Network,
        trials: Vec::new(),
        goals: Vec::new(),
    })
}

fn latency(mean: Duration) -> Step {
    Step::Latency(Latency {
        way: Way::Download,
        rate: rate(90),
        clock: DelayClock::RoundTrip,
        means: Vec::from([mean]),
        min: mean,
        mean,
        max: mean,
    })
}

/// Of 1,000 frames.
fn frame_loss(lost_frames: u64) -> Step {
    let trial = TrialRow {
        offered: rate(100),
        lasts: Duration::from_secs(1),
        planned_frames: 1000,
        sent_frames: 1000,
        received_frames: 1000 - lost_frames,
        dropped_by_tester: 0,
        out_of_order_frames: None,
        duplicate_frames: None,
        sent_by: SentBy::PacketSocket,
        passed: lost_frames == 0,
        tester_limit: false,
        repeats: 0,
        confirmation: false,
    };
    Step::FrameLoss(FrameLoss {
        way: Way::Download,
        frame_bytes: FRAME_BYTES,
        highest: rate(100),
        trials: Vec::from([trial]),
    })
}

fn back_to_back(average_frames: Option<f64>) -> Step {
    let figures = |average_frames: f64| BurstFigures {
        average_frames,
        min_frames: average_frames as u64,
        max_frames: average_frames as u64,
        deviation_frames: 0.0,
        implied_buffer: MILLISECOND,
        corrected_buffer: MILLISECOND,
    };
    Step::BackToBack(BackToBack {
        way: Way::Download,
        frame_bytes: FRAME_BYTES,
        skipped: average_frames.is_none().then_some(Skipped::NoOverload),
        longest_frames: Vec::new(),
        limit_frames: 1000,
        step_frames: 1,
        trials: 1,
        figures: average_frames.map(figures),
    })
}

fn recovery(recovery: Option<Duration>) -> Step {
    Step::Recovery(Recovery {
        way: Way::Download,
        overload: rate(100),
        reduced: rate(50),
        recovery,
        lost_in_overload_frames: 10,
        lost_after_frames: 0,
        sent_late_max: Duration::ZERO,
        tester_limit: false,
    })
}

fn black_hole() -> Step {
    Step::PathMtu(PathMtu {
        direction: Direction::Download,
        mtu_bytes: 1400,
        black_hole: true,
        probes: 20,
        by: ProbedBy::Datagrams,
    })
}

/// At least 80 % of the line and bursts of 100 frames, at most 2 ms, 1 % lost and 3 ms to recover.
fn asked() -> Criteria {
    let at_least = Threshold::Percent { percent_of_line: 80.0 };
    Criteria {
        throughput: Vec::from([LeastThroughput { frame_bytes: None, at_least }]),
        latency: Some(2 * MILLISECOND),
        loss_percent: Some(1.0),
        burst_frames: Some(100),
        recovery: Some(3 * MILLISECOND),
    }
}

fn met(criteria: &Criteria, steps: &[Step]) -> Vec<Option<bool>> {
    let plan = Plan { criteria: criteria.clone(), ..Plan::new(Family::Ipv4, 1500) };
    (0..steps.len()).map(|place| is_met(&plan, steps, place)).collect()
}

#[test]
fn a_step_meets_what_was_asked_up_to_the_limit_itself() {
    let within = [
        throughput(Some(rate(80))),
        latency(2 * MILLISECOND),
        frame_loss(10),
        back_to_back(Some(100.0)),
        recovery(Some(3 * MILLISECOND)),
        // The overload lost nothing: there was nothing to recover from.
        recovery(None),
    ];
    assert_eq!(met(&asked(), &within), [Some(true); 6]);
    let beyond = [
        throughput(Some(rate(79))),
        throughput(None),
        latency(Duration::from_micros(2_001)),
        frame_loss(11),
        back_to_back(Some(99.9)),
        recovery(Some(Duration::from_micros(3_001))),
    ];
    assert_eq!(met(&asked(), &beyond), [Some(false); 6]);
    assert_eq!(met(&Criteria::default(), &beyond), [None; 6], "nothing was asked");
}

#[test]
fn of_a_step_without_a_figure_or_of_another_length_nothing_was_asked() {
    assert_eq!(met(&asked(), &[black_hole(), back_to_back(None)]), [None; 2]);
    let rate_l2 = LayeredRate { rate: Rate::mbps(90), layer: Layer::L2 };
    let of_short_frames =
        LeastThroughput { frame_bytes: Some(64), at_least: Threshold::Rate(rate_l2) };
    let criteria = Criteria { throughput: Vec::from([of_short_frames]), ..Criteria::default() };
    assert_eq!(met(&criteria, &[throughput(Some(rate(10)))]), [None]);
    let plan = Plan::new(Family::Ipv4, 1500);
    assert_eq!(is_met(&plan, &[], 0), None, "there is no such step");
}

/// 79 % of the line were found, and up to `most` % are possible, where 80 % were asked.
fn open_up_to(most: u64) -> Step {
    let Step::Throughput(found) = throughput(Some(rate(79))) else { unreachable!() };
    Step::Throughput(Throughput { at_most: Some(rate(most)), ..found })
}

#[test]
fn what_may_be_as_much_as_was_asked_is_left_open_unless_something_else_failed() {
    let judged = |steps: Vec<Step>| {
        let plan = Plan { criteria: asked(), ..Plan::new(Family::Ipv4, 1500) };
        judge(&plan, &Report { steps, ..Report::default() }, None)
    };
    assert_eq!(met(&asked(), &[open_up_to(80), open_up_to(79)]), [None, Some(false)]);
    let verdict = judged(Vec::from([open_up_to(80)]));
    assert_eq!(verdict.status, Status::Inconclusive);
    let [reason] = &verdict.reasons[..] else { panic!("{verdict:?}") };
    assert_eq!(reason.code, Code::ThroughputOpen);
    for part in ["between 79.00 % of the line and 80.00 %", "at least 80.00 %", "--trial"] {
        assert!(reason.text.contains(part), "{part}: {}", reason.text);
    }
    assert_eq!(judged(Vec::from([open_up_to(79)])).status, Status::Fail);
    assert_eq!(judged(Vec::from([open_up_to(80), frame_loss(500)])).status, Status::Fail);
}

#[test]
fn the_verdict_finds_fault_with_those_steps_that_do_not_meet_what_was_asked() {
    let steps = Vec::from([
        black_hole(),
        throughput(Some(rate(90))),
        throughput(None),
        latency(MILLISECOND),
        latency(3 * MILLISECOND),
        frame_loss(0),
        frame_loss(500),
        back_to_back(Some(1.0)),
        recovery(Some(MILLISECOND)),
    ]);
    let missed: BTreeSet<Option<usize>> = met(&asked(), &steps)
        .iter()
        .enumerate()
        .filter_map(|(place, met)| (*met == Some(false)).then_some(Some(place)))
        .collect();
    assert_eq!(missed, BTreeSet::from([2, 4, 6, 7].map(Some)));
    let plan = Plan { criteria: asked(), ..Plan::new(Family::Ipv4, 1500) };
    let report = Report { steps, ..Report::default() };
    let verdict = judge(&plan, &report, None);
    // What the user should know whatever the verdict is no fault.
    let is_fault =
        |reason: &&Reason| ![Code::MtuBlackHole, Code::NoRatePassed].contains(&reason.code);
    let faults: BTreeSet<Option<usize>> =
        verdict.reasons.iter().filter(is_fault).map(|reason| reason.step).collect();
    assert_eq!((verdict.status, faults), (Status::Fail, missed));
}

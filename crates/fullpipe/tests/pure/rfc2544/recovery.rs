//! Recovery from overload, and loss at one rate after the other.

use fp_method::rfc2544::{FrameLoss, Plan, Recovery, Report, Step, Test};
use fp_model::Rate;
use fp_net::path::{LinkSpec, LossSpec, Probability};

use super::network::{plan, policed, port, run, upwards};

const GIGABIT: Rate = Rate::mbps(1000);

fn recovery(report: &Report) -> &Recovery {
    fn found(step: &Step) -> Option<&Recovery> {
        match step {
            Step::Recovery(found) => Some(found),
            _ => None,
        }
    }
    report.steps.iter().find_map(found).unwrap()
}

//= rfc2544 26.5
/// Ten percent too much for a second is 365 frames; at half the rate a bucket refills at once.
#[test]
fn a_policer_recovers_as_soon_as_less_is_offered() {
    let path = upwards(&[policed(GIGABIT, Rate::mbps(40), 8000)]);
    let report = run(&plan(1518, Test::Recovery), &path);
    let found = recovery(&report);
    assert!(found.lost_in_overload_frames > 250, "{found:?}");
    assert!(found.recovery.unwrap() < std::time::Duration::from_millis(2), "{found:?}");
}

#[test]
fn what_cannot_be_overloaded_does_not_recover() {
    let report = run(&plan(1518, Test::Recovery), &upwards(&[port(GIGABIT)]));
    let found = recovery(&report);
    assert_eq!((found.recovery, found.lost_in_overload_frames), (None, 0));
    assert_eq!(found.overload.rate_l1, GIGABIT);
}

fn frame_loss(report: &Report) -> &FrameLoss {
    fn found(step: &Step) -> Option<&FrameLoss> {
        match step {
            Step::FrameLoss(found) => Some(found),
            _ => None,
        }
    }
    report.steps.iter().find_map(found).unwrap()
}

//= rfc2544 26.3
/// Of a gigabit line's 80,000 frames and more, 100 Mbit/s behind it carry a tenth.
#[test]
fn frame_loss_falls_in_steps_until_two_trials_lose_nothing() {
    let path = upwards(&[port(GIGABIT), port(Rate::mbps(250))]);
    let report = run(&plan(1518, Test::FrameLoss), &path);
    let found = frame_loss(&report);
    let losses: Vec<f64> = found.trials.iter().map(|trial| trial.loss_percent()).collect();
    // 100, 90, … 30 % lose; 20 and 10 % do not.
    assert_eq!(losses.len(), 10);
    assert!(losses.windows(2).all(|pair| pair[0] >= pair[1]), "{losses:?}");
    assert!((losses[0] - 75.0).abs() < 2.0, "a queue takes in 1000 frames: {losses:?}");
    assert_eq!(losses[8..], [0.0, 0.0]);
    let clean = run(&plan(1518, Test::FrameLoss), &upwards(&[port(GIGABIT)]));
    assert_eq!(frame_loss(&clean).trials.len(), 2);
}

//= rfc2544 10
/// One frame in twenty is doubled on the way: that makes up for no other.
#[test]
fn frames_that_come_twice_are_told_apart_from_those_that_are_lost() {
    let share = |share| Probability::new(share).unwrap();
    let doubled = LinkSpec { duplicate: Some(share(0.05)), ..port(GIGABIT) };
    let loss = Some(LossSpec::Random(share(0.05)));
    let path = upwards(&[LinkSpec { loss, ..doubled }]);
    let report = run(&plan(1518, Test::FrameLoss), &path);
    let row = &frame_loss(&report).trials[0];
    assert!(row.duplicate_frames > Some(row.sent_frames / 25), "{row:?}");
    assert!((row.loss_percent() - 5.0).abs() < 0.5, "{row:?}");
    assert_eq!(row.out_of_order_frames, Some(0));
}

#[test]
fn smaller_steps_give_more_trials() {
    let fine = Plan { loss_step_percent: 5.0, ..plan(1518, Test::FrameLoss) };
    let report = run(&fine, &upwards(&[port(GIGABIT), port(Rate::mbps(1))]));
    assert_eq!(frame_loss(&report).trials.len(), 20);
}

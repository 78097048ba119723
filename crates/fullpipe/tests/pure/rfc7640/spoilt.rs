//! Trials that the tester spoils: run again, and in the end not trusted.

use std::time::Duration;

use fp_method::rfc7640::{self, Plan, Report, Step, Trains};
use fp_method::verdict::Status;
use fp_model::{Abort, BurstsReport, FlowReport, Load, Observation, Rate, Testbed, Trial};
use fp_net::sim::SimTestbed;

use super::network::{codes, plan, policed, policer_plan, shaped, shaper_plan};

/// The simulation with a near end that drops frames of its own in the first trials of bursts.
struct Dropping {
    bed: SimTestbed,
    spoilt_left: u32,
    trials: u32,
}

impl Testbed for Dropping {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut seen = self.bed.run(trial)?;
        if trial.name.contains("compliant") {
            self.trials += 1;
            seen.near.dropped_packets = u64::from(self.spoilt_left > 0);
            self.spoilt_left = self.spoilt_left.saturating_sub(1);
        }
        Ok(seen)
    }
}

fn run(spoilt: u32) -> (rfc7640::Report, u32) {
    let sold = policer_plan(40, 64_000);
    let bed = SimTestbed::new(&policed(sold), 1);
    let mut bed = Dropping { bed, spoilt_left: spoilt, trials: 0 };
    let (report, end) = rfc7640::run(&Plan { policer: Some(sold), ..plan() }, &mut bed);
    end.unwrap();
    (report, bed.trials)
}

#[test]
fn a_spoilt_trial_is_run_again_and_the_result_counts() {
    let (report, trials) = run(5);
    assert_eq!((report.verdict.status, trials), (Status::Pass, 6), "{:?}", report.verdict);
    let Step::Policer(step) = &report.steps[1] else { panic!("{report:?}") };
    assert_eq!((step.compliant.repeated_trials, step.compliant.spoilt_trials), (5, 0));
}

#[test]
fn a_trial_that_is_spoilt_six_times_makes_the_run_invalid() {
    let (report, trials) = run(u32::MAX);
    assert_eq!((report.verdict.status, trials), (Status::Invalid, 6));
    let broken: Vec<_> = report.checks.iter().filter(|check| !check.ok).collect();
    assert_eq!(
        broken.iter().map(|check| check.name.word()).collect::<Vec<_>>(),
        ["tester_drops", "spoilt_trials"]
    );
}

/// The simulation with a host that stands still when the first frame of a burst should arrive whose
/// frames are sent one by one, in the first of these trials: what should arrive meanwhile does so
/// together when it goes on.
struct Pausing {
    bed: SimTestbed,
    pause: Duration,
    pauses_left: u32,
}

impl Testbed for Pausing {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut seen = self.bed.run(trial)?;
        if trial.name.contains("trains") && self.pauses_left > 0 {
            self.pauses_left -= 1;
            for (flow, spec) in seen.flows.iter_mut().zip(&trial.flows) {
                if let (FlowReport::Bursts(report), Load::Bursts(load)) = (flow, &spec.load) {
                    pause(report, load.period, self.pause);
                }
            }
        }
        Ok(seen)
    }
}

fn pause(report: &mut BurstsReport, period: Duration, pause: Duration) {
    let Some(first) = report.bursts.first().and_then(|burst| burst.arrived.first()) else { return };
    let until = first.from + pause;
    for burst in &mut report.bursts {
        let due = period * burst.burst;
        for run in &mut burst.arrived {
            run.from = run.from.max(until.saturating_sub(due));
            run.until = run.until.max(run.from);
        }
    }
}

/// 32,000 bytes at 50 Mbit/s, of which a shaper of `burst_bytes` is to be one, in three runs.
fn run_paused(burst_bytes: u64, pause: Duration, pauses: u32) -> Report {
    let path = shaped(Rate::mbps(50), burst_bytes, 512_000);
    let mut bed = Pausing { bed: SimTestbed::new(&path, 1), pause, pauses_left: pauses };
    let sold = Plan { runs: 3, ..shaper_plan(Rate::mbps(50), 32_000, 512_000) };
    let (report, end) = rfc7640::run(&sold, &mut bed);
    end.unwrap();
    report
}

fn trains(report: &Report) -> Trains {
    let Step::Shaper(step) = &report.steps[1] else { panic!("{report:?}") };
    step.trains
}

/// Frames are sent for half a millisecond until the bucket is empty, and then go each 243 µs.
const PAUSES: [Duration; 4] = [
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_micros(1300),
    Duration::from_millis(20),
];

/// A pause of 1.3 ms is 8,125 bytes at 50 Mbit/s. One that ends before the first train does leaves
/// frames that tell when the burst began, any other makes the trial be run again.
#[test]
fn a_host_that_stands_still_makes_no_bucket_of_a_shaper_deeper() {
    for pause in PAUSES {
        let report = run_paused(32_000, pause, 2);
        assert_eq!(report.verdict.status, Status::Pass, "{pause:?}: {:?}", report.verdict);
        let found = trains(&report);
        for bytes in [found.bucket_bytes, found.bucket_least_bytes] {
            assert!(bytes.unwrap().abs_diff(32_000) <= 10, "{pause:?}: {found:?}");
        }
    }
}

#[test]
fn a_host_that_stands_still_in_every_trial_makes_the_run_invalid_and_not_failed() {
    let report = run_paused(32_000, PAUSES[2], u32::MAX);
    assert_eq!(report.verdict.status, Status::Invalid, "{:?}", report.verdict);
    assert_eq!(report.checks.iter().find(|check| !check.ok).unwrap().name.word(), "spoilt_trials");
}

#[test]
fn a_bucket_that_is_too_deep_is_found_among_pauses() {
    for pause in PAUSES {
        let report = run_paused(64_000, pause, 2);
        assert_eq!(codes(&report), ["shaper_burst_large"], "{pause:?}: {:?}", report.verdict);
        let found = trains(&report).bucket_bytes.unwrap();
        assert!(found.abs_diff(64_000) <= 10, "{pause:?}: {found}");
    }
}

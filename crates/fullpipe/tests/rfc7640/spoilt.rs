//! Trials that the tester spoils: run again, and in the end not trusted.

use fp_method::rfc7640::{self, Plan, Step};
use fp_method::verdict::Status;
use fp_model::{Abort, Observation, Testbed, Trial};
use fp_net::sim::SimTestbed;

use super::network::{plan, policed, policer_plan};

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
        broken.iter().map(|check| check.name).collect::<Vec<_>>(),
        ["tester_drops", "spoilt_trials"]
    );
}

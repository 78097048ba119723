//! Hosts that stand still for a part of a trial.

use std::time::Duration;

use fp_method::rfc6349::{self, LimitKind, Plan, Senders, Step};
use fp_model::{Abort, Family, Layer, Load, Observation, Pace, Rate, Testbed, Trial};
use fp_net::path::{Aqm, LinkSpec, PathSpec, QueueLimit, QueueSpec};
use fp_net::sim::SimTestbed;

const LINE: Rate = Rate::mbps(100);
/// What looks for the order of magnitude offers this as its second rate.
const HELD_UP: Rate = Rate::mbps(64);

/// The simulation with a sender that gets half of its frames out in one of the trials.
struct StandingStill(SimTestbed);

impl Testbed for StandingStill {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        let mut trial = trial.clone();
        for flow in &mut trial.flows {
            if let Load::Frames(frames) = &mut flow.load
                && let Pace::Constant { rate } = &mut frames.pace
                && *rate == HELD_UP
            {
                *rate = rate.scaled(0.5);
            }
        }
        self.0.run(&trial)
    }
}

/// A sender that was held up once is not at its end: at the next rate it sends more.
#[test]
fn a_sender_that_is_held_up_in_a_trial_still_reaches_the_limit_of_the_path() {
    let queue = QueueSpec { limit: QueueLimit::Packets(100), aqm: Aqm::Fifo };
    let delay = Duration::from_millis(5);
    let link = LinkSpec { line_rate: Some(LINE), queue: Some(queue), delay, ..LinkSpec::default() };
    let mut bed = StandingStill(SimTestbed::new(&PathSpec::symmetric("held up", vec![link]), 1));
    let plan = Plan { senders: Senders::Bulk, ..Plan::new(Family::Ipv4, 1500) };
    let (report, end) = rfc6349::run(&plan, &mut bed);
    end.unwrap();
    let limits = report.steps.iter().filter_map(|step| match step {
        Step::Bottleneck(limit) => Some(limit),
        Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Tcp(_) => None,
    });
    let limits: Vec<_> = limits.collect();
    assert_eq!(limits.len(), 2);
    for limit in limits {
        assert_eq!((limit.kind, limit.limit.layer), (LimitKind::Queue, Layer::L1));
        let share = limit.limit.rate.as_bps() as f64 / LINE.as_bps() as f64;
        assert!((share - 1.0).abs() < 0.005, "{share}");
    }
}

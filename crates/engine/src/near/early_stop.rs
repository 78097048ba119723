//! A trial of connections alone that is stopped: both ends close them and tell what there was.

use fp_model::{Direction, Load, Trial};
use fp_net::swarm::Stop;

use super::LiveTestbed;
use super::trial::Gathered;
use crate::control::message::Message;
use crate::end::End;
use crate::flow::RunningFlows;
use crate::half::Half;
use crate::swarm::role_of;

/// How far the end of a trial has come. Who serves is told when who has opened is done, so that it
/// hears of all that is closed.
#[derive(Debug, Default)]
pub(super) struct EarlyStop {
    is_far_told: bool,
}

impl LiveTestbed {
    pub(super) fn wind_down(&mut self, trial: &Trial, flows: &RunningFlows) -> EarlyStop {
        self.is_winding_down = true;
        flows.wind_down(role_of(End::Near, Direction::Upload), self.when_stopped);
        if flows_towards(trial, Direction::Download).next().is_some() {
            self.tell_far(Direction::Download);
        }
        EarlyStop::default()
    }

    /// Continues the early stop of a trial after one end has reported its half.
    pub(super) fn wind_down_further(
        &self,
        trial: &Trial,
        flows: &RunningFlows,
        gathered: &Gathered,
        early_stop: &mut EarlyStop,
    ) {
        let near = |flow| gathered.near_half(flow);
        if !early_stop.is_far_told && have_stopped(trial, Direction::Upload, near) {
            early_stop.is_far_told = true;
            self.tell_far(Direction::Upload);
        }
        if have_stopped(trial, Direction::Download, |flow| gathered.far_half(flow)) {
            flows.wind_down(role_of(End::Near, Direction::Download), self.when_stopped);
        }
    }

    fn tell_far(&self, direction: Direction) {
        let is_abort = self.when_stopped == Stop::Abort;
        self.line.say(Message::WindDown { trial: self.trials, direction, is_abort });
    }
}

/// Whether all of a trial can be wound down.
pub(super) fn is_possible(trial: &Trial) -> bool {
    trial.flows.iter().all(|flow| matches!(flow.load, Load::Connections(_)))
}

/// Whether those who open the connections of this direction have all ended them before their time;
/// who was done by then has a peer that is done as well.
fn have_stopped<'a>(
    trial: &Trial,
    direction: Direction,
    half_of: impl Fn(usize) -> Option<&'a Half>,
) -> bool {
    let mut flows = flows_towards(trial, direction).peekable();
    flows.peek().is_some() && flows.all(|flow| half_of(flow).is_some_and(Half::is_stopped))
}

fn flows_towards(trial: &Trial, direction: Direction) -> impl Iterator<Item = usize> {
    let flows = trial.flows.iter().enumerate();
    flows.filter(move |(_, flow)| flow.direction == direction).map(|(flow, _)| flow)
}

//! When a run will be over: its method is run in virtual time across a path like the one found so far, and
//! the trials that come there tell which are still to come here.

use std::time::Duration;

use fp_engine::os::clock;
use fp_method::burst::{self, Discovered};
use fp_method::rfc6349::{self, LimitKind};
use fp_model::{
    Abort, Direction, Evidence, FlowReport, FlowSpec, Layer, Load, Observation, Rate, Recorder,
    Testbed, Time, Trial,
};
use fp_net::path::{
    Aqm, LinkSpec, LossSpec, PathSpec, PoliceSpec, Probability, QueueLimit, QueueSpec,
};
use fp_net::sim::SimTestbed;
use fp_report::Work;

use super::measure::{Ends, Measured};
use crate::exit::Failure;

/// A line before anything is known of it, and the fastest that is simulated: a method takes the same time
/// at any rate, but for what it looks for.
const LINE: Rate = Rate::mbps(100);
/// A queue before anything is known of it holds what a line sends in this time,
const QUEUED: Duration = Duration::from_millis(100);
/// and a policer has a line of this many times its rate in front.
const IN_FRONT: u64 = 10;
/// No prediction may keep a run waiting for longer.
const PATIENCE: Duration = Duration::from_millis(500);

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    rtt: Duration,
    /// Download and upload.
    limits: [Option<Limit>; 2],
}

/// What limits a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    /// Layer 1 of a line, layer 2 of a policer.
    rate: Rate,
    kind: Kind,
    loss: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// What it holds.
    Policer { bytes: u64 },
    /// How long it delays when it is full.
    Queue { delay: Duration },
}

/// The trials of a run like this one.
#[derive(Debug)]
pub(super) struct Outlook {
    patience: Duration,
    known: Option<Known>,
    /// Their kinds, and the time from the start of each to the end of the run.
    trials: Vec<(String, Duration)>,
    /// Those that are over here.
    place: usize,
    /// When the run is over, from its start, where its plan alone tells.
    planned: Option<Duration>,
}

impl Default for Outlook {
    fn default() -> Self {
        Self { patience: PATIENCE, known: None, trials: Vec::new(), place: 0, planned: None }
    }
}

impl Outlook {
    /// Takes in what a run has found so far.
    pub(super) fn learn(
        &mut self,
        ends: &Ends,
        evidence: &[Evidence],
        work: &Work,
        method: &impl Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) {
        if let Work::Y1564 { plan, .. } = work {
            // Before what was planned the path's MTU and round trip are looked at.
            let is_probes = |flow: &FlowSpec| matches!(flow.load, Load::Probes(_));
            if let Some(last) = evidence.last().filter(|one| one.trial.flows.iter().all(is_probes))
            {
                let timing = &last.trial.timing;
                let began = last.observation.began.unwrap_or_default();
                self.planned = Some(began + timing.active() + plan.lasts());
            }
        }
        let Some(known) = Known::of(evidence, work) else { return };
        if self.known == Some(known) || self.patience.is_zero() {
            return;
        }
        self.known = Some(known);
        let mut bed = Hasty {
            bed: Recorder::new(SimTestbed::new(&known.path(), 1)),
            until: clock::now() + self.patience,
        };
        let outcome = method(ends, &mut bed);
        if !matches!(outcome, Ok(Measured { end: Ok(()), .. })) {
            // What took too long once takes too long again.
            (self.trials, self.patience) = (Vec::new(), Duration::ZERO);
            return;
        }
        let trials = bed.bed.into_parts().1;
        let begins = |one: &Evidence| one.observation.began.unwrap_or_default();
        let whole =
            trials.last().map_or(Duration::ZERO, |last| begins(last) + last.trial.timing.active());
        self.trials = trials
            .iter()
            .map(|one| (kind(&one.trial.name), whole.saturating_sub(begins(one))))
            .collect();
        // What has been run here stands there as well, as far as it was the same.
        self.place = 0;
        for one in evidence {
            self.from(&one.trial, Duration::ZERO);
        }
    }

    /// How long the run takes from the start of this trial on, its own time included, when it has taken
    /// this long until then.
    pub(super) fn from(&mut self, trial: &Trial, elapsed: Duration) -> Option<Duration> {
        let Some((_, whole)) = self.trials.first().cloned() else {
            return self.planned.map(|planned| planned.saturating_sub(elapsed));
        };
        let from = |place: usize| self.trials.get(place).map_or(Duration::ZERO, |(_, left)| *left);
        let Some(place) = self.next(&trial.name) else {
            // What nobody foresaw takes its own time, and then the rest.
            return Some(trial.timing.active() + from(self.place));
        };
        self.place = place + 1;
        // Hosts take their time between two trials, which no simulation does.
        let late = elapsed.saturating_sub(whole - from(place)) / self.place as u32;
        Some(from(place) + late * (self.trials.len() - place) as u32)
    }

    /// Which of the trials one of this name is: the next of its kind, unless it only repeats the last one.
    fn next(&self, name: &str) -> Option<usize> {
        let name = kind(name);
        let is = |place: usize| self.trials.get(place).is_some_and(|(known, _)| *known == name);
        let repeats = self.place > 0 && is(self.place - 1) && !is(self.place);
        if repeats { None } else { (self.place..self.trials.len()).find(|place| is(*place)) }
    }
}

/// The name of a trial without its numbers, which are the path's.
fn kind(name: &str) -> String {
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

impl Known {
    /// `None` before the round trip is known.
    fn of(evidence: &[Evidence], work: &Work) -> Option<Self> {
        let probes = evidence.iter().flat_map(|one| &one.observation.flows);
        let rtts = probes.filter_map(|flow| match flow {
            FlowReport::Probes(probes) => probes.rtt.map(|rtt| rtt.min),
            FlowReport::Frames(_)
            | FlowReport::Bursts(_)
            | FlowReport::Tcp(_)
            | FlowReport::Connections(_) => None,
        });
        let rtt = rtts.min()?;
        let limits = [Direction::Download, Direction::Upload].map(|towards| found(work, towards));
        Some(Self { rtt, limits })
    }

    /// A path like this one, but no faster than [`LINE`]. Of a direction that is not known yet, what is
    /// known of the other one.
    fn path(&self) -> PathSpec {
        let [down, up] = self.limits;
        let link = |limit: Option<Limit>| vec![link(limit.unwrap_or_default(), self.rtt / 2)];
        PathSpec {
            name: String::from("outlook"),
            description: String::new(),
            near_to_far: link(up.or(down)),
            far_to_near: link(down.or(up)),
            gateway: None,
        }
    }
}

impl Default for Limit {
    fn default() -> Self {
        Self { rate: LINE, kind: Kind::Queue { delay: QUEUED }, loss: 0.0 }
    }
}

fn link(limit: Limit, delay: Duration) -> LinkSpec {
    let rate = limit.rate.min(LINE).max(Rate::bps(100_000));
    let slower = rate.as_bps() as f64 / limit.rate.as_bps().max(1) as f64;
    let loss = Probability::new(limit.loss).filter(|_| limit.loss > 0.0).map(LossSpec::Random);
    let link = LinkSpec { delay, loss, ..LinkSpec::default() };
    match limit.kind {
        Kind::Policer { bytes } => {
            let bytes = (bytes as f64 * slower.min(1.0)) as u64;
            let police = Some(PoliceSpec::single_bucket(rate, bytes.max(2000)));
            LinkSpec { line_rate: Some(Rate::bps(IN_FRONT * rate.as_bps())), police, ..link }
        }
        Kind::Queue { delay } => {
            let limit = QueueLimit::Bytes(rate.bytes_in(delay).max(4000));
            let queue = Some(QueueSpec { limit, aqm: Aqm::Fifo });
            LinkSpec { line_rate: Some(rate), queue, ..link }
        }
    }
}

/// What a method has found to limit a direction, where it has looked for that.
fn found(work: &Work, towards: Direction) -> Option<Limit> {
    if let Work::Rfc6349 { report, .. } = work {
        let limit = report.steps.iter().find_map(|step| match step {
            rfc6349::Step::Bottleneck(limit) => (limit.direction == towards).then_some(limit),
            rfc6349::Step::PathMtu(_) | rfc6349::Step::BaselineRtt(_) | rfc6349::Step::Tcp(_) => {
                None
            }
        })?;
        let is_policer = limit.kind == LimitKind::Policer;
        let rate = limit.rate_at(if is_policer { Layer::L2 } else { Layer::L1 });
        let held = limit.burst_bytes.map(|burst| burst.estimate as u64);
        let kind = match is_policer {
            true => Kind::Policer { bytes: held.unwrap_or_else(|| rate.bytes_in(QUEUED)) },
            false => Kind::Queue { delay: limit.overload_delay.unwrap_or(QUEUED) },
        };
        return Some(Limit { rate, kind, loss: limit.base_loss });
    }
    let Work::Burst { report, .. } = work else { return None };
    let look = report.steps.iter().find_map(|step| match step {
        burst::Step::Discovery(look) => (look.direction == towards).then_some(look),
        _ => None,
    })?;
    let limit = |bps: f64, kind| Limit { rate: Rate::bps(bps as u64), kind, loss: 0.0 };
    Some(match &look.found {
        Discovered::Policer { cir_bps, cbs_bytes, .. } => {
            limit(cir_bps.estimate, Kind::Policer { bytes: cbs_bytes.estimate as u64 })
        }
        Discovered::Shaper { rate_bps, delay, .. } => {
            limit(rate_bps.estimate, Kind::Queue { delay: *delay })
        }
        Discovered::NoPolicer { .. } | Discovered::Unknown { .. } => {
            Limit { rate: look.line_l1, ..Limit::default() }
        }
    })
}

/// A simulation that gives up.
struct Hasty {
    bed: Recorder<SimTestbed>,
    until: Time,
}

impl Testbed for Hasty {
    fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        if clock::now() > self.until { Err(Abort::Stopped) } else { self.bed.run(trial) }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use fp_method::rfc6349::Plan;
    use fp_model::Family;

    use super::*;
    use crate::network;

    /// A run whose every trial is foretold before it begins, and what was foretold: how far the run was on
    /// the path, and how long it would still take.
    struct Foretold<'a> {
        bed: Recorder<SimTestbed>,
        outlook: Outlook,
        method: &'a dyn Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
        said: &'a RefCell<Vec<(Duration, Option<Duration>)>>,
        is_over: &'a Cell<Duration>,
    }

    impl Testbed for Foretold<'_> {
        fn run(&mut self, trial: &Trial) -> Result<Observation, Abort> {
            let left = self.outlook.from(trial, Duration::ZERO);
            let seen = self.bed.run(trial)?;
            let began = seen.began.unwrap();
            self.said.borrow_mut().push((began, left));
            self.is_over.set(began + trial.timing.active());
            let mut so_far = super::super::followed::SoFar(self.bed.evidence().iter());
            let measured = (self.method)(&Ends::unknown(), &mut so_far).unwrap();
            self.outlook.learn(&Ends::unknown(), self.bed.evidence(), &measured.work, &self.method);
            Ok(seen)
        }
    }

    /// From when one direction is known, the end of the whole run is known within a fifth: of paths that need
    /// no trial a second time, which chance decides.
    #[test]
    fn the_end_of_a_test_is_foretold_within_a_fifth_once_one_direction_is_known() {
        let method = |ends: &Ends, bed: &mut dyn Testbed| {
            let plan = Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
            let (report, end) = rfc6349::run(&plan, bed);
            Ok(Measured { work: Work::Rfc6349 { plan, report }, end })
        };
        for name in ["metro-40m-cbs64k", "metro-40m-cbs275k", "line-100m-10ms", "bufferbloat-20m"] {
            let (said, is_over) = (RefCell::default(), Cell::default());
            let bed = Recorder::new(SimTestbed::new(&network::load(name).unwrap(), 3));
            let patience = Duration::from_secs(60);
            let outlook = Outlook { patience, ..Outlook::default() };
            let mut run =
                Foretold { bed, outlook, method: &method, said: &said, is_over: &is_over };
            method(&Ends::unknown(), &mut run).unwrap();
            let whole = is_over.get().as_secs_f64();
            for (began, left) in
                said.borrow().iter().filter(|one| one.0.as_secs_f64() > 0.35 * whole)
            {
                let left = left.unwrap_or_else(|| panic!("{name}: {:?}", said.borrow()));
                let foretold = (*began + left).as_secs_f64();
                let off = foretold / whole - 1.0;
                assert!(off.abs() < 0.2, "{name}: {whole:.1} s, {foretold:.1} s at {began:?}");
            }
        }
    }
}

//! When a run will be over: its method is run in virtual time across a path like the one found so far, and
//! the trials that come there tell which are still to come here.

use std::time::Duration;

use fp_engine::os::clock;
use fp_method::burst::{self, Discovered};
use fp_method::rfc2544;
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
/// The same for a method that offers long trials of the shortest frames: the slowest Ethernet.
const SLOW_LINE: Rate = Rate::mbps(10);
/// A queue before anything is known of it holds what a line sends in this time,
const QUEUED: Duration = Duration::from_millis(100);
/// ten frames at the least,
const QUEUE_LEAST_BYTES: u64 = 15_000;
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
    /// The fastest line that is simulated.
    fastest: Rate,
}

/// What limits a direction.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Limit {
    /// Layer 1 of a line, layer 2 of a policer.
    rate: Rate,
    kind: Kind,
    loss: f64,
    /// The rate of the line in front; any that is fast enough where `None`.
    line: Option<Rate>,
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
        let Some(mut known) = Known::of(evidence, work) else { return };
        if let Some(before) = &self.known {
            known.keep(before);
        }
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
        let limits = [Direction::Download, Direction::Upload].map(|towards| match work {
            Work::Rfc6349 { report, .. } => of_bottleneck(&report.steps, towards),
            Work::Burst { plan, report } => of_bursts(plan, &report.steps, towards),
            Work::Rfc2544 { report, .. } => of_frames(&report.steps, towards, evidence),
            _ => None,
        });
        let fastest = if matches!(work, Work::Rfc2544 { .. }) { SLOW_LINE } else { LINE };
        Some(Self { rtt, limits, fastest })
    }

    /// Of a limit at the same rate what was known before: that more was seen to wait since then changes
    /// nothing of the trials that were prepared by it.
    fn keep(&mut self, before: &Self) {
        for (now, before) in self.limits.iter_mut().zip(before.limits) {
            if before.is_some() && now.map(|now| now.rate) == before.map(|before| before.rate) {
                *now = before;
            }
        }
    }

    /// A path like this one, but no faster than is simulated. Of a direction that is not known yet, what is
    /// known of the other one.
    fn path(&self) -> PathSpec {
        let [down, up] = self.limits;
        let link =
            |limit: Option<Limit>| vec![limit.unwrap_or_default().link(self.rtt / 2, self.fastest)];
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
        Self::of(LINE, Kind::Queue { delay: QUEUED })
    }
}

impl Limit {
    const fn of(rate: Rate, kind: Kind) -> Self {
        Self { rate, kind, loss: 0.0, line: None }
    }

    /// All rates in the same relation, where the line would be faster than `fastest`.
    fn link(&self, delay: Duration, fastest: Rate) -> LinkSpec {
        let line = self.line.unwrap_or(self.rate).as_bps().max(1);
        let slower = (fastest.as_bps() as f64 / line as f64).min(1.0);
        let rate = self.rate.scaled(slower).max(Rate::bps(100_000));
        let loss = Probability::new(self.loss).filter(|_| self.loss > 0.0).map(LossSpec::Random);
        let link = LinkSpec { delay, loss, ..LinkSpec::default() };
        match self.kind {
            Kind::Policer { bytes } => {
                let bytes = (bytes as f64 * slower) as u64;
                let police = Some(PoliceSpec::single_bucket(rate, bytes.max(2000)));
                let in_front = Rate::bps(IN_FRONT * rate.as_bps());
                let line_rate = self.line.map_or(in_front, |line| line.scaled(slower));
                LinkSpec { line_rate: Some(line_rate), police, ..link }
            }
            Kind::Queue { delay } => {
                let limit = QueueLimit::Bytes(rate.bytes_in(delay).max(4000));
                let queue = Some(QueueSpec { limit, aqm: Aqm::Fifo });
                LinkSpec { line_rate: Some(rate), queue, ..link }
            }
        }
    }
}

/// What the RFC 6349 test has found to limit a direction.
fn of_bottleneck(steps: &[rfc6349::Step], towards: Direction) -> Option<Limit> {
    let limit = steps.iter().find_map(|step| match step {
        rfc6349::Step::Bottleneck(limit) => (limit.direction == towards).then_some(limit),
        rfc6349::Step::PathMtu(_) | rfc6349::Step::BaselineRtt(_) | rfc6349::Step::Tcp(_) => None,
    })?;
    let is_policer = limit.kind == LimitKind::Policer;
    let rate = limit.rate_at(if is_policer { Layer::L2 } else { Layer::L1 });
    let held = limit.burst_bytes.map(|burst| burst.estimate as u64);
    let kind = match is_policer {
        true => Kind::Policer { bytes: held.unwrap_or_else(|| rate.bytes_in(QUEUED)) },
        false => Kind::Queue { delay: limit.overload_delay.unwrap_or(QUEUED) },
    };
    Some(Limit { loss: limit.base_loss, ..Limit::of(rate, kind) })
}

/// What discovery has found, or what is asked for.
fn of_bursts(plan: &burst::Plan, steps: &[burst::Step], towards: Direction) -> Option<Limit> {
    if let burst::Goal::Verify { cir, cbs_bytes } = plan.goal {
        return Some(Limit::of(cir.rate, Kind::Policer { bytes: cbs_bytes }));
    }
    let look = steps.iter().find_map(|step| match step {
        burst::Step::Discovery(look) => (look.direction == towards).then_some(look),
        _ => None,
    })?;
    let limit = |bps: f64, kind| Limit::of(Rate::bps(bps as u64), kind);
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

/// The line of a benchmark, and what passes where that is less than the line carries.
fn of_frames(steps: &[rfc2544::Step], towards: Direction, evidence: &[Evidence]) -> Option<Limit> {
    let line = steps.iter().find_map(|step| match step {
        rfc2544::Step::LineRate(line) if line.direction == towards => Some(line),
        _ => None,
    })?;
    let mut rows = steps.iter().filter_map(|step| match step {
        rfc2544::Step::Throughput(row) => Some(row),
        _ => None,
    });
    let passes = match rows.clone().find(|row| row.way.directions().contains(&towards)) {
        Some(row) => row.found.unwrap_or(line.reached).rate_l1,
        // A row of the other direction says more than the search for the line of this one.
        None if rows.next().is_some() => return None,
        None => line.reached.rate_l1,
    };
    // What frames were seen to wait, trials wait for.
    let waited = evidence.iter().flat_map(|one| one.trial.flows.iter().zip(&one.observation.flows));
    let waited = waited.filter_map(|(flow, report)| match report {
        FlowReport::Frames(report) if flow.direction == towards => report.delay,
        _ => None,
    });
    let delay = waited.map(|delay| delay.max.saturating_sub(delay.min)).max().unwrap_or(QUEUED);
    let is_queue = match line.line_l1 {
        Some(line) => passes >= line.scaled(0.99),
        None => delay > passes.time_for(QUEUE_LEAST_BYTES),
    };
    let kind = match is_queue {
        true => Kind::Queue { delay },
        false => Kind::Policer { bytes: passes.bytes_in(delay) },
    };
    // A line that is no Ethernet's is none when it is slower, either.
    let line = match kind {
        Kind::Queue { .. } => line.line_l1.or_else(|| Some(passes.scaled(1.5))),
        Kind::Policer { .. } => line.line_l1,
    };
    Some(Limit { line, ..Limit::of(passes, kind) })
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

    /// How far the trial at each share of a run was off with what it said of the run's whole time, with
    /// that share.
    fn errors(
        net: &PathSpec,
        method: &dyn Fn(&Ends, &mut dyn Testbed) -> Result<Measured, Failure>,
    ) -> Vec<(f64, f64)> {
        let (said, is_over) = (RefCell::default(), Cell::default());
        let bed = Recorder::new(SimTestbed::new(net, 3));
        let outlook = Outlook { patience: Duration::from_secs(60), ..Outlook::default() };
        let mut run = Foretold { bed, outlook, method, said: &said, is_over: &is_over };
        method(&Ends::unknown(), &mut run).unwrap();
        let whole = is_over.get().as_secs_f64();
        let share = |began: Duration| began.as_secs_f64() / whole;
        said.take()
            .iter()
            .map(|(began, left)| match left {
                Some(left) => (share(*began), share(*began + *left) - 1.0),
                None => (share(*began), f64::INFINITY),
            })
            .collect()
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
            let errors = errors(&network::load(name).unwrap(), &method);
            let off = errors.iter().find(|(share, off)| *share > 0.35 && off.abs() >= 0.2);
            assert!(off.is_none(), "{name}: {off:?}");
        }
    }

    /// The same of a benchmark, whose trials are as many as what passes is below the line.
    #[test]
    fn the_end_of_a_benchmark_is_foretold_within_a_fifth_once_one_direction_is_known() {
        let method = |ends: &Ends, bed: &mut dyn Testbed| {
            let plan = rfc2544::Plan::new(Family::Ipv4, ends.interface_mtu_bytes);
            let (report, end) = rfc2544::run(&plan, bed);
            Ok(Measured { work: Work::Rfc2544 { plan, report }, end })
        };
        for name in ["metro-40m-cbs64k", "line-100m-10ms", "bufferbloat-20m"] {
            let errors = errors(&network::load(name).unwrap(), &method);
            let off = errors.iter().find(|(share, off)| *share > 0.35 && off.abs() >= 0.2);
            assert!(off.is_none(), "{name}: {off:?}");
        }
    }
}

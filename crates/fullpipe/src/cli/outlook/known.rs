//! What a run knows of its path so far, or was told, and a path like that which is quick to simulate.

use std::time::Duration;

use fp_method::burst::{self, Discovered};
use fp_method::rfc2544;
use fp_method::rfc6349::{self, LimitKind};
use fp_method::rfc7640::{self, Device};
use fp_model::{Direction, Evidence, FlowReport, Layer, Rate};
use fp_net::meter::{BandwidthProfileSpec, Coupling};
use fp_net::path::{
    Aqm, ClassPoliceSpec, ClassShapeSpec, LinkSpec, LossSpec, PathSpec, PoliceSpec, Probability,
    QueueLimit, QueueSpec, ShapeSpec,
};
use fp_report::Work;

/// The fastest line that is simulated: a method takes the same time at any rate, but for what it looks for.
const LINE: Rate = Rate::mbps(100);
/// A line before anything is known of it, and the fastest for a method that offers long trials of the shortest
/// frames: the slowest Ethernet.
const SLOW_LINE: Rate = Rate::mbps(10);
/// No rate and no bucket or queue is simulated below these.
const LEAST_RATE: Rate = Rate::bps(100_000);
const LEAST_BYTES: u64 = 4000;
/// A queue before anything is known of it holds what a line sends in this time,
const QUEUED: Duration = Duration::from_millis(100);
/// ten frames at the least,
const QUEUE_LEAST_BYTES: u64 = 15_000;
/// and a policer has a line of this many times its rate in front.
const IN_FRONT: u64 = 10;

/// What is known of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Known {
    rtt: Duration,
    /// Download and upload.
    limits: [Option<Limit>; 2],
    /// Before anything is known of either.
    guess: Limit,
    /// What a plan says that both directions have, with the fastest device's rate.
    declared: Option<(LinkSpec, Rate)>,
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

impl Known {
    /// `None` before the round trip is known.
    pub(super) fn of(evidence: &[Evidence], work: &Work) -> Option<Self> {
        let probes = evidence.iter().flat_map(|one| &one.observation.flows);
        let rtts = probes.filter_map(|flow| match flow {
            FlowReport::Probes(probes) => probes.rtt.map(|rtt| rtt.min),
            FlowReport::Frames(_)
            | FlowReport::Bursts(_)
            | FlowReport::Tcp(_)
            | FlowReport::Connections(_) => None,
        });
        let rtt = rtts.min()?;
        let limits = [Direction::Download, Direction::Upload].map(|towards| {
            let tested = work.steps().and_then(|steps| of_bottleneck(steps, towards));
            let bursts = work.plan().zip(work.steps());
            let bursts = bursts.and_then(|(plan, steps)| of_bursts(plan, steps, towards));
            let frames = work.steps().and_then(|steps| of_frames(steps, towards, evidence));
            tested.or(bursts).or(frames)
        });
        let bytes = SLOW_LINE.bytes_in(QUEUED);
        let guess = match work.plan::<burst::Plan>() {
            Some(_) => Limit::of(SLOW_LINE, Kind::Policer { bytes }),
            None => Limit::default(),
        };
        let declared = work.plan().map(of_devices);
        let fastest = if work.plan::<rfc2544::Plan>().is_some() { SLOW_LINE } else { LINE };
        Some(Self { rtt, limits, guess, declared, fastest })
    }

    /// Of a limit at the same rate what was known before: that more was seen to wait since then changes
    /// nothing of the trials that were prepared by it.
    pub(super) fn keep(&mut self, before: &Self) {
        for (now, before) in self.limits.iter_mut().zip(before.limits) {
            if before.is_some() && now.map(|now| now.rate) == before.map(|before| before.rate) {
                *now = before;
            }
        }
    }

    /// A path like this one, but no faster than is simulated. Of a direction that is not known yet, what is
    /// known of the other one.
    pub(super) fn path(&self) -> PathSpec {
        let [down, up] = self.limits;
        let link = |limit: Option<Limit>| {
            let found = || limit.unwrap_or(self.guess).link();
            let (link, fastest) = self.declared.clone().unwrap_or_else(found);
            let slower = self.fastest.as_bps() as f64 / fastest.as_bps().max(1) as f64;
            vec![LinkSpec { delay: self.rtt / 2, ..slowed(link, slower.min(1.0)) }]
        };
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
        Self::of(SLOW_LINE, Kind::Queue { delay: QUEUED })
    }
}

impl Limit {
    const fn of(rate: Rate, kind: Kind) -> Self {
        Self { rate, kind, loss: 0.0, line: None }
    }

    /// With the rate by which it is compared to the fastest that is simulated.
    fn link(&self) -> (LinkSpec, Rate) {
        let loss = Probability::new(self.loss).filter(|_| self.loss > 0.0).map(LossSpec::Random);
        let link = LinkSpec { loss, ..LinkSpec::default() };
        let link = match self.kind {
            Kind::Policer { bytes } => {
                let line = self.line.unwrap_or(in_front(self.rate));
                let police = Some(PoliceSpec::single_bucket(self.rate, bytes));
                LinkSpec { line_rate: Some(line), police, ..link }
            }
            Kind::Queue { delay } => {
                let queue = Some(queue_of(self.rate.bytes_in(delay)));
                LinkSpec { line_rate: Some(self.rate), queue, ..link }
            }
        };
        (link, self.line.unwrap_or(self.rate))
    }
}

const fn in_front(rate: Rate) -> Rate {
    Rate::bps(IN_FRONT * rate.as_bps())
}

const fn queue_of(bytes: u64) -> QueueSpec {
    QueueSpec { limit: QueueLimit::Bytes(bytes), aqm: Aqm::Fifo }
}

/// All rates and sizes in the same relation.
fn slowed(mut link: LinkSpec, slower: f64) -> LinkSpec {
    let rate = |rate: &mut Rate| *rate = rate.scaled(slower).max(LEAST_RATE);
    let bytes = |bytes: &mut u64| *bytes = ((*bytes as f64 * slower) as u64).max(LEAST_BYTES);
    let queue = |queue: &mut QueueSpec| {
        if let QueueLimit::Bytes(limit) = &mut queue.limit {
            bytes(limit);
        }
    };
    link.line_rate.iter_mut().for_each(rate);
    link.queue.iter_mut().for_each(queue);
    let of_classes = link.police_classes.iter_mut().map(|class| &mut class.police);
    for police in link.police.iter_mut().chain(of_classes) {
        rate(&mut police.profile.cir_l2);
        bytes(&mut police.profile.cbs_bytes);
        if police.profile.ebs_bytes > 0 {
            police.profile.eir_l2 = police.profile.eir_l2.scaled(slower);
            bytes(&mut police.profile.ebs_bytes);
        }
    }
    let of_classes = link.shape_classes.iter_mut().map(|class| &mut class.shape);
    for shape in link.shape.iter_mut().chain(of_classes) {
        rate(&mut shape.rate);
        bytes(&mut shape.burst_bytes);
        queue(&mut shape.queue);
    }
    link
}

/// The devices that a plan describes, one behind the other. A scheduler's classes take as long as one
/// class does. With the rate by which it is compared to the fastest line that is simulated.
fn of_devices(plan: &rfc7640::Plan) -> (LinkSpec, Rate) {
    let mut link = LinkSpec {
        police: plan.policer.as_ref().map(police_of),
        shape: plan.shaper.as_ref().map(shape_of),
        ..LinkSpec::default()
    };
    for class in &plan.capacity {
        let dscp = vec![class.dscp];
        match &class.device {
            Device::Policer(policer) => {
                link.police_classes.push(ClassPoliceSpec { dscp, police: police_of(policer) });
            }
            Device::Shaper(shaper) => {
                link.shape_classes.push(ClassShapeSpec { dscp, shape: shape_of(shaper) });
            }
        }
    }
    link.line_rate = plan.queue.as_ref().map(|queue| queue.bandwidth.rate);
    link.queue = plan.queue.as_ref().map(|queue| queue_of(queue.queue_bytes));
    let policed = link.police.iter().chain(link.police_classes.iter().map(|class| &class.police));
    let shaped = link.shape.iter().chain(link.shape_classes.iter().map(|class| &class.shape));
    let rates = policed.map(|police| police.profile.cir_l2).chain(shaped.map(|shape| shape.rate));
    let fastest = rates.chain(link.line_rate).max().unwrap_or(LINE);
    link.line_rate = link.line_rate.or(Some(in_front(fastest)));
    (link, fastest)
}

fn police_of(plan: &rfc7640::PolicerPlan) -> PoliceSpec {
    let mut police = PoliceSpec::single_bucket(plan.cir_l2, plan.cbs_bytes);
    let coupling = if plan.eir_l2 == Rate::ZERO { Coupling::Coupled } else { Coupling::Uncoupled };
    police.profile = BandwidthProfileSpec {
        eir_l2: plan.eir_l2,
        ebs_bytes: plan.ebs_bytes,
        coupling,
        ..police.profile
    };
    police
}

const fn shape_of(plan: &rfc7640::ShaperPlan) -> ShapeSpec {
    let queue = queue_of(plan.queue_bytes);
    ShapeSpec { rate: plan.rate_l2, burst_bytes: plan.at_once_bytes(), queue }
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
    Some(Limit { loss: limit.lost_at_any_rate(), ..Limit::of(rate, kind) })
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
            Limit { rate: look.line_l1().unwrap_or_default(), ..Limit::default() }
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

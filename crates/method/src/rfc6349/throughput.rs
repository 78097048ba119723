//! Step 3 of RFC 6349: window walk and TCP throughput, with the three metrics.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, Direction, Emulation, FlowReport, FlowSpec, Load, Pace, Sender, TcpEngine, TcpLoad,
    Testbed as _, Timing, Trial,
};

use super::standing::{Standing, asked_percent, needed_percent, standing};
use super::tcp_steps::steps_of;
use super::windows::{Fill, Path, WINDOW_FRACTION_MAX, queues};
use super::{Late, Plan, Role, Run, Step, TcpStep, Thresholds, Windows, settle};
use crate::tester::{repeated, reports};

/// At least, and at least this many round trips: what a window carries shows in a few.
const WALK_STEADY: Duration = Duration::from_millis(500);
const WALK_ROUND_TRIPS: u32 = 10;
/// At least: 30 slots, of which batches of one to three say how far they lie apart.
const THROUGHPUT_STEADY: Duration = Duration::from_millis(1500);
/// Of windows that arrive in one piece each, either edge of a trial may cut off one: after this many
/// round trips that is half of the 5 % which the default threshold leaves (1.96 √(2/12) / 0.025).
const THROUGHPUT_ROUND_TRIPS: u32 = 32;
/// What is still open after so long stays so: RFC 6349 section 5 asks for no more.
const LONGEST_STEADY: Duration = Duration::from_secs(30);
/// A trial that is run again is so much longer that all before it cost a third of it.
const LONGER: u32 = 4;
/// A queue is worth a trial of its own when it holds a quarter of the windows.
const DEEP_QUEUE_FRACTION: f64 = 1.25;
/// A trial that an emulated network may have spoilt is repeated so often at most.
const LATE_REPEATS_MAX: u32 = 2;

/// What one trial offers.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    /// A trial may be the last of the walk and a throughput trial at once.
    pub(super) roles: &'static [Role],
    pub(super) sender: Sender,
    /// Of the windows that fill the path.
    pub(super) fraction: f64,
    pub(super) fills: Vec<Fill>,
    steady: Duration,
    /// The round trip to reckon with before the trial is steady.
    loaded_rtt: Duration,
}

/// Runs 1 … n connections of one window in each direction: throughput must grow with the windows.
/// All n are what the throughput step runs too, so that trial stands for both.
pub(super) fn walk_the_window(run: &mut Run<'_>, path: &Path<'_>) -> Result<(), Abort> {
    for direction in [Direction::Download, Direction::Upload] {
        let full = path.fill(run.plan, direction);
        for connections in walk_steps(full.connections) {
            let whole = connections == full.connections;
            let offer = Offer {
                roles: if whole { &[Role::Walk, Role::Throughput] } else { &[Role::Walk] },
                sender: run.plan.senders.list()[0],
                fraction: f64::from(connections) / f64::from(full.connections),
                fills: vec![Fill { connections, ..full }],
                steady: if whole { throughput_steady(path) } else { walk_steady(path) },
                loaded_rtt: path.baseline_rtt(),
            };
            measure(run, path, offer)?;
        }
    }
    Ok(())
}

fn walk_steady(path: &Path<'_>) -> Duration {
    WALK_STEADY.max(path.baseline_rtt() * WALK_ROUND_TRIPS)
}

fn throughput_steady(path: &Path<'_>) -> Duration {
    THROUGHPUT_STEADY.max(path.baseline_rtt() * THROUGHPUT_ROUND_TRIPS)
}

/// A quarter, half, three quarters and all of the connections.
fn walk_steps(connections: u32) -> Vec<u32> {
    let quarters = (1..=4).map(|quarter| (connections * quarter).div_ceil(4));
    let mut steps: Vec<u32> = quarters.collect();
    steps.dedup();
    steps
}

//= rfc6349 3.3
/// Both directions at once, then each alone with the other senders that were asked for, then with
/// windows that fill a queue, where the overload has shown one.
pub(super) fn throughput(run: &mut Run<'_>, path: &Path<'_>) -> Result<(), Abort> {
    let directions = [Direction::Download, Direction::Upload];
    let full = directions.map(|direction| path.fill(run.plan, direction));
    let senders = run.plan.senders.list();
    both_at_once(run, path, full)?;
    for &sender in &senders[1..] {
        for fill in full {
            alone(run, path, sender, fill)?;
        }
    }
    full.into_iter().try_for_each(|fill| fill_the_queue(run, path, fill))
}

fn alone(run: &mut Run<'_>, path: &Path<'_>, sender: Sender, full: Fill) -> Result<(), Abort> {
    let fill = match sender {
        Sender::Bulk | Sender::MicroBurst(_) | Sender::Transfer { .. } => full,
        Sender::Burst => path.burst(run.plan, full.direction),
    };
    let offer = Offer {
        roles: &[Role::Throughput],
        sender,
        fraction: fill.total_bytes() / full.total_bytes(),
        fills: vec![fill],
        steady: throughput_steady(path),
        loaded_rtt: path.baseline_rtt(),
    };
    measure(run, path, offer)
}

fn both_at_once(run: &mut Run<'_>, path: &Path<'_>, full: [Fill; 2]) -> Result<(), Abort> {
    let rtt = path.both_rtt(run.plan);
    let fills = path.both(run.plan, rtt);
    let fractions = [0, 1].map(|place| fills[place].total_bytes() / full[place].total_bytes());
    let offer = Offer {
        roles: &[Role::Throughput],
        sender: run.plan.senders.list()[0],
        fraction: fractions[0].max(fractions[1]),
        fills: fills.into(),
        steady: throughput_steady(path),
        loaded_rtt: rtt,
    };
    measure(run, path, offer)
}

/// Whether the windows are the tester's choice.
const fn has_own_windows(plan: &Plan) -> bool {
    matches!(plan.windows, Windows::Connections { .. })
}

/// Windows of the bandwidth-delay product leave a queue empty; those of a real transfer may not.
fn fill_the_queue(run: &mut Run<'_>, path: &Path<'_>, full: Fill) -> Result<(), Abort> {
    let fraction = path.deep_fraction(full);
    if fraction < DEEP_QUEUE_FRACTION || !has_own_windows(run.plan) {
        return Ok(());
    }
    let offer = Offer {
        roles: &[Role::Throughput],
        sender: Sender::Bulk,
        fraction,
        fills: vec![full.widened(fraction)],
        steady: throughput_steady(path),
        loaded_rtt: path.baseline_rtt().mul_f64(fraction),
    };
    measure(run, path, offer)
}

/// Runs a trial, again where it leaves open what it is asked, and adds a step for each of its
/// directions.
fn measure(run: &mut Run<'_>, path: &Path<'_>, mut offer: Offer) -> Result<(), Abort> {
    let (mut steps, mut late) = attempt(run, path, &offer)?;
    while !has_failed(run, path)
        && let Some(next) = next(run.plan, path, &offer, &steps)
    {
        let again = attempt(run, path, &next)?;
        // Larger windows that carry less were too large.
        if next.steady == offer.steady && carries(&again.0) < carries(&steps) {
            break;
        }
        offer = next;
        (steps, late) = again;
    }
    if let Some(late) = late {
        run.health.add_late(late);
    }
    run.report.steps.extend(steps.into_iter().map(Step::Tcp));
    Ok(())
}

/// What is open in one trial decides nothing any more where another one has failed.
fn has_failed(run: &Run<'_>, path: &Path<'_>) -> bool {
    run.plan.decides.as_ref().is_some_and(|thresholds| {
        run.report.steps.iter().any(|step| match step {
            Step::Tcp(tcp) if tcp.role == Role::Throughput => {
                let is_judged = path.limits.of(tcp.direction).is_known();
                is_judged && standing(thresholds, tcp) == Standing::Missed
            }
            Step::Tcp(_) | Step::PathMtu(_) | Step::BaselineRtt(_) | Step::Bottleneck(_) => false,
        })
    })
}

fn carries(steps: &[TcpStep]) -> f64 {
    let part = |step: &TcpStep| step.part_of_ideal(step.throughput_l4);
    steps.iter().map(part).fold(f64::INFINITY, f64::min)
}

/// One trial; what an emulated network may have spoilt is repeated.
fn attempt(
    run: &mut Run<'_>,
    path: &Path<'_>,
    offer: &Offer,
) -> Result<(Vec<TcpStep>, Option<Late>), Abort> {
    let trial = trial(run.plan, path, offer);
    let offer = |_| {
        let seen = run.run(&trial)?;
        let steps = steps_of(run.plan, path, offer, &reports(&trial, &seen, FlowReport::tcp)?);
        let late = seen.emulation.and_then(|emulation| {
            steps.iter().find_map(|step| explained_by(emulation, run.plan, path, step))
        });
        Ok((steps, late))
    };
    repeated(LATE_REPEATS_MAX, offer, |(_, late)| late.is_some())
}

/// What decides more than the trial before did: larger windows where nothing was lost, or more time.
fn next(plan: &Plan, path: &Path<'_>, offer: &Offer, steps: &[TcpStep]) -> Option<Offer> {
    let thresholds = plan.decides.as_ref()?;
    let open: Vec<&TcpStep> = steps
        .iter()
        .filter(|step| step.role == Role::Throughput)
        .filter(|step| path.limits.of(step.direction).is_known())
        .filter(|step| standing(thresholds, step) != Standing::Met)
        // Neither longer trials nor larger windows carry more than the bottleneck if more was sold.
        .filter(|step| needed_percent(thresholds, step) <= 100.0)
        .collect();
    if open.is_empty() {
        return None;
    }
    // What the windows leave open, time does not decide.
    let is_undecided = |step: &&TcpStep| {
        let asked = asked_percent(thresholds, step) / 100.0;
        standing(thresholds, step) == Standing::Undecided
            && step.part_of_ideal(step.judged.windows_l4) >= asked
    };
    wider(plan, path, thresholds, offer, &open).or_else(|| {
        open.iter().any(is_undecided).then(|| longer(plan, thresholds, offer, &open)).flatten()
    })
}

fn is_short(thresholds: &Thresholds, step: &TcpStep) -> bool {
    step.share_percent() < needed_percent(thresholds, step)
}

/// With larger windows. A line's queue takes twice as much; behind a policer, which has none, as much
/// more as was missing.
fn wider(
    plan: &Plan,
    path: &Path<'_>,
    thresholds: &Thresholds,
    offer: &Offer,
    open: &[&TcpStep],
) -> Option<Offer> {
    let is_lossy = |step: &&TcpStep| step.retransmitted_bytes != Some(0);
    if !has_own_windows(plan)
        || offer.fills.iter().any(|fill| fill.pacing != plan.pacing)
        || offer.sender != Sender::Bulk
        || !open.iter().any(|step| is_short(thresholds, step))
        || open.iter().any(is_lossy)
    {
        return None;
    }
    let missing = open.iter().map(|step| 100.0 / step.share_percent().max(1.0));
    let missing = missing.fold(1.0, f64::max).min(2.0);
    let is_line = offer.fills.iter().any(|fill| queues(path.limits.of(fill.direction)));
    let by = if is_line { 2.0 } else { missing };
    if offer.fraction * by > WINDOW_FRACTION_MAX {
        return None;
    }
    let together = path.acknowledged_together(plan);
    let wider = |fill: &Fill| {
        let widened = fill.widened(by);
        Fill { window_bytes: widened.window_bytes.next_multiple_of(together), ..*fill }
    };
    Some(Offer {
        fraction: offer.fraction * by,
        fills: offer.fills.iter().map(wider).collect(),
        loaded_rtt: offer.loaded_rtt.mul_f64(by),
        ..offer.clone()
    })
}

/// For a longer time: the spread of a mean shrinks with the root of it, and a window that loses
/// segments has to come back.
fn longer(plan: &Plan, thresholds: &Thresholds, offer: &Offer, open: &[&TcpStep]) -> Option<Offer> {
    if plan.trial.is_some() || offer.steady >= LONGEST_STEADY {
        return None;
    }
    let needed = open.iter().map(|step| {
        let asked = needed_percent(thresholds, step);
        let [least, most] = step.judged.share_percent_bounds.unwrap_or([0.0, 100.0]);
        let off = (most - least) / 2.0 / (step.share_percent() - asked).abs().max(0.01);
        offer.steady.mul_f64((off * off).min(100.0)).max(step.judged.settles_in)
    });
    let needed = needed.max().unwrap_or_default().max(offer.steady * LONGER);
    Some(Offer { steady: needed.min(LONGEST_STEADY), ..offer.clone() })
}

/// Whether what is missing to the throughput asked for may be the lateness of an emulated network.
///
/// A window is carried once in a round trip, which is two crossings longer: were all packets as late
/// as the latest of a hundred, so much would be missing.
fn explained_by(
    emulation: Emulation,
    plan: &Plan,
    path: &Path<'_>,
    step: &TcpStep,
) -> Option<Late> {
    if step.role != Role::Throughput {
        return None;
    }
    let asked = needed_percent(&plan.thresholds, step);
    let missing = (asked - step.share_percent()) / 100.0;
    let rtt = step.rtt_mean.unwrap_or(path.baseline_rtt()).max(path.baseline_rtt());
    let limit = rtt.mul_f64(missing.max(0.0) / 2.0);
    (missing > 0.0 && emulation.late_p99 > limit).then_some(Late { p99: emulation.late_p99, limit })
}

fn trial(plan: &Plan, path: &Path<'_>, offer: &Offer) -> Trial {
    let flow = |fill: &Fill| {
        let load = TcpLoad {
            connections: fill.connections,
            window_bytes: fill.window_bytes,
            mss_bytes: fill.mss_bytes,
            sender: offer.sender,
            congestion_control: plan.congestion_control,
            pacing: fill.pacing,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        FlowSpec::new(fill.direction, plan.family, plan.dscp, Load::Tcp(load))
    };
    let timing = Timing {
        // Slow start doubles: ten round trips open any window below 15 MB and repair a loss.
        warm_up: (offer.loaded_rtt * 10).max(Duration::from_millis(500)),
        steady: plan.trial.unwrap_or_else(|| whole_round_trips(offer.steady, path.baseline_rtt())),
        settle: settle(offer.loaded_rtt),
    };
    Trial { name: trial_name(offer), flows: offer.fills.iter().map(flow).collect(), timing }
}

/// A window comes once in a round trip: part of one would count a window too many or too few.
fn whole_round_trips(time: Duration, rtt: Duration) -> Duration {
    let trips = time.as_nanos().div_ceil(rtt.as_nanos().max(1));
    rtt * u32::try_from(trips).unwrap_or(u32::MAX)
}

fn trial_name(offer: &Offer) -> String {
    let role = match offer.roles {
        [Role::Walk] => "window walk",
        _ => "TCP throughput",
    };
    let direction = match offer.fills.as_slice() {
        [fill] => format!("{}", fill.direction),
        _ => String::from("bidirectional"),
    };
    format!("{role}, {direction}, {:.0} % of the window, {}", 100.0 * offer.fraction, offer.sender)
}

#[cfg(test)]
mod tests;

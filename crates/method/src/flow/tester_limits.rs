//! How far the two ends themselves, and the host of an emulated network, can have held flows back.

use core::time::Duration;

use fp_model::{Direction, FlowReport, FramesReport, Load, Observation, Pace, Rate};

use super::plan::{Plan, PlannedFlow};
use super::steps::{FlowStep, Part, Report, Step, Transport};
use crate::stall::{self, Connections};

/// What of the tester's trouble can have changed a figure.
#[derive(Debug)]
pub(super) struct TesterLimits {
    /// The longest stall, as far as it can have changed what a flow carried or lost.
    pub(super) stall: Duration,
    pub(super) stall_max: Duration,
    /// Share of a processor, 0 to 1; none where frames are sent, whose senders wait by looking.
    pub(super) busiest_thread: f64,
    /// How late an emulated network let packets go, and up to when that changes no figure; `None`
    /// where what was carried does not depend on it.
    pub(super) lateness: Option<(Duration, Duration)>,
}

impl TesterLimits {
    /// A thread that uses more of a processor has none left to wait in.
    pub(super) const BUSY_PERCENT_MAX: f64 = 95.0;

    pub(super) fn of(plan: &Plan, report: &Report, seen: &Observation) -> Self {
        let planned = plan.flows.iter().zip(steps(report)).zip(&seen.flows);
        let is_full = |step: &FlowStep| is_full(plan, report, step.direction);
        let exposed =
            planned.map(|((planned, step), seen)| exposed(planned, step, seen, is_full(step)));
        let exposed = exposed.max().unwrap_or_default();
        let stall_max = stall::longest_unnoticed(plan.timing.steady);
        let is_all_tcp = seen.flows.iter().all(|flow| matches!(flow, FlowReport::Tcp(_)));
        Self {
            stall: seen.longest_stall().min(exposed),
            stall_max,
            busiest_thread: if is_all_tcp { seen.busiest_thread() } else { 0.0 },
            lateness: lateness(plan, report, seen),
        }
    }
}

/// The flows of the plan, which come before their sums.
fn steps(report: &Report) -> impl Iterator<Item = &FlowStep> {
    report.steps.iter().filter_map(|step| match step {
        Step::Flow(flow) if flow.part == Part::Flow => Some(flow),
        Step::Path(_) | Step::Flow(_) | Step::Profile(_) => None,
    })
}

/// For how long a flow depended on an end that runs.
fn exposed(
    planned: &PlannedFlow,
    step: &FlowStep,
    seen: &FlowReport,
    is_line_full: bool,
) -> Duration {
    match seen {
        FlowReport::Frames(report) => exposed_frames(report),
        FlowReport::Tcp(_) if carried_its_pace(planned, step) => Duration::ZERO,
        FlowReport::Tcp(report) => {
            let (lasts, rate_l4) = (step.received.lasts, step.received.rates.l4);
            Connections { each: &report.connections, lasts, rate_l4 }.exposed(is_line_full)
        }
        FlowReport::Probes(_) | FlowReport::Bursts(_) | FlowReport::Connections(_) => {
            Duration::ZERO
        }
    }
}

/// What was due while its sender stood still leaves all at once afterwards, and a queue or a policer
/// may drop of that: where nothing was lost, it did not. What was not sent is another check.
fn exposed_frames(report: &FramesReport) -> Duration {
    if report.received_frames < report.sent_frames {
        report.gaps.lateness.max
    } else {
        Duration::ZERO
    }
}

/// Nothing that an end did kept it from what it was to carry.
fn carried_its_pace(planned: &PlannedFlow, step: &FlowStep) -> bool {
    let Load::Tcp(load) = &planned.spec.load else { return false };
    let Pace::Constant { rate } = load.pace else { return false };
    let all = Rate::bps(rate.as_bps().saturating_mul(u64::from(load.connections)));
    step.received.rates.l4 >= all.scaled(1.0 - stall::SHARE_MAX)
}

/// A packet that an emulated network lets go late makes the round trip of its connection longer, twice
/// if its acknowledgement is late as well, and what windows carry less by the same share. Where the line
/// is full, or a connection carried what it was to, the round trip decides nothing; nor is there
/// anything to fall short of where the network has no line.
fn lateness(plan: &Plan, report: &Report, seen: &Observation) -> Option<(Duration, Duration)> {
    let late = seen.emulation?.late_p99;
    let planned = plan.flows.iter().zip(steps(report));
    let decides = planned.filter(|(planned, step)| {
        let is_short =
            plan.lines.towards(step.direction).is_some() && !is_full(plan, report, step.direction);
        let is_free = is_short && !carried_its_pace(planned, step) && !is_bridged(step, late);
        step.transport == Some(Transport::Tcp) && is_free
    });
    let shortest = decides.filter_map(|(_, step)| step.rtt_mean).min()?;
    Some((late, shortest.mul_f64(stall::WHOLE_SEGMENTS / 2.0)))
}

/// A queue that holds more than is late keeps its line busy meanwhile. Of what a round trip has grown by,
/// twice the lateness is no queue, and as much again has to be one.
fn is_bridged(step: &FlowStep, late: Duration) -> bool {
    let grown = step.rtt_mean.zip(step.rtt_min).map(|(mean, least)| mean.saturating_sub(least));
    grown.is_some_and(|grown| grown > late * 4)
}

/// Whether all flows of a direction fill its line, as far as that is known.
fn is_full(plan: &Plan, report: &Report, direction: Direction) -> bool {
    let mine = steps(report).filter(|step| step.direction == direction);
    let all = Rate::bps(mine.map(|step| step.received.rates.l1.as_bps()).sum());
    plan.lines
        .towards(direction)
        .is_some_and(|line| all >= line.scaled(1.0 - stall::WHOLE_SEGMENTS))
}

//! What a trial says of each service that took part in it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, BurstsLoad, Direction, FlowReport, FlowSpec, FramesReport, Load, Observation, Pace, Rate,
};

use super::offer::{self, Offer, Part, Role};
use super::plan::{Frames, Plan, Service, Tcp, Traffic};
use super::steps::{Figures, Measured, Offered, ServiceStep, Tester};
use super::{figures, judge};
use crate::stall::{self, Connections};
use crate::tester::{LOST_PERCENT_MAX, mismatch};
use crate::verdict::Status;

/// What is known of a trial before it is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) offer: &'a Offer,
    pub(super) offered: Offered,
    pub(super) margin_percent: f64,
    pub(super) rtt: Duration,
}

/// A step for each direction of each service, in the order of the trial's flows.
pub(super) fn of_each_service(
    context: &Context<'_>,
    seen: &Observation,
) -> Result<Vec<ServiceStep>, Abort> {
    let flows = context.offer.trial.flows.iter().zip(&seen.flows);
    let parts: Vec<_> = context.offer.parts.iter().zip(flows).collect();
    let judged = parts.iter().filter(|(part, _)| part.role == Role::Judged);
    let step = |(part, (flow, report)): &(&Part, (&FlowSpec, &FlowReport))| {
        let beside = parts.iter().find(|(other, _)| {
            (other.service, other.direction) == (part.service, part.direction)
                && other.role == Role::Yellow
        });
        let yellow = beside.map(|(_, flow)| *flow);
        let service = &context.plan.services[part.service];
        let tester = tester(part.direction, seen);
        match &service.traffic {
            Traffic::Frames(frames) => {
                let flows = (*flow, *report, yellow);
                of_frames(context, (service, frames), flows, tester)
            }
            Traffic::Tcp(tcp) => of_tcp(context, (service, *tcp), (flow, report), tester),
        }
    };
    judged.map(step).collect()
}

type Flow<'a> = (&'a FlowSpec, &'a FlowReport);

fn of_frames(
    context: &Context<'_>,
    (service, frames): (&Service, &Frames),
    (flow, report, yellow): (&FlowSpec, &FlowReport, Option<Flow<'_>>),
    tester: Tester,
) -> Result<ServiceStep, Abort> {
    let judged = seen_of(context, frames, (flow, report))?;
    let yellow = yellow.map(|yellow| seen_of(context, frames, yellow)).transpose()?;
    let offered_l2 = [Some(&judged), yellow.as_ref()].into_iter().flatten();
    let offered_l2 = Rate::bps(offered_l2.map(|seen| seen.offered_l2.as_bps()).sum());
    let unsent = [Some(&judged), yellow.as_ref()].into_iter().flatten();
    let unsent_percent = unsent.map(|seen| seen.unsent_percent).fold(0.0, f64::max);
    let tester = Tester { unsent_percent, ..tester };
    let (judged, yellow) = (judged.figures, yellow.map(|seen| seen.figures));
    let limits = judge::Limits {
        offered: context.offered,
        margin_percent: context.margin_percent,
        steady: context.offer.trial.timing.steady,
        sent_dscp: flow.dscp,
    };
    let shortfalls = judge::frames((service, frames), &limits, &judged, yellow.as_ref());
    let explained = |shortfall| judge::is_explained(shortfall, &tester, &judged);
    let spoilt = unsent_percent > LOST_PERCENT_MAX
        || (!shortfalls.is_empty() && shortfalls.iter().all(explained));
    let status = match (spoilt, shortfalls.is_empty()) {
        (true, _) => Status::Invalid,
        (false, true) => Status::Pass,
        (false, false) => Status::Fail,
    };
    Ok(ServiceStep {
        service: service.name.clone(),
        direction: flow.direction,
        offered: context.offered,
        offered_l2,
        measured: Measured::Frames { judged, yellow: yellow.map(Box::new) },
        tester,
        tries: 1,
        status,
        shortfalls,
    })
}

/// What the two ends say against themselves, of frames in this direction.
fn tester(direction: Direction, seen: &Observation) -> Tester {
    let receiver = match direction {
        Direction::Download => &seen.near,
        Direction::Upload => &seen.far,
    };
    Tester {
        unsent_percent: 0.0,
        dropped_packets: receiver.dropped_packets,
        longest_stall: seen.longest_stall(),
    }
}

/// One flow of frames or bursts.
struct Seen {
    figures: Figures,
    offered_l2: Rate,
    unsent_percent: f64,
}

fn seen_of(
    context: &Context<'_>,
    frames: &Frames,
    (flow, report): Flow<'_>,
) -> Result<Seen, Abort> {
    match (&flow.load, report) {
        (Load::Frames(load), FlowReport::Frames(report)) => Ok(Seen {
            figures: figures::of_stream(report, &frames.sizes, context.offer.trial.timing.steady),
            offered_l2: match load.pace {
                Pace::Constant { rate } => rate,
                Pace::Unlimited
                | Pace::Steps { .. }
                | Pace::Poisson { .. }
                | Pace::OnOff { .. } => Rate::ZERO,
            },
            unsent_percent: unsent_of_stream(report),
        }),
        (Load::Bursts(load), FlowReport::Bursts(report)) => {
            let sent = report.bursts.iter().map(|burst| u64::from(burst.sent_frames)).sum();
            let planned = u64::from(report.planned_bursts) * u64::from(load.frames_per_burst);
            Ok(Seen {
                figures: figures::of_bursts(report, load.frame_bytes, load.period),
                offered_l2: rate_of_bursts(load),
                unsent_percent: unsent_percent(planned, sent),
            })
        }
        _ => Err(mismatch(&context.offer.trial)),
    }
}

fn rate_of_bursts(load: &BurstsLoad) -> Rate {
    Rate::over(u64::from(load.frame_bytes) * u64::from(load.frames_per_burst), load.period)
}

fn unsent_of_stream(report: &FramesReport) -> f64 {
    unsent_percent(report.planned_frames, report.sent_frames)
}

fn unsent_percent(planned: u64, sent: u64) -> f64 {
    100.0 * planned.saturating_sub(sent) as f64 / planned.max(1) as f64
}

fn of_tcp(
    context: &Context<'_>,
    (service, tcp): (&Service, Tcp),
    (flow, report): Flow<'_>,
    tester: Tester,
) -> Result<ServiceStep, Abort> {
    let FlowReport::Tcp(report) = report else { return Err(mismatch(&context.offer.trial)) };
    let window_bytes = offer::window_bytes(context.plan, service, tcp, context.rtt);
    let ideal_l4 = offer::payload_of_cir(context.plan, service);
    let steady = context.offer.trial.timing.steady;
    let measured = figures::of_tcp(report, window_bytes, ideal_l4, steady);
    let shortfalls = judge::tcp(tcp, &measured);
    let (each, rate_l4) = (report.connections.as_slice(), measured.throughput_l4);
    let exposed = Connections { each, lasts: steady, rate_l4 }.exposed(false);
    let longest_stall = tester.longest_stall.min(exposed);
    let status = match shortfalls.is_empty() {
        true => Status::Pass,
        false if longest_stall > stall::longest_unnoticed(steady) => Status::Invalid,
        false => Status::Fail,
    };
    Ok(ServiceStep {
        service: service.name.clone(),
        direction: flow.direction,
        offered: context.offered,
        offered_l2: service.cir_l2,
        measured: Measured::Tcp(measured),
        tester: Tester { longest_stall, ..tester },
        tries: 1,
        status,
        shortfalls,
    })
}

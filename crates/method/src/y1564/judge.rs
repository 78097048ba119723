//! Whether a service met its acceptance criteria in a step.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Dscp, Rate};

use super::plan::{Colours, Frames, Service, Tcp};
use super::shortfall::Shortfall;
use super::steps::{Figures, Offered, TcpFigures, Tester};

/// A rate is what came through between two instants: at each of them the policer may have had
/// tokens left that did not make a frame.
const FRAMES_AT_THE_ENDS: u64 = 2;

/// What decides which criteria count in a step, and how closely.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) offered: Offered,
    pub(super) margin_percent: f64,
    pub(super) steady: Duration,
    pub(super) sent_dscp: Dscp,
}

pub(super) fn frames(
    (service, frames): (&Service, &Frames),
    limits: &Limits,
    judged: &Figures,
    yellow: Option<&Figures>,
) -> Vec<Shortfall> {
    if judged.received_frames == 0 {
        return Vec::from([Shortfall::NothingArrived]);
    }
    match (limits.offered, frames.colours) {
        (Offered::Cir { .. }, _) => {
            let mut shortfalls = criteria(frames, judged);
            shortfalls.extend(remarked(service, limits.sent_dscp, judged));
            shortfalls
        }
        (Offered::Cbs | Offered::Ebs, _) => loss(frames, judged).into_iter().collect(),
        (Offered::Eir, Colours::Aware { .. }) => criteria(frames, judged),
        (Offered::Eir, Colours::Blind) => rate((service, frames), limits, judged, None),
        (Offered::Policing, Colours::Aware { .. }) if yellow.is_some() => {
            let mut shortfalls = criteria(frames, judged);
            shortfalls.extend(too_much((service, frames), limits, judged, yellow));
            shortfalls
        }
        (Offered::Policing, Colours::Aware { .. } | Colours::Blind) => {
            rate((service, frames), limits, judged, yellow)
        }
    }
}

pub(super) fn tcp(tcp: Tcp, figures: &TcpFigures) -> Vec<Shortfall> {
    let (percent, least) = (figures.share_percent(), tcp.throughput_percent);
    let shortfall = match figures.good_bytes {
        0 => Some(Shortfall::NothingArrived),
        _ => (percent < least).then_some(Shortfall::Throughput { percent, least }),
    };
    shortfall.into_iter().collect()
}

/// Whether the tester itself may be the reason: nothing would be wrong with the frames that its
/// receiving end lost, or a delay is no longer than it was kept from running.
pub(super) fn is_explained(shortfall: &Shortfall, tester: &Tester, judged: &Figures) -> bool {
    let dropped_frames = tester.dropped_packets;
    match shortfall {
        Shortfall::Flr { most, .. } => {
            let lost = judged.lost_frames().saturating_sub(dropped_frames);
            dropped_frames > 0 && lost as f64 <= most * judged.sent_frames as f64
        }
        // What a policer drops besides is not missing.
        Shortfall::IrLow { ir_l2, least_l2 } => {
            let missing = least_l2.as_bps() as f64 / ir_l2.as_bps().max(1) as f64 - 1.0;
            missing * judged.received_frames as f64 <= dropped_frames as f64
        }
        Shortfall::Fdv { fdv, most } => fdv.saturating_sub(*most) <= tester.longest_stall,
        Shortfall::NothingArrived
        | Shortfall::IrHigh { .. }
        | Shortfall::Ftd { .. }
        | Shortfall::Availability { .. }
        | Shortfall::Dscp { .. }
        | Shortfall::Throughput { .. } => false,
    }
}

fn criteria(frames: &Frames, judged: &Figures) -> Vec<Shortfall> {
    let criteria = &frames.criteria;
    let mut shortfalls: Vec<_> = loss(frames, judged).into_iter().collect();
    if let (Some(most), Some(ftd)) = (criteria.ftd, judged.ftd)
        && ftd.mean > most
    {
        shortfalls.push(Shortfall::Ftd { mean: ftd.mean, error: ftd.error, most });
    }
    if let (Some(most), Some(fdv)) = (criteria.fdv, judged.fdv)
        && fdv > most
    {
        shortfalls.push(Shortfall::Fdv { fdv, most });
    }
    let available = judged.availability.as_ref().and_then(|availability| availability.percent());
    if let (Some(least), Some(percent)) = (criteria.availability_percent, available)
        && percent < least
    {
        shortfalls.push(Shortfall::Availability { percent, least });
    }
    shortfalls
}

fn loss(frames: &Frames, judged: &Figures) -> Option<Shortfall> {
    let most = frames.criteria.flr;
    let flr = judged.flr.filter(|flr| *flr > most)?;
    Some(Shortfall::Flr { flr, most })
}

/// Between the CIR, less the loss accepted, and CIR and EIR together.
fn rate(
    (service, frames): (&Service, &Frames),
    limits: &Limits,
    judged: &Figures,
    yellow: Option<&Figures>,
) -> Vec<Shortfall> {
    let least_l2 = service.cir_l2.scaled(1.0 - frames.criteria.flr);
    let low = judged.ir_l2.as_bps() + allowance(frames, limits).as_bps() < least_l2.as_bps();
    let low = low.then_some(Shortfall::IrLow { ir_l2: judged.ir_l2, least_l2 });
    let high = too_much((service, frames), limits, judged, yellow);
    low.into_iter().chain(high).collect()
}

fn too_much(
    (service, frames): (&Service, &Frames),
    limits: &Limits,
    judged: &Figures,
    yellow: Option<&Figures>,
) -> Option<Shortfall> {
    let through = judged.ir_l2.as_bps() + yellow.map_or(0, |yellow| yellow.ir_l2.as_bps());
    let sold = service.cir_l2.as_bps() + frames.eir_l2.as_bps();
    let most_l2 = Rate::bps(sold).scaled(1.0 + limits.margin_percent / 100.0);
    let is_beyond = through > most_l2.as_bps() + allowance(frames, limits).as_bps();
    is_beyond.then_some(Shortfall::IrHigh { ir_l2: Rate::bps(through), most_l2 })
}

fn allowance(frames: &Frames, limits: &Limits) -> Rate {
    Rate::over(FRAMES_AT_THE_ENDS * u64::from(frames.sizes.longest()), limits.steady)
}

/// The code point that arrived most often although another one should have.
fn remarked(service: &Service, sent: Dscp, judged: &Figures) -> Option<Shortfall> {
    let wanted = service.dscp_received?;
    let mut others = judged.dscp_received.iter().map(|(dscp, _)| *dscp);
    let received = others.find(|dscp| *dscp != wanted)?;
    Some(Shortfall::Dscp { sent, received, wanted })
}

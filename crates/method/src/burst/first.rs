//! A first look at a policer that was sold, before bursts are sent that it must let pass: whether there
//! is one, how fast and how deep it is, and what is lost at any rate.

use core::time::Duration;

use fp_model::Abort;

use super::discovery::{self, searched};
use super::estimate::Refill;
use super::overload::{Policed, Port, Queue, rate_step};
use super::{Bounds, Charge, Discovered, Goal, Lengths, ON_THE_LINE, Run, Step};
use crate::infer::rate::{Estimate, Quiet};
use crate::infer::search::{Limits, MOST};

/// What a queue carries is offered for two seconds, less the time in which the queue fills.
const HELD_S: f64 = 1.5;
/// A rate that exceeds the CIR by less cannot empty a bucket in any time.
const AS_SLOW: f64 = 0.02;

/// What a first look says of one direction.
pub(super) enum First {
    /// All passes, or what is too much waits: nothing drops, though a policer as sold would.
    NoPolicer(Policed),
    Policer(Known),
    /// Only bursts may tell.
    Open(Option<Quiet>),
}

/// A policer as trains of frames show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) quiet: Option<Quiet>,
    /// Of frames of `frame_bytes`: how many pass in a second, and how many at once.
    frames_s: Bounds,
    frames: Bounds,
    frame_bytes: f64,
    offset_bytes: Bounds,
}

impl First {
    pub(super) const fn quiet(&self) -> Option<&Quiet> {
        match self {
            Self::Policer(known) => known.quiet.as_ref(),
            Self::Open(quiet) => quiet.as_ref(),
            Self::NoPolicer(_) => None,
        }
    }
}

impl Known {
    /// Bytes in a second of frames of one length, as `charged_bytes` counts each.
    pub(super) fn bytes_s(&self, frame_bytes: u32, charged_bytes: f64) -> Bounds {
        self.frames_s.times(&self.times(frame_bytes)).scaled(charged_bytes)
    }

    /// Bytes that pass at once of frames of one length, as `charged_bytes` counts each.
    pub(super) fn depth_bytes(&self, frame_bytes: u32, charged_bytes: f64) -> Bounds {
        self.frames.times(&self.times(frame_bytes)).scaled(charged_bytes)
    }

    fn times(&self, frame_bytes: u32) -> Bounds {
        Charge::frames_for_one(&self.offset_bytes, self.frame_bytes, f64::from(frame_bytes))
    }

    /// For bursts of one length.
    pub(super) fn policed(&self, port: &Port, frame_bytes: u32, charged_bytes: f64) -> Policed {
        let Bounds { estimate, at_least, at_most } = self.bytes_s(frame_bytes, charged_bytes);
        let uncertainty = (at_most - at_least) / 2.0 / estimate;
        Policed {
            refill: Some(Refill { bytes_s: estimate, uncertainty }),
            depth_bytes: Some(self.depth_bytes(frame_bytes, charged_bytes).estimate),
            known: Some(*self),
            quiet: self.quiet,
            ..Policed::unknown(port)
        }
    }
}

/// Looks at one direction with frames of the measuring length and shorter ones. The line carries at least
/// what came through, though jitter may have made it seem slower.
pub(super) fn look(run: &mut Run<'_>, port: &mut Port, lengths: &Lengths) -> Result<First, Abort> {
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(First::Open(None)) };
    let frame_bytes = lengths.measuring;
    let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
    let search = searched(run, port.direction, frame_bytes);
    let shortest = run.plan.shortest_frame();
    let (found, limits, quiet) = discovery::look(run, search, shortest)?;
    let bytes = f64::from(frame_bytes);
    let came = match limits {
        Limits::NotReached(bps) => bps,
        Limits::Found(Estimate { at_least, .. }, _) | Limits::Unknown { at_least, .. } => at_least,
    };
    port.line_bps = port.line_bps.max(came * (bytes + ON_THE_LINE) / bytes);
    let would_show = |bps_l2: f64, lasts_s: f64| {
        let excess = bps_l2 * charged_bytes / bytes - cir.rate.as_bps() as f64;
        excess * lasts_s > 8.0 * cbs_bytes as f64
    };
    let queue = |bps_l2: f64, delay: Duration| {
        let is_as_slow =
            bps_l2 * charged_bytes / bytes < (1.0 + AS_SLOW) * cir.rate.as_bps() as f64;
        let refill = Refill { bytes_s: bps_l2 / 8.0 * charged_bytes / bytes, uncertainty: 0.0 };
        let queue = Queue { refill, waited_s: delay.as_secs_f64() };
        (is_as_slow || would_show(bps_l2, HELD_S))
            .then(|| First::NoPolicer(Policed { queue: Some(queue), ..Policed::unknown(port) }))
    };
    let said = match (&found.found, &limits) {
        (Discovered::NoPolicer { .. }, Limits::NotReached(bps)) => {
            let shown = would_show(*bps, MOST.as_secs_f64() / 3.0);
            shown.then(|| First::NoPolicer(Policed::unknown(port)))
        }
        (Discovered::NoPolicer { .. }, Limits::Found(found, _)) => queue(found.bps, found.delay),
        (Discovered::Shaper { rate_bps, charge, delay, .. }, _) => {
            queue(rate_bps.estimate * bytes / charge.charged(bytes), *delay)
        }
        (Discovered::Policer { cir_bps, cbs_bytes, charge, excess: None, .. }, _) => {
            let charged = charge.charged(bytes);
            Some(First::Policer(Known {
                quiet,
                frames_s: cir_bps.scaled(1.0 / (8.0 * charged)),
                frames: cbs_bytes.scaled(1.0 / charged),
                frame_bytes: bytes,
                offset_bytes: charge.offset(),
            }))
        }
        (
            Discovered::Policer { .. } | Discovered::NoPolicer { .. } | Discovered::Unknown { .. },
            _,
        ) => None,
    };
    Ok(said.unwrap_or(First::Open(quiet)))
}

/// Says of a direction that nothing drops what is too much.
pub(super) fn say(run: &mut Run<'_>, policed: &Policed, frame_bytes: u32, bidirectional: bool) {
    let Goal::Verify { cir, .. } = run.plan.goal else { return };
    let step = rate_step(run, policed, (frame_bytes, cir), bidirectional, None);
    run.report.steps.push(Step::Rate(step));
}

//! A first look at a policer that was sold, before bursts are sent that it must let pass: whether there
//! is one, how fast and how deep it is, and what is lost at any rate.

use core::time::Duration;

use fp_model::{Abort, Direction, Rate};

use super::discovery::{self, searched};
use super::port::Port;
use super::verdict::within;
use super::{Charge, Discovered, Goal, Lengths, ON_THE_LINE, RateStep, Run, Step};
use crate::formula::bounds::Bounds;
use crate::infer::rate::{Estimate, Quiet};
use crate::infer::search::{Limits, MOST, Search};

/// What a queue carries is offered for two seconds, less the time in which the queue fills.
const HELD_S: f64 = 1.5;
/// No overload is longer: a bucket that takes longer to empty, hardly slower than its line, limits nothing
/// else than the line does.
const EMPTIES_MAX_S: f64 = 15.0;
/// A rate that exceeds the CIR by less cannot empty a bucket in any time.
const AS_SLOW: f64 = 0.02;

/// What a first look says of one direction.
pub(super) enum First {
    /// All passes, or what is too much waits: nothing drops, though a policer as sold would.
    NoPolicer(Option<Queue>),
    Policer(Known),
    Open(Open),
}

/// A shaper, or a line slower than the one in front of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    /// In bytes a second, at the layer of the CIR.
    bytes_s: Bounds,
    /// The longest that a frame waited.
    waited: Duration,
}

/// A policer as trains of frames show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    quiet: Option<Quiet>,
    /// Of frames of `frame_bytes`: how many pass in a second, and how many at once.
    frames_s: Bounds,
    frames: Bounds,
    frame_bytes: f64,
    offset_bytes: Bounds,
}

/// What the look could not tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    quiet: Option<Quiet>,
    /// What passes, in bytes a second at the layer of the CIR, as far as something limits it.
    bytes_s: Option<Bounds>,
}

impl First {
    pub(super) const fn quiet(&self) -> Option<&Quiet> {
        match self {
            Self::Policer(known) => known.quiet.as_ref(),
            Self::Open(open) => open.quiet.as_ref(),
            Self::NoPolicer(_) => None,
        }
    }

    pub(super) const fn known(&self) -> Option<&Known> {
        if let Self::Policer(known) = self { Some(known) } else { None }
    }

    /// Says which rate passes in this direction, beside the CIR.
    pub(super) fn say(
        &self,
        run: &mut Run<'_>,
        direction: Direction,
        frame_bytes: u32,
        bidirectional: bool,
    ) {
        let Goal::Verify { cir, .. } = run.plan.goal else { return };
        let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
        let (bytes_s, waited) = match self {
            Self::NoPolicer(queue) => (queue.map(|one| one.bytes_s), queue.map(|one| one.waited)),
            Self::Policer(known) => (Some(known.bytes_s(frame_bytes, charged_bytes)), None),
            Self::Open(open) => (open.bytes_s, None),
        };
        let rate = |bytes_s: f64| Rate::bps((bytes_s * 8.0).max(0.0) as u64);
        let percent = |rate: Rate| 100.0 * (rate.as_bps() as f64 / cir.rate.as_bps() as f64 - 1.0);
        let measured = bytes_s.map(|bounds| rate(bounds.estimate));
        let ends = bytes_s.map(|bounds| [bounds.at_least, bounds.at_most]);
        let known = |end: f64| end.is_finite().then(|| rate(end));
        let deviation_percent = measured.map(percent);
        let is_within = match (ends, deviation_percent) {
            (Some(ends), Some(middle)) => {
                let off = ends.map(|end| percent(rate(end)));
                within(off, middle, run.plan.tolerance_percent)
            }
            // Nothing was dropped of what a policer drops.
            _ => Some(false),
        };
        let pass = match self {
            Self::Policer(_) => is_within,
            // Whether a policer is set right, a shaper of the right rate does not say.
            Self::NoPolicer(queue) => is_within.filter(|is_within| !is_within || queue.is_none()),
            Self::Open(_) => None,
        };
        run.report.steps.push(Step::Rate(RateStep {
            direction,
            bidirectional,
            frame_bytes,
            cir,
            measured,
            within: ends.map_or([None, None], |ends| ends.map(known)),
            deviation_percent,
            waited,
            is_known: !matches!(self, Self::Open(_)),
            pass,
        }));
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
}

/// Looks at one direction with frames of the measuring length and shorter ones.
pub(super) fn look(run: &mut Run<'_>, port: &mut Port, lengths: &Lengths) -> Result<First, Abort> {
    let nothing = First::Open(Open { quiet: None, bytes_s: None });
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(nothing) };
    let frame_bytes = lengths.measuring;
    let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
    let empties = empties(port, frame_bytes, charged_bytes, cir.rate, cbs_bytes);
    let search = Search { empties, ..searched(run, port.direction, frame_bytes) };
    let shortest = run.plan.shortest_frame();
    let (found, limits, quiet) = discovery::look(run, search, shortest)?;
    let bytes = f64::from(frame_bytes);
    let came = match limits {
        Limits::NotReached(bps, _) => bps,
        Limits::Found(Estimate { at_least, .. }, _) | Limits::Unknown { at_least, .. } => at_least,
    };
    let range_s = quiet.map_or(0.0, |quiet| quiet.range);
    port.bound(frame_bytes, came * (bytes + ON_THE_LINE) / bytes, range_s);
    run.report.steps.push(Step::Line(port.line(frame_bytes)));
    let would_show = |bps_l2: f64, lasts_s: f64| {
        let excess = bps_l2 * charged_bytes / bytes - cir.rate.as_bps() as f64;
        excess * lasts_s > 8.0 * cbs_bytes as f64
    };
    let bytes_s = |bps_l2: Bounds| bps_l2.scaled(charged_bytes / bytes / 8.0);
    let queue = |bps_l2: Bounds, waited: Duration| {
        let is_as_slow =
            bps_l2.estimate * charged_bytes / bytes < (1.0 + AS_SLOW) * cir.rate.as_bps() as f64;
        let bytes_s = bytes_s(bps_l2);
        (is_as_slow || would_show(bps_l2.estimate, HELD_S))
            .then_some(First::NoPolicer(Some(Queue { bytes_s, waited })))
    };
    let said = match (&found.found, &limits) {
        (Discovered::NoPolicer { .. }, Limits::NotReached(bps, _)) => {
            let shown = would_show(*bps, empties.as_secs_f64() / 3.0);
            shown.then_some(First::NoPolicer(None))
        }
        (Discovered::NoPolicer { .. }, Limits::Found(found, _)) => {
            let Estimate { bps: estimate, at_least, at_most, .. } = *found;
            queue(Bounds { estimate, at_least, at_most }, found.delay)
        }
        (Discovered::Shaper { rate_bps, charge, delay, .. }, _) => {
            queue(rate_bps.scaled(bytes / charge.charged(bytes)), *delay)
        }
        (Discovered::Policer { together, charge, .. }, _) => {
            let charged = charge.charged(bytes);
            Some(First::Policer(Known {
                quiet,
                frames_s: together.rate_bps.scaled(1.0 / (8.0 * charged)),
                frames: together.depth_bytes.scaled(1.0 / charged),
                frame_bytes: bytes,
                offset_bytes: charge.offset(),
            }))
        }
        (Discovered::Unknown { rate_bps, .. }, _) => {
            Some(First::Open(Open { quiet, bytes_s: Some(bytes_s(*rate_bps)) }))
        }
        (Discovered::NoPolicer { .. }, _) => None,
    };
    Ok(said.unwrap_or(First::Open(Open { quiet, bytes_s: None })))
}

/// For how long the line's rate is offered to a bucket that was sold: half as long again as takes to empty
/// it.
fn empties(
    port: &Port,
    frame_bytes: u32,
    charged_bytes: f64,
    cir: Rate,
    cbs_bytes: u64,
) -> Duration {
    let excess_bps = 8.0 * charged_bytes / port.slot_s(frame_bytes) - cir.as_bps() as f64;
    let empty_s = 8.0 * cbs_bytes as f64 / excess_bps.max(1.0);
    MOST.max(Duration::from_secs_f64((1.5 * empty_s).min(EMPTIES_MAX_S)))
}

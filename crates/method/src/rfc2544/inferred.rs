//! What limits a way, from trains of frames: a search then only has to confirm it.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Direction, Layer, Observation, Rate, Testbed, Trial};

use super::line::Line;
use super::offer::Drain;
use super::report::FrameRate;
use super::{Run, Way};
use crate::infer::rate::{FINE, Kind, OVER};
use crate::infer::search::{Finder, Limits, Offers, Precision, Search, Stream};

/// What a bucket was seen to hold is known to a slice of frames.
const PAST_EMPTY: f64 = 1.3;
/// No bucket is emptied for longer.
const MOST: Duration = Duration::from_secs(3);
const FINE_MOST: Duration = Duration::from_secs(1);
/// As long again just above the rate, where the queue of a line in front empties.
const FINE_LEAST: Duration = Duration::from_millis(100);
/// A wait that is not certainly one is none.
const CERTAIN: f64 = 4.0;

/// Rates of layer 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inferred {
    pub(super) rate_l1: Rate,
    pub(super) at_least_l1: Rate,
    pub(super) at_most_l1: Rate,
    /// Frames are lost at any rate.
    pub(super) loses: bool,
    /// A queue; nothing has to be emptied.
    is_queue: bool,
    /// What passes beyond the rate in a trial, in frames.
    forgives: f64,
    frame_l1_bits: f64,
    /// How long `OVER` times the rate empties what it holds, and `FINE` times.
    empties: [Duration; 2],
    /// What waits just above the rate.
    queued: Duration,
}

impl Inferred {
    /// How far above what limits a trial that lasts as long may pass: by what is held, and by the time
    /// of one frame.
    pub(super) fn forgiven(&self, lasts: Duration) -> Rate {
        let frames_s = (self.forgives + 1.0) / lasts.as_secs_f64().max(1e-3);
        Rate::bps((frames_s * self.frame_l1_bits) as u64)
    }

    /// The bucket is emptied by a rate that most lines in front of it do not hold up, then by one just
    /// above it.
    pub(super) fn drain(&self, most_l1: Rate) -> Option<Drain> {
        let [over, fine] = self.empties;
        // What the rate just above empties soon needs no more, which might queue.
        let steps = match fine <= FINE_MOST {
            true => [(OVER, Duration::ZERO), (FINE, fine.max(FINE_LEAST))],
            false => [(OVER, over), (FINE, over.max(FINE_LEAST))],
        };
        let steps: Vec<_> = steps
            .into_iter()
            .map(|(times, lasts)| (self.rate_l1.scaled(times).min(most_l1), lasts))
            .filter(|(rate_l1, lasts)| *rate_l1 > self.rate_l1 && !lasts.is_zero())
            .collect();
        let is_wanted = !self.is_queue && !steps.is_empty();
        is_wanted.then_some(Drain { steps, queued: self.queued })
    }
}

impl Offers for Run<'_> {
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.run(trial)
    }

    fn count(&mut self, _stream: &Stream) {
        self.health.trials += 1;
    }
}

/// What limits a way; of both directions at once the slower. `None` where nothing does, or it is not
/// known.
pub(super) fn infer(
    run: &mut Run<'_>,
    way: Way,
    line: Line,
    frame_bytes: u32,
) -> Result<Option<Inferred>, Abort> {
    let mut slowest: Option<Inferred> = None;
    for direction in way.directions() {
        let Some(found) = of_direction(run, *direction, line, frame_bytes)? else { continue };
        if slowest.is_none_or(|slowest| found.rate_l1 < slowest.rate_l1) {
            slowest = Some(found);
        }
    }
    Ok(slowest)
}

fn of_direction(
    run: &mut Run<'_>,
    direction: Direction,
    line: Line,
    frame_bytes: u32,
) -> Result<Option<Inferred>, Abort> {
    let most = FrameRate { frame_bytes, rate_l1: line.most() };
    let most_l2 = most.at(Layer::L2).as_bps() as f64;
    let search = Search {
        direction,
        family: run.plan.family,
        dscp: run.plan.dscp,
        vlan_tags: run.plan.vlan_tags,
        frame_bytes,
        rtt: run.rtt,
        limit_l2: most_l2,
        sold_l2: None,
        trial: None,
        precision: Precision::Result,
    };
    let mut finder = Finder::new(run, search);
    let limits = finder.find()?;
    let l1 = |bps_l2: f64| line.most().scaled((bps_l2 / most_l2.max(1.0)).min(1.0));
    let (found, quiet) = match limits {
        Limits::Found(found, quiet) => (found, quiet),
        Limits::NotReached(_) | Limits::Unknown { .. } => return Ok(None),
    };
    let frame_bits = f64::from(frame_bytes) * 8.0;
    let empties = [OVER, FINE].map(|times| {
        let seconds = PAST_EMPTY * found.held * frame_bits / ((times - 1.0) * found.bps).max(1.0);
        Duration::from_secs_f64(seconds.min(MOST.as_secs_f64()))
    });
    let (wait, error) = found.waits;
    let waits = wait > CERTAIN * error;
    Ok(Some(Inferred {
        rate_l1: l1(found.bps),
        at_least_l1: l1(found.at_least),
        at_most_l1: l1(found.at_most),
        loses: quiet.lost > 0.0,
        is_queue: found.kind == Kind::Queue,
        // The bucket of a policer is emptied before.
        forgives: if found.kind == Kind::Policer { 0.0 } else { found.held },
        frame_l1_bits: most.bytes_l1() as f64 * 8.0,
        empties,
        queued: if waits { Duration::from_secs_f64(wait.min(1.0)) } else { Duration::ZERO },
    }))
}

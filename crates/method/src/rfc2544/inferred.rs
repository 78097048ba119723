//! What limits a way, from trains of frames: a search then only has to confirm it.
//!
//! One look at each direction finds a policer, a shaper or a line and what it counts of a frame, so that
//! the rate of each frame length follows: `C / (L + o)` frames in a second, of a limit of `C` bytes in a
//! second that counts `o` more than the `L` bytes of a frame. Where it is not known what is counted, a
//! search for the bottleneck finds the rate of each length.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, Direction, FramesLoad, Layer, Observation, Rate, Testbed, Trial};

use super::line::Line;
use super::offer::Drain;
use super::steps::FrameRate;
use super::{Plan, Run, Way};
use crate::burst::discovery::{self, PAUSE_OF_TWO_S};
use crate::burst::{Charge, Discovered, Discovery, ON_THE_LINE, Together};
use crate::formula::bounds::Bounds;
use crate::infer::offers::{Counts, Offers};
use crate::infer::rate::{Estimate, FINE, Kind, OVER};
use crate::infer::search::{Finder, Limits, MOST, PAST_THE_KNEE, Precision, Search};
use crate::infer::train::CERTAIN;

/// No bucket is emptied for longer while it is looked for.
const EMPTIES: Duration = Duration::from_secs(10);
/// Nothing is offered for longer just above the rate, and for what waits there is not waited longer.
const FINE_MOST: Duration = Duration::from_secs(1);
/// As long again just above the rate, where the queue of a line in front empties.
const FINE_LEAST: Duration = Duration::from_millis(100);
/// Below a line's rate it queues nothing.
const BELOW_THE_LINE: f64 = 0.95;
/// Of an interval that is wider, in relation to the rate, the upper end is offered first: what comes
/// through says at once where the rate is.
const WIDE: f64 = 0.02;

/// What one length of frames meets, in rates of layer 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inferred {
    pub(super) rate_l1: Rate,
    pub(super) at_least_l1: Rate,
    pub(super) at_most_l1: Rate,
    /// Frames are lost at any rate.
    pub(super) loses: bool,
    /// A queue; nothing has to be emptied.
    is_queue: bool,
    /// What passes beyond the rate before a bucket is empty or a queue is full, in bits of layer 1.
    held_l1_bits: f64,
    /// The fastest rate that queues nothing in front of what limits, as far as that is known.
    fast_l1: Rate,
    /// What waits just above the rate.
    queued: Duration,
    /// From the shortest delay to the longest, of frames that nothing queues.
    uneven: Duration,
    frame_l1_bits: f64,
}

impl Inferred {
    /// How far above the limit a trial of this length may pass: by what buckets and queues hold at its
    /// beginning, by what a bucket gains in the pause before it and while frames come unevenly, and by the time
    /// of one frame. Without the first of these where it is not known.
    pub(super) fn forgiven(&self, lasts: Duration, drain: Option<&Drain>) -> Rate {
        let rate = self.rate_l1.as_bps() as f64;
        let taken: f64 = drain.map_or(0.0, |drain| {
            let excess = |(step, lasts): &(Rate, Duration)| {
                (step.as_bps() as f64 - rate).max(0.0) * lasts.as_secs_f64()
            };
            drain.steps.iter().map(excess).sum()
        });
        let one_frame = Duration::from_secs_f64(self.frame_l1_bits / rate.max(1.0));
        let silent = drain.map_or(Duration::ZERO, |drain| drain.silence(lasts, one_frame));
        let won = rate * (silent + self.uneven).as_secs_f64();
        let held = if self.is_bounded() { (self.held_l1_bits - taken).max(0.0) } else { 0.0 };
        let bits = held + won + self.frame_l1_bits;
        Rate::bps((bits / lasts.as_secs_f64().max(1e-3)) as u64)
    }

    /// What is held is known.
    pub(super) const fn is_bounded(&self) -> bool {
        self.held_l1_bits.is_finite()
    }

    /// The bucket is emptied by a rate that what is in front of it does not hold up, then by one just
    /// above its own, where what was queued leaves; not where it holds less than a trial resolves.
    pub(super) fn drain(&self, most_l1: Rate, resolved_l1_bits: f64) -> Option<Drain> {
        if self.is_queue || self.held_l1_bits <= resolved_l1_bits {
            return None;
        }
        let at = |rate_l1: Rate| {
            let excess = rate_l1.as_bps().saturating_sub(self.rate_l1.as_bps()).max(1);
            Duration::from_secs_f64((PAST_THE_KNEE * self.held_l1_bits / excess as f64).min(1e6))
        };
        let over = self.fast_l1.min(most_l1);
        let fine = self.rate_l1.scaled(FINE).min(over);
        // What the rate just above empties soon needs no more, which might queue.
        let steps = match at(fine) <= FINE_MOST {
            true => [(over, Duration::ZERO), (fine, at(fine).max(FINE_LEAST))],
            false => [(over, at(over).min(MOST)), (fine, at(over).clamp(FINE_LEAST, MOST))],
        };
        let is_an_excess =
            |(rate_l1, lasts): &(Rate, Duration)| *rate_l1 > self.rate_l1 && !lasts.is_zero();
        let steps: Vec<_> = steps.into_iter().filter(is_an_excess).collect();
        (!steps.is_empty()).then_some(Drain { steps, queued: self.queued })
    }
}

impl Offers for Run<'_> {
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.run(trial)
    }

    fn count(&mut self, _: Counts) {
        self.health.trials += 1;
    }
}

/// What a look at one direction says of every length.
#[derive(Clone, Copy, Debug)]
struct Limit {
    kind: Kind,
    /// In a second, of frames that are as long as those of the look.
    frames_s: Bounds,
    frame_bytes: f64,
    /// What is counted beside the length of a frame.
    offset_bytes: Bounds,
    /// Bytes, as they are counted.
    held: f64,
    loses: bool,
    line_l1: Option<Rate>,
    queued: Duration,
    uneven: Duration,
}

/// What limits the directions of a way.
pub(super) struct Looked {
    limits: Vec<(Direction, Found)>,
}

#[derive(Clone, Copy, Debug)]
enum Found {
    Limit(Limit),
    /// All passed that was offered.
    Nothing,
    /// Only a search with frames of each length can tell.
    Open,
}

/// Looks at each direction of a way.
pub(super) fn look(
    run: &mut Run<'_>,
    way: Way,
    line: Line,
    frame_bytes: u32,
) -> Result<Looked, Abort> {
    let mut limits = Vec::new();
    for direction in way.directions() {
        let search =
            Search { precision: Precision::Start, ..search(run, *direction, line, frame_bytes) };
        let shortest = FramesLoad::least_frame_bytes(run.plan.family, run.plan.vlan_tags);
        let (discovery, said, _) = discovery::look(run, search, shortest)?;
        limits.push((*direction, found(&discovery, &said, f64::from(frame_bytes))));
    }
    Ok(Looked { limits })
}

fn found(discovery: &Discovery, said: &Limits, frame_bytes: f64) -> Found {
    if matches!(said, Limits::NotReached(..)) {
        return Found::Nothing;
    }
    let line_l1 = discovery.line_l1();
    let limit = |kind, bps: &Bounds, charge: &Charge, held| {
        let frames_s = bps.scaled(1.0 / (8.0 * charge.charged(frame_bytes)));
        let offset_bytes = charge.offset();
        let limit = Limit { kind, held, line_l1, ..Limit::seen(said, frame_bytes) };
        Found::Limit(Limit { frames_s, offset_bytes, ..limit })
    };
    let together = discovery.found.together();
    match (&discovery.found, said) {
        (Discovered::Policer { charge, .. }, _) => together.map_or(Found::Open, |together| {
            let Together { rate_bps, depth_bytes } = together;
            let held = depth_bytes.at_most.min(PAST_THE_KNEE * depth_bytes.estimate);
            limit(Kind::Policer, &rate_bps, charge, held)
        }),
        (Discovered::Shaper { rate_bps, charge, bucket_bytes, delay, .. }, _) => {
            let queue = rate_bps.estimate / 8.0 * delay.as_secs_f64();
            limit(Kind::Queue, rate_bps, charge, bucket_bytes.estimate + queue)
        }
        (Discovered::NoPolicer { .. }, Limits::Found(found, _)) => {
            let held = found.bps / 8.0 * found.delay.as_secs_f64();
            let offset_bytes = Bounds::exactly(ON_THE_LINE);
            let limit = Limit::seen(said, frame_bytes);
            Found::Limit(Limit { kind: Kind::Queue, held, line_l1, offset_bytes, ..limit })
        }
        (Discovered::NoPolicer { .. }, _) | (Discovered::Unknown { .. }, _) => Found::Open,
    }
}

impl Limit {
    /// What a search for the bottleneck has seen with frames of this length.
    fn seen(said: &Limits, frame_bytes: f64) -> Self {
        let (found, loses, uneven) = match *said {
            Limits::Found(found, quiet) => (found, quiet.lost > 0.0, quiet.range),
            Limits::NotReached(..) | Limits::Unknown { .. } => (Estimate::UNKNOWN, true, 0.0),
        };
        let (wait, error) = found.waits;
        let queued = if wait > CERTAIN * error { wait.min(FINE_MOST.as_secs_f64()) } else { 0.0 };
        let bps = Bounds { estimate: found.bps, at_least: found.at_least, at_most: found.at_most };
        Self {
            kind: found.kind,
            frames_s: bps.scaled(1.0 / (8.0 * frame_bytes)),
            frame_bytes,
            offset_bytes: Bounds::exactly(0.0),
            held: PAST_THE_KNEE * found.held * frame_bytes,
            loses,
            line_l1: None,
            queued: Duration::from_secs_f64(queued),
            uneven: Duration::from_secs_f64(uneven),
        }
    }

    /// What frames of a length meet; `None` where that is known too badly.
    fn at(&self, frame_bytes: u32, line: Line) -> Option<Inferred> {
        let bytes = f64::from(frame_bytes);
        let times = Charge::frames_for_one(&self.offset_bytes, self.frame_bytes, bytes);
        let Bounds { estimate: frames_s, at_least: from, at_most: to } =
            self.frames_s.times(&times);
        let is_known = to.is_finite() && from > 0.0;
        let frame_l1_bits = FrameRate { frame_bytes, rate_l1: Rate::ZERO }.bytes_l1() as f64 * 8.0;
        // What comes of a shaper may be what that itself lets through.
        let in_front = self.line_l1.filter(|_| self.kind != Kind::Queue);
        let most = in_front.map_or(line.most(), |line_l1| line_l1.min(line.most()));
        let rate = |frames_s: f64| Rate::bps((frames_s * frame_l1_bits) as u64).min(most);
        let rate_l1 = rate(if to - from < WIDE * frames_s { frames_s } else { to });
        let fast_l1 = in_front.map_or(rate_l1.scaled(OVER), |line_l1| {
            let half = u64::midpoint(rate_l1.as_bps(), line_l1.as_bps());
            line_l1.scaled(BELOW_THE_LINE).max(Rate::bps(half))
        });
        is_known.then(|| Inferred {
            rate_l1,
            at_least_l1: rate(from),
            at_most_l1: rate(to),
            loses: self.loses,
            is_queue: self.kind == Kind::Queue,
            held_l1_bits: self.held / (bytes + self.offset_bytes.estimate).max(1.0) * frame_l1_bits,
            fast_l1: fast_l1.min(line.most()),
            queued: self.queued,
            uneven: self.uneven,
            frame_l1_bits,
        })
    }
}

/// What limits a way for frames of one length; of both directions at once the slower. `None` where
/// nothing does, or it is not known.
pub(super) fn infer(
    run: &mut Run<'_>,
    looked: &Looked,
    line: Line,
    frame_bytes: u32,
) -> Result<Option<Inferred>, Abort> {
    let mut slowest: Option<Inferred> = None;
    for (direction, found) in &looked.limits {
        let known = match found {
            Found::Nothing => continue,
            Found::Limit(limit) => limit.at(frame_bytes, line),
            Found::Open => None,
        };
        let known = match known {
            Some(known) => Some(known),
            None => of_length(run, *direction, line, frame_bytes)?,
        };
        let Some(known) = known else { continue };
        if slowest.is_none_or(|slowest| known.rate_l1 < slowest.rate_l1) {
            slowest = Some(known);
        }
    }
    Ok(slowest)
}

fn search(run: &Run<'_>, direction: Direction, line: Line, frame_bytes: u32) -> Search {
    let most = FrameRate { frame_bytes, rate_l1: line.most() };
    let Plan { family, dscp, vlan_tags, .. } = *run.plan;
    Search {
        vlan_tags,
        limit_l2: most.at(Layer::L2).as_bps() as f64,
        empties: EMPTIES,
        precision: Precision::Result,
        ..Search::of(direction, (family, dscp), frame_bytes, run.rtt)
    }
}

/// By a search with frames of this length.
fn of_length(
    run: &mut Run<'_>,
    direction: Direction,
    line: Line,
    frame_bytes: u32,
) -> Result<Option<Inferred>, Abort> {
    let search = search(run, direction, line, frame_bytes);
    let mut finder = Finder::new(run, search);
    let said = finder.find()?;
    let frame = FrameRate { frame_bytes, rate_l1: Rate::ZERO };
    let on_the_line = frame.bytes_l1() as f64 / f64::from(frame_bytes);
    let line_l1 = finder.line.map(|line| Rate::bps((line * on_the_line) as u64));
    let (limits, at_once) = match said {
        Limits::Found(found, _) if found.kind == Kind::Queue => (said, None),
        // A train shows what was forgiven of it, and a bucket may hold more; one of two fills with its own
        // rate only, in a longer pause than there is between two trials.
        Limits::Found(..) | Limits::NotReached(..) | Limits::Unknown { .. } => {
            let after = finder.after(&said);
            let shown = discovery::show(run, after, said, PAUSE_OF_TWO_S)?;
            (shown.limits, shown.at_once)
        }
    };
    let Limits::Found(found, _) = limits else { return Ok(None) };
    let limit = Limit::seen(&limits, f64::from(frame_bytes));
    let held = match found.kind {
        Kind::Queue => limit.held,
        Kind::Policer | Kind::Unknown => at_once.map_or(f64::INFINITY, |bytes| bytes.at_most),
    };
    Ok(Limit { line_l1, held, ..limit }.at(frame_bytes, line))
}

//! Discovery of what stands in an unknown path: a policer, a shaper, or nothing but a line.
//!
//! One burst that is longer than the bucket shows everything at once: the frames that pass before
//! the first drop are the bucket, those that pass afterwards come at the CIR, and a second frame
//! length tells what of a frame is counted. A shaper lets the same burst through and makes it wait.

mod apart;
mod buckets;
mod charge;
mod policer;
mod second;
mod shaper;
mod shows;

use alloc::format;
use core::time::Duration;

use fp_model::{Abort, BurstReport, BurstsLoad, Direction};

use super::estimate::{Depth, Refill};
use super::overload::{self, Port};
use super::passage::Passage;
use super::{Bounds, Discovered, Discovery, Lengths, Offer, Run, Seen, Step, arrived_frames};
use crate::path::settle;
use shaper::before_a_shaper;
use shows::Shows;

/// Bursts of these lengths, until one has emptied the bucket.
const LASTS: [Duration; 4] = [
    Duration::from_millis(25),
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1600),
];
/// For a bucket of which nothing is known to be full.
const UNKNOWN_IDLE: Duration = Duration::from_millis(300);
/// A burst of which fewer frames arrive in time is sent again after such a pause.
const ARRIVED_MIN: u64 = 3;
const SLOW_QUEUE: Duration = Duration::from_secs(3);
/// What is not asked for is left out if it would take longer in all, with some 1.5 s for path MTU and
/// round trip before: ten seconds are a goal, but for buckets that take as long to fill.
const TAKES_MAX: Duration = Duration::from_millis(8500);

/// Finds out what stands in one direction.
pub(super) fn discover(
    run: &mut Run<'_>,
    direction: Direction,
    lengths: &Lengths,
) -> Result<(), Abort> {
    let frame_bytes = lengths.longest;
    let ports = overload::find_lines(run, &[direction], frame_bytes)?;
    let Some((slowest, seen)) = ports.into_iter().next() else { return Ok(()) };
    let port = before_a_shaper(&seen, slowest, frame_bytes);
    let mut drawn = Drawn::default();
    let (sending, takes) = (Duration::ZERO, overload::UNKNOWN_LINE_PERIOD + settle(run.rtt));
    drawn.add(&seen, takes);
    let mut search = Search { run, port, frame_bytes, trials: 1, sending, takes, drawn };
    // What the first bursts may have left in a queue goes first.
    let idle = UNKNOWN_IDLE + overload::lines_last(slowest.slot_s(frame_bytes));
    let found = search.search(lengths, idle)?;
    let Search { trials, sending, .. } = search;
    let line_l1 = port.line(frame_bytes).rate_l1;
    let step = Discovery { direction, line_l1, found, trials, sending };
    run.report.steps.push(Step::Discovery(step));
    Ok(())
}

struct Search<'a, 'b> {
    run: &'a mut Run<'b>,
    port: Port,
    /// The longest.
    frame_bytes: u32,
    trials: u32,
    sending: Duration,
    /// All trials so far, their pauses included.
    takes: Duration,
    drawn: Drawn,
}

/// Frames that came out of a bucket until it refused the first. It was full when the run began unless
/// somebody else uses it, and is as deep as these frames are more than what came back meanwhile.
#[derive(Debug, Default)]
struct Drawn {
    frames: u32,
    /// From the first of them to now, about.
    since: Duration,
    is_empty: bool,
}

impl Drawn {
    /// The bursts of a trial that takes so long.
    fn add(&mut self, seen: &Seen, takes: Duration) {
        for burst in Passage::of_all(seen) {
            if self.is_empty {
                return;
            }
            let whole = burst.spans.first().filter(|span| span.first == 0);
            let frames = whole.map_or(0, |span| span.frames);
            self.frames += frames;
            self.is_empty = frames < burst.frames;
        }
        if !self.is_empty {
            self.since += takes;
        }
    }

    /// How many frames were in it, if `frames_s` come back in a second; no more than there were.
    fn depth_frames(&self, frames_s: f64) -> f64 {
        f64::from(self.frames) - frames_s * self.since.as_secs_f64()
    }
}

impl Search<'_, '_> {
    fn search(&mut self, lengths: &Lengths, mut idle: Duration) -> Result<Discovered, Abort> {
        let (mut last, mut waited) = (None, false);
        for lasts in LASTS {
            let seen = self.burst(self.frame_bytes, lasts, 1, idle)?;
            match self.shows(&seen) {
                Shows::Policer(buckets) => return self.policer(lengths, buckets),
                // Once may have been a stall of the receiver.
                Shows::Waiting if waited => return self.shaper(lengths, &seen),
                Shows::LongWaiting => return self.shaper(lengths, &seen),
                Shows::Waiting => waited = true,
                Shows::Nothing => waited = false,
            }
            idle = UNKNOWN_IDLE
                + match waited {
                    true => self.queued(&seen),
                    // Behind a queue that earlier bursts filled.
                    false if arrived_frames(&seen.report) < ARRIVED_MIN => SLOW_QUEUE,
                    false => Duration::ZERO,
                };
            last = Some(seen);
        }
        match last {
            Some(seen) => self.line_or_shaper(lengths, &seen),
            None => Ok(Discovered::NoPolicer { sent_bytes: 0, loss_percent: 0.0 }),
        }
    }

    /// Bursts of about `lasts`, as fast as the line takes them, apart by as much time as `idle`.
    fn burst(
        &mut self,
        frame_bytes: u32,
        lasts: Duration,
        bursts: u32,
        idle: Duration,
    ) -> Result<Seen, Abort> {
        let mut load = self.port.load(frame_bytes, lasts);
        load.bursts = bursts;
        load.period += if bursts > 1 { idle } else { Duration::ZERO };
        self.trial(&format!("bursts of {:.1} ms", lasts.as_secs_f64() * 1e3), load, idle)
    }

    /// One trial of bursts after `idle`.
    fn trial(&mut self, of: &str, load: BurstsLoad, idle: Duration) -> Result<Seen, Abort> {
        let direction = self.port.direction;
        self.trials += 1;
        let sending = load.period * load.bursts + idle;
        let takes = sending + self.settle();
        (self.sending, self.takes) = (self.sending + sending, self.takes + takes);
        let name = format!("discovery, {direction}: {of}");
        let seen = self.run.bursts(name, &[Offer { direction, load }], idle)?;
        let seen = seen.into_iter().next().ok_or_else(|| {
            Abort::Testbed(format!("{direction}: a trial of bursts brought no observation"))
        })?;
        self.drawn.add(&seen, takes);
        Ok(seen)
    }

    /// Nothing is sent for so long after a trial.
    fn settle(&self) -> Duration {
        settle(self.run.rtt)
    }

    /// Whether something that takes so long may still be tried.
    fn has_time_for(&self, takes: Duration) -> bool {
        self.takes + takes <= TAKES_MAX
    }

    fn slot_s(&self) -> f64 {
        self.port.slot_s(self.frame_bytes)
    }

    fn no_policer(&self, seen: &Seen) -> Discovered {
        let sum = |frames: fn(&BurstReport) -> u32| -> u64 {
            seen.report.bursts.iter().map(|burst| u64::from(frames(burst))).sum()
        };
        let (sent, received) = (sum(|burst| burst.sent_frames), sum(|burst| burst.received_frames));
        let lost = sent.saturating_sub(received);
        Discovered::NoPolicer {
            sent_bytes: sent * u64::from(self.frame_bytes),
            loss_percent: 100.0 * lost as f64 / sent.max(1) as f64,
        }
    }
}

fn rate_bounds(refill: Refill) -> Bounds {
    let off = refill.bytes_s * refill.uncertainty;
    let estimate = refill.bytes_s;
    Bounds { estimate, at_least: estimate - off, at_most: estimate + off }
}

const fn depth_bounds(depth: &Depth) -> Bounds {
    Bounds { estimate: depth.bytes, at_least: depth.at_least, at_most: depth.below }
}

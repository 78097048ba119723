//! Discovery of what stands in an unknown path: a policer, a shaper, or nothing but a line.
//!
//! The search for a bottleneck says what limits, at which rate, and what is lost below it. A policer's
//! buckets then follow from what became of each frame of two trains that meet them full, one of long
//! frames and one of short ones, which also tell what a frame is charged. A queue in front of a line
//! is told from a shaper's by what it lets go at once and by what it counts of a frame.

mod beyond;
mod contradiction;
mod policer;
mod queue;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, BurstReport, BurstSpacing, BurstsLoad, BurstsReport, Direction, FlowReport, FlowSpec,
    Layer, Load, Observation, PacketLayout, Rate, Timing, Trial,
};

use super::arrivals::{arrivals, mean_spacing, slope, spacing, spacing_in_runs};
use super::port::LINE_FRAMES;
use super::{Charge, Discovered, Discovery, Lengths, Passed, Plan, Run, Step};
use crate::formula::bounds::Bounds;
use crate::infer::offers::{Counts, Offers};
use crate::infer::rate::{Estimate, Kind, Quiet};
use crate::infer::search::{Finder, LIMIT_L2, Limits, Search};
use crate::path::settle;
use crate::tester::reports;
use policer::Granted;
pub(crate) use policer::{EMPTIES, FRAMES_MAX, PAUSE_OF_TWO_S};

/// How long they may take on a path that is not known yet.
const LINE_LASTS: Duration = Duration::from_millis(700);
/// Frames per second that a host still sends in time.
const SHORT_FRAMES_S: f64 = 150_000.0;
const SHORT_FRAME: u32 = 128;

impl Offers for Run<'_> {
    fn offer(&mut self, trial: &Trial) -> Result<Observation, Abort> {
        self.bed.run(trial)
    }

    fn count(&mut self, frames: Counts) {
        self.health.arrived_frames += frames.received;
        self.health.dropped_frames += frames.dropped;
    }
}

/// Finds out what stands in one direction.
pub(super) fn discover(
    run: &mut Run<'_>,
    direction: Direction,
    lengths: &Lengths,
) -> Result<(), Abort> {
    let search = searched(run, direction, lengths.longest);
    let chosen = lengths.tested.iter().copied().min().unwrap_or_default();
    let shortest = chosen.min(lengths.longest * 2 / 3).max(run.plan.shortest_frame());
    let (step, ..) = look(run, search, shortest)?;
    run.report.steps.push(Step::Discovery(step));
    Ok(())
}

/// Of a direction about which nothing is known.
pub(super) fn searched(run: &Run<'_>, direction: Direction, frame_bytes: u32) -> Search {
    let Plan { family, dscp, vlan_tags, .. } = *run.plan;
    Search { vlan_tags, ..Search::of(direction, (family, dscp), frame_bytes, run.rtt) }
}

/// What stands in one direction, by frames of the length that `search` has and by shorter ones, of
/// `shortest` bytes at least; and what the search for the bottleneck said of the long ones.
pub(crate) fn look(
    run: &mut dyn Offers,
    search: Search,
    shortest: u32,
) -> Result<(Discovery, Limits, Option<Quiet>), Abort> {
    let Search { direction, frame_bytes, .. } = search;
    let mut look = Look::new(run, search, shortest);
    look.line = look.line()?;
    let mut finder = Finder::new(look.run, search);
    let limits = finder.find()?;
    let range_s = if let Limits::Found(_, quiet) = &limits { quiet.range } else { 0.0 };
    look.line_slot = look.line.as_ref().and_then(|line| spacing(line, range_s));
    if let Limits::Found(found, _) = &limits {
        let slot_bps = look.line_slot.map_or(0.0, |slot| 8.0 * f64::from(frame_bytes) / slot);
        look.queued = finder.queued(found.bps.max(slot_bps));
    }
    (look.trials, look.sending) = (look.trials + finder.trials, look.sending + finder.spent);
    let found = look.found(limits)?;
    let on_the_line = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
    let at_l1 = |bps_l2: Bounds| bps_l2.scaled(on_the_line / (8.0 * f64::from(frame_bytes)));
    let line_l1_bps = match (&found, limits) {
        // Frames that wait come as fast as the line sends them.
        (Discovered::NoPolicer { .. }, Limits::Found(found, _)) => Some(at_l1(rate_of(&found))),
        (_, Limits::NotReached(bps, _)) => {
            Some(at_l1(Bounds { estimate: bps, at_least: bps, at_most: f64::INFINITY }))
        }
        _ => look.slot_in_runs.or(look.line_slot).map(|slot_s| Bounds {
            estimate: on_the_line / slot_s,
            at_least: 0.0,
            at_most: f64::INFINITY,
        }),
    };
    let (trials, sending) = (look.trials, look.sending);
    let quiet = match limits {
        Limits::Found(_, quiet) => Some(quiet),
        Limits::NotReached(..) | Limits::Unknown { .. } => look.quiet,
    };
    Ok((Discovery { direction, line_l1_bps, found, trials, sending }, limits, quiet))
}

/// What trains of one length of frames show of what a search said.
pub(crate) struct Shown {
    pub(crate) limits: Limits,
    /// Bytes that pass at once: what a policer's buckets hold together, or a shaper's. Of what looks like a line
    /// none, and at most what a shaper could let go that looks so. `None` where it is not known.
    pub(crate) at_once: Option<Bounds>,
    pub(crate) trials: u32,
}

/// Whether what limits drops or lets wait, at which rate where the search could not tell, and how much it lets
/// pass at once after at least `rest_s` seconds. What was offered last is `queued` for as long, at most.
pub(crate) fn show(
    run: &mut dyn Offers,
    (search, queued): (Search, Duration),
    limits: Limits,
    rest_s: f64,
) -> Result<Shown, Abort> {
    let frame_bytes = search.frame_bytes;
    let new = Look::new(run, search, frame_bytes);
    let mut look = Look { queued, granted: Granted::ByAny, ..new };
    let (limits, frames) = match limits {
        Limits::NotReached(..) => (limits, None),
        Limits::Found(found, quiet) => {
            let (found, frames) = look.shown(&found, &quiet, rest_s)?;
            (Limits::Found(found, quiet), frames)
        }
        Limits::Unknown { shared: Some(_), .. } => (limits, None),
        Limits::Unknown { bps, at_least, at_most, .. } => {
            let found = Estimate { bps, at_least, at_most, ..Estimate::UNKNOWN };
            look.told(&found, rest_s)?.unwrap_or((limits, None))
        }
    };
    let at_once = frames.map(|frames| frames.scaled(f64::from(frame_bytes)));
    Ok(Shown { limits, at_once, trials: look.trials })
}

struct Look<'a> {
    run: &'a mut dyn Offers,
    /// With the length of the longest frames.
    search: Search,
    /// The least length of short ones.
    shortest: u32,
    granted: Granted,
    trials: u32,
    sending: Duration,
    /// How long what was sent last may still be queued.
    queued: Duration,
    /// Whether a train that was to tell a policer from a queue showed a queue.
    is_a_queue: bool,
    /// What is lost and delayed at a rate that is not the cause of it.
    quiet: Option<Quiet>,
    /// Frames that the sender did not hold back.
    line: Option<BurstReport>,
    /// Seconds from one of them to the next, as they arrived.
    line_slot: Option<f64>,
    /// What became of all trains, with the length of their frames.
    sent: Vec<(u32, BurstReport)>,
    /// Seconds from one of the longest frames to the next on the slowest line, where a policer drops some of
    /// them, as far as that is known.
    slot_in_runs: Option<f64>,
}

/// A train of frames of one length, faster than what limits, after a pause.
#[derive(Clone, Copy, Debug)]
struct Burst {
    frame_bytes: u32,
    frames: u32,
    /// In a second; as fast as the host can where there is none.
    frames_s: Option<f64>,
    pause: Duration,
    /// How long what was queued takes to leave, at most.
    queued: Duration,
}

impl Burst {
    fn lasts(&self) -> Duration {
        seconds(f64::from(self.frames) / self.frames_s.unwrap_or(1e12))
    }
}

impl<'a> Look<'a> {
    fn new(run: &'a mut dyn Offers, search: Search, shortest: u32) -> Self {
        Self {
            run,
            search,
            shortest,
            granted: Granted::AsTheFirst,
            trials: 0,
            sending: Duration::ZERO,
            queued: Duration::ZERO,
            is_a_queue: false,
            quiet: None,
            line: None,
            line_slot: None,
            sent: Vec::new(),
            slot_in_runs: None,
        }
    }

    fn found(&mut self, limits: Limits) -> Result<Discovered, Abort> {
        let sent_bytes = |bps: f64| bps as u64 / 8;
        Ok(match limits {
            Limits::NotReached(bps, loss) => {
                Discovered::NoPolicer { sent_bytes: sent_bytes(bps), loss }
            }
            Limits::Unknown { shared: Some(loads), .. } => {
                let frame_bytes = self.search.frame_bytes;
                let [few, many] = loads.map(|(offered_bps, passed_bps)| Passed {
                    frame_bytes,
                    offered_bps,
                    passed_bps: Bounds::exactly(passed_bps),
                });
                contradiction::contradicting(few, many)
            }
            Limits::Unknown { bps, at_least, at_most, .. } => {
                let found = Estimate { bps, at_least, at_most, ..Estimate::UNKNOWN };
                self.quiet = self.quiet(&found)?;
                match self.quiet {
                    Some(quiet) => self.policer(&found, &quiet)?,
                    None => unknown(&found),
                }
            }
            Limits::Found(found, quiet) => match found.kind {
                Kind::Policer | Kind::Unknown => self.policer(&found, &quiet)?,
                Kind::Queue => self.queue(&found, &quiet)?,
            },
        })
    }

    /// What is lost and delayed at half of what was found at least, if that is less than what limits.
    fn quiet(&mut self, found: &Estimate) -> Result<Option<Quiet>, Abort> {
        let mut finder = Finder::new(self.run, self.search);
        let quiet = finder.quiet(found.at_least / 2.0)?;
        self.trials += finder.trials;
        self.sending += finder.spent;
        Ok(quiet.filter(Quiet::is_of_a_link))
    }

    /// A policer whose rate a search could not tell, by what passes of a train that empties its buckets; `None`
    /// where it shows no policer.
    fn told(
        &mut self,
        found: &Estimate,
        rest_s: f64,
    ) -> Result<Option<(Limits, Option<Bounds>)>, Abort> {
        let Some(quiet) = self.quiet(found)? else { return Ok(None) };
        self.line = self.line()?;
        let long = self.long(found, &quiet, rest_s)?;
        let policer = long.filter(|long| long.shows(found) == Kind::Policer);
        Ok(policer.and_then(|long| {
            let holds = long.holds()?;
            let rate = long.rate_of_any().scaled(8.0 * f64::from(self.search.frame_bytes));
            let Bounds { estimate: bps, at_least, at_most } = rate;
            let found = Estimate { kind: Kind::Policer, bps, at_least, at_most, ..*found };
            Some((Limits::Found(found, quiet), Some(holds)))
        }))
    }

    /// By frames of the length that was searched with: what limits, and how many of them pass at once.
    fn shown(
        &mut self,
        found: &Estimate,
        quiet: &Quiet,
        rest_s: f64,
    ) -> Result<(Estimate, Option<Bounds>), Abort> {
        if found.kind == Kind::Queue {
            return Ok(self.lets_go(found, quiet)?.unwrap_or((*found, None)));
        }
        self.line = self.line()?;
        let Some(long) = self.long(found, quiet, rest_s)? else { return Ok((*found, None)) };
        Ok(match long.shows(found) {
            Kind::Unknown => (*found, None),
            Kind::Queue => {
                let queue = self.rested(&long, found)?;
                self.lets_go(&queue, quiet)?.unwrap_or((*found, None))
            }
            Kind::Policer => {
                // Of two buckets a small one lets more pass of a faster train.
                let rate = long.rate().scaled(8.0 * f64::from(self.search.frame_bytes));
                let told = rate_of(found);
                let Bounds { at_least, at_most, .. } =
                    if told.excludes(&rate) { told.or(rate) } else { told };
                (Estimate { kind: Kind::Policer, at_least, at_most, ..*found }, long.holds())
            }
        })
    }

    /// Frames that the sender does not hold back.
    fn line(&mut self) -> Result<Option<BurstReport>, Abort> {
        let (frames, frame_bytes) = (LINE_FRAMES, self.search.frame_bytes);
        let (pause, queued) = (Duration::ZERO, LINE_LASTS);
        let limit = self.search.limit_l2 / (8.0 * f64::from(frame_bytes));
        let frames_s = (self.search.limit_l2 < LIMIT_L2).then_some(limit);
        let seen = self.burst(Burst { frame_bytes, frames, frames_s, pause, queued })?;
        Ok(seen.bursts.into_iter().next())
    }

    fn burst(&mut self, burst: Burst) -> Result<BurstsReport, Abort> {
        let period = burst.lasts() + burst.queued.max(Duration::from_millis(1));
        self.bursts(burst, 1, period)
    }

    /// Sends the same burst once each `period`.
    fn bursts(
        &mut self,
        burst: Burst,
        bursts: u32,
        period: Duration,
    ) -> Result<BurstsReport, Abort> {
        let Burst { frame_bytes, frames, frames_s, pause, .. } = burst;
        let pause = pause + core::mem::take(&mut self.queued);
        let on_the_line = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0;
        let load = BurstsLoad {
            frame_bytes,
            frames_per_burst: frames,
            bursts,
            period,
            rate_l1: frames_s.map(|frames_s| Rate::bps((frames_s * on_the_line) as u64)),
            spacing: BurstSpacing::OnSchedule,
        };
        let Search { direction, family, dscp, vlan_tags, rtt, .. } = self.search;
        let settle = settle(rtt);
        self.trials += 1;
        self.sending += load.lasts() + pause + settle;
        let flow = FlowSpec::new(direction, family, dscp, Load::Bursts(load));
        let trial = Trial {
            name: format!("discovery, {direction}: {frames} frames of {frame_bytes} bytes"),
            flows: vec![FlowSpec { vlan_tags, ..flow }],
            timing: Timing { warm_up: pause, steady: load.lasts(), settle },
        };
        let seen = self.run.offer(&trial)?;
        let report = reports(&trial, &seen, FlowReport::bursts)?[0].clone();
        let sum = |count: fn(&BurstReport) -> u32| {
            report.bursts.iter().map(|burst| u64::from(count(burst))).sum()
        };
        self.sent.extend(report.bursts.iter().map(|burst| (frame_bytes, burst.clone())));
        let sent = sum(|burst| burst.sent_frames);
        self.run.count(Counts {
            // Trains are fitted to what left and when: how much that is is a question, not a plan.
            planned: sent,
            sent,
            received: sum(|burst| burst.received_frames),
            dropped: seen.dropped_packets(),
        });
        Ok(report)
    }

    /// The length of the shortest frames with which a host still sends this number of bytes a second in time, and a
    /// line more than `frames_s` long ones, however they are charged; `None` where the long frames are hardly longer.
    fn short_frame(&self, bytes_s: f64, frames_s: f64) -> Option<u32> {
        let most = self.search.frame_bytes * 2 / 3;
        let sent = (libm::ceil(bytes_s / SHORT_FRAMES_S) as u32).max(SHORT_FRAME);
        let sent = sent.max(self.overloads(frames_s).min(f64::from(most)) as u32);
        (most >= self.shortest).then(|| sent.max(self.shortest).min(most))
    }

    /// The least length of frames that a line carries faster than a bucket lets them pass which refills
    /// with `frames_s` long ones in a second. A frame of `s` bytes takes `s + 20` on the line, and costs
    /// `s - 18` in a bucket that counts packets. So the rate of the bucket must be less than the rate of the
    /// line times `(s - 18)/(s + 20)`.
    fn overloads(&self, frames_s: f64) -> f64 {
        let [.., (_, packet), (_, wire)] = self.layers();
        let [packet, wire] = [packet, wire].map(f64::from);
        let long = f64::from(self.search.frame_bytes);
        let slot = self.slot_in_runs.unwrap_or(0.0);
        let least = policer::FASTER_LEAST / policer::BELOW_THE_LINE;
        let share = least * frames_s * slot * (long + packet) / (long + wire);
        if share < 1.0 { libm::ceil((wire * share - packet) / (1.0 - share)) } else { long }
    }

    /// Ways of counting a frame, and what each adds to its bytes.
    fn layers(&self) -> [(Layer, i32); 4] {
        [
            (Layer::L2, 0),
            (Layer::L2, -4),
            (Layer::L3, -(self.search.framing_bytes() as i32)),
            (Layer::L1, PacketLayout::ETHERNET_L1_OVERHEAD as i32),
        ]
    }

    /// All that may be counted of a frame beside its length, with tags or labels that the network adds: what
    /// counts packets does not count those.
    fn ways(&self) -> impl Iterator<Item = (Layer, i32)> {
        self.layers().into_iter().flat_map(|(layer, bytes)| {
            let tags = if layer == Layer::L3 { 1 } else { usize::MAX };
            contradiction::tagged(bytes).take(tags).map(move |bytes| (layer, bytes))
        })
    }

    /// What a frame costs beside its length, by the frames that pass in a second at two lengths: both
    /// cost the same bytes, `f·(L + o)`. The layer is known where it alone lies between the bounds, also
    /// beside those of tags that the network may add. Tags themselves are told where frames of a third length in
    /// between tell the same with either of the others: a host that was held up, or a line that is too slow for
    /// short frames, makes one of the lengths seem slower, which looks like a tag.
    fn charge(
        &self,
        short: (u32, Bounds),
        long: (u32, Bounds),
        middle: Option<(u32, Bounds)>,
    ) -> Charge {
        let offset_bytes = offset(short, long);
        let told = |offset: Bounds| self.alone(|bytes| is_offset(&offset, bytes));
        let is_told = |way: &(Layer, i32)| match middle {
            Some(middle) => [offset(short, middle), offset(middle, long)]
                .into_iter()
                .all(|offset| told(offset) == Some(*way)),
            None => self.layers().contains(way),
        };
        Charge { offset_bytes, layer: told(offset_bytes).filter(is_told) }
    }

    /// The way of counting, with as few tags as that takes, whose bytes alone fit.
    fn alone(&self, fits: impl Fn(i32) -> bool) -> Option<(Layer, i32)> {
        let mut fitting = self.ways().filter(|(_, bytes)| fits(*bytes));
        let one = fitting.next()?;
        fitting.all(|(_, bytes)| bytes == one.1).then_some(one)
    }

    /// The same by what `measured` says of a third length, where that tells.
    fn charged(
        &mut self,
        short: (u32, Bounds),
        long: (u32, Bounds),
        measured: impl FnOnce(&mut Self, u32) -> Result<Option<Bounds>, Abort>,
    ) -> Result<Charge, Abort> {
        let charge = self.charge(short, long, None);
        let Some(bytes) = self.middle_frame(&charge, short.0) else { return Ok(charge) };
        let middle = measured(self, bytes)?.map(|rate| (bytes, rate));
        Ok(self.charge(short, long, middle))
    }

    /// The length of frames that tell whether a charge is that of tags which the network adds; `None` where no
    /// tags explain it, or several numbers of them do.
    fn middle_frame(&self, charge: &Charge, short_bytes: u32) -> Option<u32> {
        let may_be_tags = charge.layer.is_none()
            && self.alone(|bytes| is_offset(&charge.offset_bytes, bytes)).is_some();
        let [short, long] = [short_bytes, self.search.frame_bytes].map(f64::from);
        may_be_tags.then(|| libm::sqrt(short * long) as u32)
    }
}

/// What frames of two lengths are charged beside these, by how many of each pass in a second.
fn offset(short: (u32, Bounds), long: (u32, Bounds)) -> Bounds {
    let [short_bytes, long_bytes] = [short.0, long.0].map(f64::from);
    let offset = |short_s: f64, long_s: f64| {
        (long_s * long_bytes - short_s * short_bytes) / (short_s - long_s).max(1e-9)
    };
    Bounds {
        estimate: offset(short.1.estimate, long.1.estimate),
        at_least: offset(short.1.at_most, long.1.at_least),
        at_most: offset(short.1.at_least, long.1.at_most),
    }
}

/// Rates are of whole bits and times of whole nanoseconds: an offset is known no better than to this.
const OFFSET_GRAIN: f64 = 0.2;

fn is_offset(measured: &Bounds, bytes: i32) -> bool {
    let Bounds { at_least, at_most, .. } = *measured;
    (at_least - OFFSET_GRAIN..=at_most + OFFSET_GRAIN).contains(&f64::from(bytes))
}

fn unknown(found: &Estimate) -> Discovered {
    Discovered::Unknown { rate_bps: rate_of(found), contradiction: None }
}

/// Layer 2.
fn rate_of(found: &Estimate) -> Bounds {
    let Estimate { bps, at_least, at_most, .. } = *found;
    Bounds { estimate: bps, at_least, at_most }
}

/// A time that was computed, within what may be waited for.
fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(if seconds.is_finite() { seconds.clamp(0.0, 100.0) } else { 100.0 })
}

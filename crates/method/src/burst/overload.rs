//! The line that bursts come by, and the rate at which a bucket behind it refills.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    Abort, ArrivedRun, BurstReport, BurstSpacing, BurstsLoad, Direction, LayeredRate, PacketLayout,
    Rate,
};

use super::cbs::REPEATS;
use super::estimate::{self, Depth, Refill};
use super::first::{First, Known};
use super::passage::{Passage, on_time, slope, slope_of_most, spacing};
use super::waiting::{self, ARRIVAL_S, STALL_MAX_S};
use super::{Bounds, Flaw, Goal, Line, Offer, RateStep, Run, Seen, Step, median};
use crate::infer::rate::Quiet;

/// Enough to draw a line through, and few enough for the queue of any port.
const LINE_FRAMES: u32 = 250;
const LINE_BURSTS: u32 = 3;
const LINE_PERIOD: Duration = Duration::from_millis(50);
/// A host puts frames on a line that takes them at once no faster than this.
const HOST_FRAMES_S: f64 = 2e6;
/// Bursts of which more would have to queue before the line are paced, a little faster than the
/// line: it is never idle, and its queue grows slowly.
const QUEUED_FRAMES: f64 = 600.0;
const PACE_MIN: f64 = 1.02;
/// A long burst has no more frames.
const FRAMES_MAX: u32 = 200_000;
/// The refill is watched for so long, and over so many frames.
const WATCHED: f64 = 0.06;
const WATCHED_FRAMES: f64 = 30.0;
/// By so much longer the next burst is if the last one did not empty the bucket.
const GROWTH: u32 = 4;
const GROWTHS: u32 = 3;
/// A queue is overloaded for this long once it has shown.
const QUEUE_SHOWN: Duration = Duration::from_millis(500);
/// What passes later says more of the refill than of the depth.
const DEPTH_SPANS: usize = 40;
/// An emulated network may be late by so much of the time that a burst takes.
const LATE_SHARE_MAX: f64 = 0.05;
/// Of one bucket frames pass at even distances, but for what a host is late; of two they stray farther.
pub(super) const UNEVEN_FRAMES: f64 = 0.5;
/// The tester's own messages take tokens too, some 70 bytes in 50 ms, which a slow bucket shows: most
/// stretches of this length have none of them, and their ends are known to a thousandth.
const STRETCH_S: f64 = 0.025;

/// A port of the network under test, as bursts show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) direction: Direction,
    /// Layer 1.
    pub(super) line_bps: f64,
}

impl Port {
    /// Seconds from one frame of a burst to the next.
    pub(super) fn slot_s(&self, frame_bytes: u32) -> f64 {
        f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0 / self.line_bps
    }

    /// For a burst of so many frames; `None` where the host may send as fast as it can.
    pub(super) fn pace(&self, frames: u32, frame_bytes: u32) -> Option<Rate> {
        let queued = f64::from(frames) * (1.0 - 1.0 / (self.slot_s(frame_bytes) * HOST_FRAMES_S));
        let faster = 1.0 + QUEUED_FRAMES / f64::from(frames.max(1));
        let pace = self.line_bps * faster.max(PACE_MIN);
        (queued > QUEUED_FRAMES).then_some(Rate::bps(pace as u64))
    }

    /// One burst of about so long.
    pub(super) fn load(&self, frame_bytes: u32, lasts: Duration) -> BurstsLoad {
        let slot_s = self.slot_s(frame_bytes);
        let frames = lasts.as_secs_f64() / slot_s;
        let frames_per_burst = (frames as u32).clamp(LINE_FRAMES, FRAMES_MAX);
        BurstsLoad {
            frame_bytes,
            frames_per_burst,
            bursts: 1,
            period: Duration::from_secs_f64(f64::from(frames_per_burst) * slot_s * 1.05),
            rate_l1: self.pace(frames_per_burst, frame_bytes),
            spacing: BurstSpacing::OnSchedule,
        }
    }

    pub(super) const fn line(&self, frame_bytes: u32) -> Line {
        Line { direction: self.direction, rate_l1: Rate::bps(self.line_bps as u64), frame_bytes }
    }
}

/// A policer as one long overload shows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Policed {
    pub(super) port: Port,
    /// As measured; `None` where nothing was dropped.
    pub(super) refill: Option<Refill>,
    /// A first estimate of it.
    pub(super) depth_bytes: Option<f64>,
    /// Where the excess waits instead: for how many seconds at most, and what passes.
    pub(super) queue: Option<Queue>,
    /// Where nothing was dropped: the line itself, if frames left faster than they arrived.
    pub(super) line: Option<Queue>,
    /// As trains of frames have shown it.
    pub(super) known: Option<Known>,
    /// What is lost and delayed at any rate, as far as that is known.
    pub(super) quiet: Option<Quiet>,
}

/// A shaper, or a line slower than the one in front of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) refill: Refill,
    pub(super) waited_s: f64,
}

impl Queue {
    /// What nearly all later frames of each burst waited for.
    fn of(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<Self> {
        let queues = seen.report.bursts.iter().map(|burst| {
            let passage = Passage::of(burst, |_| true);
            let waited_s = waiting::waited(&passage, slot_s)?;
            let held = waiting::held_back(&passage, slot_s, passage.sent_spacing())?;
            let Refill { bytes_s, uncertainty } = held.refill;
            let refill = Refill { bytes_s: bytes_s * charged_bytes, uncertainty };
            Some(Self { refill, waited_s: held.waited.max(waited_s) })
        });
        queues.collect::<Option<Vec<_>>>()?.into_iter().next()
    }

    /// The line, in front of which all frames of a burst waited.
    fn of_line(seen: &Seen, slot_s: f64, charged_bytes: f64) -> Option<Self> {
        let burst = seen.report.bursts.first()?;
        let passage = Passage::of(burst, |_| true);
        let is_whole = passage.passed_frames() == passage.frames;
        let waited_s = passage.line_time(slot_s) - passage.sent_in;
        let refill = Refill { bytes_s: charged_bytes / slot_s, uncertainty: 0.0 };
        (is_whole && waited_s > 0.0).then_some(Self { refill, waited_s })
    }
}

impl Policed {
    pub(super) const fn unknown(port: &Port) -> Self {
        Self {
            port: *port,
            refill: None,
            depth_bytes: None,
            queue: None,
            line: None,
            known: None,
            quiet: None,
        }
    }

    fn of(port: &Port, seen: &Seen, frame_bytes: u32, charged_bytes: f64) -> Self {
        let found = bucket(&Passage::of_all(seen), port.slot_s(frame_bytes), charged_bytes);
        Self {
            refill: found.map(|(refill, _)| refill),
            depth_bytes: found.and_then(|(_, depth)| Some(depth?.bytes)),
            queue: Queue::of(seen, port.slot_s(frame_bytes), charged_bytes),
            line: Queue::of_line(seen, port.slot_s(frame_bytes), charged_bytes),
            ..Self::unknown(port)
        }
    }

    /// The one of two measurements of which less was wasted.
    fn or_faster(self, other: Self) -> Self {
        let bytes_s = |one: &Self| one.refill.map_or(0.0, |refill| refill.bytes_s);
        if bytes_s(&other) > bytes_s(&self) { other } else { self }
    }
}

/// Measures the line of each direction by bursts that the sender does not hold back.
pub(super) fn lines(
    run: &mut Run<'_>,
    directions: &[Direction],
    frame_bytes: u32,
) -> Result<Vec<Port>, Abort> {
    let load = BurstsLoad {
        frame_bytes,
        frames_per_burst: LINE_FRAMES,
        bursts: LINE_BURSTS,
        period: LINE_PERIOD,
        rate_l1: None,
        spacing: BurstSpacing::OnSchedule,
    };
    let offers: Vec<_> = directions.iter().map(|way| Offer { direction: *way, load }).collect();
    let seen = unspoilt(run, &format!("line rate, {}", names(directions)), &offers)?;
    let on_the_line = f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD);
    let port = |(direction, seen): (&Direction, Seen)| {
        let bursts = seen.report.bursts.iter();
        let slots = bursts.filter_map(|burst| spacing(&Passage::of(burst, |_| true)));
        let slot_s = median(slots.filter(|slot| *slot > 0.0).collect()).ok_or_else(|| {
            Abort::Lost(format!(
                "{direction}: hardly any of {} frames of {frame_bytes} bytes arrived, though \
                 probes did: look for a firewall or a rate limit for UDP",
                LINE_FRAMES * load.bursts
            ))
        })?;
        Ok(Port { direction: *direction, line_bps: on_the_line * 8.0 / slot_s })
    };
    let ports = directions.iter().zip(seen).map(port).collect::<Result<Vec<_>, _>>()?;
    for port in &ports {
        run.report.steps.push(Step::Line(port.line(frame_bytes)));
    }
    Ok(ports)
}

/// What bursts show that no emulated network has spoilt: one that is late lets frames go in clumps,
/// faster than any line, or late ones slower. Of several tries the one that was least late.
fn unspoilt(run: &mut Run<'_>, name: &str, offers: &[Offer]) -> Result<Vec<Seen>, Abort> {
    let mut best = run.bursts(String::from(name), offers, Duration::ZERO)?;
    for _ in 0..REPEATS {
        if best.iter().all(|seen| seen.emulation.late_p99 <= shortest(seen).mul_f64(LATE_SHARE_MAX))
        {
            break;
        }
        let again = run.bursts(String::from(name), offers, Duration::ZERO)?;
        let late = |seen: &[Seen]| seen.iter().map(|seen| seen.emulation.late_p99).max();
        if late(&again) < late(&best) {
            best = again;
        }
    }
    Ok(best)
}

/// The time in which the fastest burst arrived.
fn shortest(seen: &Seen) -> Duration {
    seen.report.bursts.iter().filter_map(BurstReport::arrived_in).min().unwrap_or_default()
}

/// The policer of each direction: as trains of frames have shown it, or by an overload; directions in
/// which the excess waits or passes are left out of what is returned.
pub(super) fn rates(
    run: &mut Run<'_>,
    looked: &[(Port, First)],
    frame_bytes: u32,
) -> Result<Vec<Policed>, Abort> {
    let Goal::Verify { cir, .. } = run.plan.goal else { return Ok(Vec::new()) };
    let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
    let (mut known, mut open) = (Vec::new(), Vec::new());
    for (port, first) in looked {
        match first {
            First::Policer(policer) => {
                let policed = policer.policed(port, frame_bytes, charged_bytes);
                let step = rate_step(run, &policed, (frame_bytes, cir), looked.len() > 1, None);
                run.report.steps.push(Step::Rate(step));
                known.push(policed);
            }
            First::NoPolicer(_) | First::Open(_) => open.push(*port),
        }
    }
    if !open.is_empty() {
        for policed in overloaded(run, &open, looked.len() > 1, frame_bytes)? {
            let is_its = |(port, _): &&(Port, First)| port.direction == policed.port.direction;
            let quiet = looked.iter().find(is_its).and_then(|(_, first)| first.quiet().copied());
            known.push(Policed { quiet, ..policed });
        }
    }
    Ok(known)
}

/// Measures what passes of an overload in each direction, and a first estimate of the depth of its
/// policer.
fn overloaded(
    run: &mut Run<'_>,
    ports: &[Port],
    bidirectional: bool,
    frame_bytes: u32,
) -> Result<Vec<Policed>, Abort> {
    let directions: Vec<Direction> = ports.iter().map(|port| port.direction).collect();
    let Goal::Verify { cir, cbs_bytes } = run.plan.goal else { return Ok(Vec::new()) };
    let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
    let expected =
        Expected { cir_bytes_s: cir.rate.as_bps() as f64 / 8.0, cbs_bytes, charged_bytes };
    let mut lasts = ports
        .iter()
        .map(|port| expected.overload(port.slot_s(frame_bytes)))
        .fold(Duration::ZERO, Duration::max);
    let idle = refill_time(cir.rate, cbs_bytes);
    let tolerance = run.plan.tolerance_percent / 100.0;
    let least_bytes_s = expected.cir_bytes_s * (1.0 - tolerance);
    let mut policed: Vec<Policed> = Vec::new();
    let (mut growths, mut repeats, mut has_waited) = (0, 0, false);
    let flaw = loop {
        let name = format!("overload, {}", names(&directions));
        let seen = offer(run, name, ports, frame_bytes, lasts, idle)?;
        let found: Vec<Policed> = ports
            .iter()
            .zip(&seen)
            .map(|(port, seen)| Policed::of(port, seen, frame_bytes, charged_bytes))
            .collect();
        if found.iter().any(|one| one.queue.is_some()) {
            let stalls =
                |one: &Policed| one.queue.is_some_and(|queue| queue.waited_s <= STALL_MAX_S);
            // Once may have been a stall of the receiver, and a longer overload shows more of a rate.
            if !has_waited && found.iter().any(stalls) {
                (has_waited, lasts) = (true, lasts.max(QUEUE_SHOWN));
                continue;
            }
            policed = found;
            // The other direction may have a bucket that this overload has not emptied.
            let is_open = |one: &Policed| one.queue.is_none() && one.refill.is_none();
            if policed.iter().any(is_open) && growths + 1 < GROWTHS {
                (growths, lasts) = (growths + 1, lasts * GROWTH);
                continue;
            }
            break spoilt(&seen);
        }
        let late = seen.iter().map(|seen| seen.emulation.late_max).max().unwrap_or_default();
        let is_late = found.iter().any(|one| expected.lateness_explains(one, tolerance, late));
        if is_late && repeats < REPEATS {
            repeats += 1;
            continue;
        }
        policed = match policed.len() {
            0 => found,
            _ => policed.into_iter().zip(found).map(|(one, other)| one.or_faster(other)).collect(),
        };
        let slowest = policed.iter().map(|policed| policed.refill.map(|refill| refill.bytes_s));
        match slowest.reduce(|one, other| Some(one?.min(other?))).flatten() {
            None if growths + 1 < GROWTHS => (growths, lasts) = (growths + 1, lasts * GROWTH),
            // Tokens go to waste while a sender stands still for long, and none can be won.
            Some(bytes_s) if bytes_s < least_bytes_s && repeats < REPEATS => repeats += 1,
            _ => break spoilt(&seen).or(is_late.then_some(Flaw::EmulationLate)),
        }
    };
    for policed in policed.iter_mut().filter(|policed| policed.refill.is_none()) {
        policed.queue = policed.queue.or(policed.line);
    }
    for policed in &policed {
        let step = rate_step(run, policed, (frame_bytes, cir), bidirectional, flaw);
        run.report.steps.push(Step::Rate(step));
    }
    policed.retain(|policed| policed.queue.is_none() && policed.refill.is_some());
    Ok(policed)
}

/// Whether an overload was not sent as planned, or an end dropped of it.
fn spoilt(seen: &[Seen]) -> Option<Flaw> {
    let unsent = |seen: &Seen| {
        let asked = |burst: &BurstReport| seen.frames_per_burst > burst.sent_frames;
        seen.report.bursts.iter().any(asked)
    };
    if seen.iter().any(unsent) {
        return Some(Flaw::FramesUnsent);
    }
    seen.iter().any(|seen| seen.dropped_frames > 0).then_some(Flaw::FramesDropped)
}

/// What the plan says of the policer.
struct Expected {
    cir_bytes_s: f64,
    cbs_bytes: u64,
    charged_bytes: f64,
}

impl Expected {
    /// Whether the bucket only seems to refill too fast, because an emulated network let the first
    /// frames of a stretch go so late.
    fn lateness_explains(&self, found: &Policed, tolerance: f64, late: Duration) -> bool {
        let share = found.refill.map_or(0.0, |refill| refill.bytes_s / self.cir_bytes_s - 1.0);
        share > tolerance && share <= late.as_secs_f64() / STRETCH_S
    }

    /// How long an overload empties the bucket and then shows its refill.
    fn overload(&self, slot_s: f64) -> Duration {
        let excess = (self.charged_bytes / slot_s - self.cir_bytes_s).max(self.cir_bytes_s * 0.01);
        let drain = 1.2 * self.cbs_bytes as f64 / excess;
        let watched = WATCHED.max(WATCHED_FRAMES * self.charged_bytes / self.cir_bytes_s);
        Duration::from_secs_f64((drain + watched).min(60.0))
    }
}

/// One burst of about `lasts` in the direction of each port, just faster than its line.
pub(super) fn offer(
    run: &mut Run<'_>,
    name: String,
    ports: &[Port],
    frame_bytes: u32,
    lasts: Duration,
    idle: Duration,
) -> Result<Vec<Seen>, Abort> {
    let offers: Vec<_> = ports
        .iter()
        .map(|port| Offer { direction: port.direction, load: port.load(frame_bytes, lasts) })
        .collect();
    run.bursts(name, &offers, idle)
}

/// Refill and depth of the bucket that long bursts have emptied; `None` where they have not.
pub(super) fn bucket(
    bursts: &[Passage],
    slot_s: f64,
    charged_bytes: f64,
) -> Option<(Refill, Option<Depth>)> {
    let mut refills: Vec<Refill> =
        bursts.iter().filter_map(|burst| refill(burst, slot_s, charged_bytes)).collect();
    // Bursts that hardly emptied the bucket tell little of it.
    let best = refills.iter().map(|refill| refill.uncertainty).fold(f64::MAX, f64::min);
    refills.retain(|refill| refill.uncertainty <= 2.0 * best);
    let bytes_s = upper_quartile(refills.iter().map(|refill| refill.bytes_s).collect())?;
    let refill = Refill { bytes_s, uncertainty: best };
    let begun: Vec<Passage> = bursts.iter().map(|burst| burst.begin(DEPTH_SPANS)).collect();
    Some((refill, estimate::by_bounds(&begun, slot_s, charged_bytes, refill)))
}

/// Of several bursts: a sender that stalls lets tokens go to waste, and none can win any.
fn upper_quartile(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * 3 / 4).min(values.len().saturating_sub(1))).copied()
}

/// The bytes that pass in a second once the bucket is empty.
fn refill(burst: &Passage, slot_s: f64, charged_bytes: f64) -> Option<Refill> {
    const ADMISSIONS_MIN: usize = 4;
    let admissions = burst.admissions();
    let watched = admissions.last()?.0 - admissions.first()?.0;
    if admissions.len() < ADMISSIONS_MIN || watched <= 0.0 {
        return None;
    }
    let mean_frames_s = slope(&burst.admissions_on_time(slope(&admissions)?))?;
    let is_even = burst.strays(mean_frames_s).is_some_and(|stray| stray <= UNEVEN_FRAMES);
    let exact = on_time(&admissions, mean_frames_s, slot_s + ARRIVAL_S);
    let most = slope_of_most(&exact, STRETCH_S).filter(|_| is_even);
    let bytes_s = most.unwrap_or(mean_frames_s) * charged_bytes;
    // Frames come on the line's beat: the steepest stretches look up to half a slot too short.
    let steep = most.map_or(0.0, |_| slot_s / 2.0 / STRETCH_S.min(watched));
    Some(Refill { bytes_s, uncertainty: 2.0 * (slot_s + ARRIVAL_S) / watched + steep })
}

pub(super) fn rate_step(
    run: &Run<'_>,
    policed: &Policed,
    (frame_bytes, cir): (u32, LayeredRate),
    bidirectional: bool,
    flaw: Option<Flaw>,
) -> RateStep {
    let passes = policed.queue.map(|queue| queue.refill).or(policed.refill);
    let rate = |bytes_s: f64| Rate::bps((bytes_s * 8.0) as u64);
    let measured = passes.map(|refill| rate(refill.bytes_s));
    let waited = policed.queue.map(|queue| Duration::from_secs_f64(queue.waited_s));
    let percent = |rate: Rate| 100.0 * (rate.as_bps() as f64 / cir.rate.as_bps() as f64 - 1.0);
    let deviation_percent = measured.map(percent);
    let tolerance = run.plan.tolerance_percent;
    let charged_bytes = f64::from(run.plan.charged_bytes(frame_bytes, cir.layer));
    let by_bursts = |refill: Refill| Bounds::exactly(refill.bytes_s).around(refill.uncertainty);
    let by_trains = policed.known.map(|known| known.bytes_s(frame_bytes, charged_bytes));
    let within = by_trains
        .or(passes.map(by_bursts))
        .map(|Bounds { at_least, at_most, .. }| [rate(at_least), rate(at_most)]);
    let is_within = match (deviation_percent, within) {
        (Some(middle), Some(within)) => estimate::within(within.map(percent), middle, tolerance),
        (middle, _) => Some(middle.is_some_and(|percent| percent.abs() <= tolerance)),
    };
    let flaw = flaw.filter(|_| is_within != Some(true));
    // Whether a policer is set right, a shaper of the right rate does not say.
    let is_shaped = is_within == Some(true) && waited.is_some();
    RateStep {
        direction: policed.port.direction,
        bidirectional,
        frame_bytes,
        cir,
        measured,
        within,
        deviation_percent,
        waited,
        flaw,
        pass: is_within.filter(|_| flaw.is_none() && !is_shaped),
    }
}

/// For how long nothing is sent so that a bucket is full again.
pub(super) fn refill_time(cir: Rate, cbs_bytes: u64) -> Duration {
    cir.max(Rate::bps(1)).time_for(cbs_bytes).mul_f64(1.25) + Duration::from_millis(10)
}

/// The directions of a trial, in words.
pub(super) fn names(directions: &[Direction]) -> &'static str {
    match directions {
        [Direction::Download] => "download",
        [Direction::Upload] => "upload",
        _ => "both directions",
    }
}

impl Passage {
    /// The bursts of a trial, frames that came marked otherwise than the first taken out.
    pub(super) fn of_all(seen: &Seen) -> Vec<Self> {
        let of = |burst: &fp_model::BurstReport| {
            let unmarked = burst.arrived.first().map(|run| run.dscp);
            Self::of(burst, |run: &ArrivedRun| Some(run.dscp) == unmarked)
        };
        seen.report.bursts.iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.6 ms are 2.4 % of the 25 ms over which a refill is seen.
    #[test]
    fn a_refill_is_too_fast_by_lateness_only_where_that_is_large_enough() {
        let expected = Expected { cir_bytes_s: 5e6, cbs_bytes: 64_000, charged_bytes: 1518.0 };
        let port = Port { direction: Direction::Upload, line_bps: 1e9 };
        let explained = |bytes_s, late_us| {
            let refill = Some(Refill { bytes_s, uncertainty: 0.001 });
            let found = Policed { refill, ..Policed::unknown(&port) };
            expected.lateness_explains(&found, 0.02, Duration::from_micros(late_us))
        };
        assert!(explained(5.104e6, 600));
        assert!(!explained(5.104e6, 500));
        assert!(!explained(5.5e6, 600));
        // It is within the tolerance, or too slow, which lateness does not make it.
        assert!(!explained(5.09e6, 600));
        assert!(!explained(4.5e6, 600));
    }
}

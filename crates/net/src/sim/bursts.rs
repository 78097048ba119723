//! Bursts of numbered frames, one way.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    ArrivedRun, BurstReport, BurstSpacing, BurstsLoad, BurstsReport, Dscp, PacketLayout, Rate,
    Sample, Slot, Time,
};

use crate::sim::host::{End, Layer};
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::series::{Seen, Series};
use crate::stream::{BURST_LATENESS_MAX, DepartureCurve, MovedBursts};

/// Frames that are overdue leave together, as many as the kernel cuts from one call of the engine.
const TOGETHER_MAX: usize = 64;

/// Puts frames on its line as fast as the line takes them, or slower where the load says so.
#[derive(Debug)]
pub(crate) struct BurstFlow {
    pub(crate) identity: Identity,
    load: BurstsLoad,
    /// Layer 1, in a burst.
    pace: Rate,
    /// Bursts due in the steady time.
    planned: u32,
    /// The next frame, counted through all bursts.
    sequence: u64,
    /// When the first frame of the current burst left, by the sender's clock.
    began: Time,
    moved: MovedBursts,
    /// When the frames of the current burst left, since it was due.
    curve: Option<DepartureCurve>,
    /// What arrived of each burst that was sent.
    arrived: Vec<Vec<Run>>,
    stopped: bool,
    series: Series,
    seen: Seen,
    highest: Option<u64>,
    report: BurstsReport,
}

/// An [`ArrivedRun`] by the receiver's clock, in nanoseconds since its burst was due.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    frames: u32,
    dscp: Dscp,
    from_ns: i64,
    until_ns: i64,
}

impl BurstFlow {
    pub(crate) fn new(identity: Identity, load: BurstsLoad, line: Rate) -> Self {
        let fitting = match load.period.as_nanos() {
            0 => u128::from(load.bursts),
            period => identity.timing.steady.as_nanos().div_ceil(period),
        };
        let planned = load.bursts.min(u32::try_from(fitting).unwrap_or(u32::MAX));
        Self {
            identity,
            load,
            pace: load.rate_l1.map_or(line, |rate| rate.min(line)),
            planned,
            sequence: 0,
            began: Time::ZERO,
            moved: MovedBursts::default(),
            curve: None,
            arrived: Vec::new(),
            stopped: false,
            series: Series::default(),
            seen: Seen::default(),
            highest: None,
            report: BurstsReport { planned_bursts: planned, ..BurstsReport::default() },
        }
    }

    pub(crate) fn start(&self, network: &mut Network) {
        let Identity { index, direction, start, .. } = self.identity;
        let end = End::that_sends(direction);
        if let Some(due) = self.next_due(self.own_now(network)) {
            let at = start + network.host(end).when(due.since(start));
            network.set_alarm(at, index, Sleeper::Schedule, end);
        }
    }

    /// By the sender's clock.
    fn own_now(&self, network: &Network) -> Time {
        let Identity { direction, start, .. } = self.identity;
        let passed = network.now().since(start);
        start + network.host(End::that_sends(direction)).own(passed)
    }

    /// Frames that have not left when the steady time is over are not sent: nobody would wait for them to arrive.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// A frame is due; those that are overdue leave with it, as fast as the host can.
    pub(crate) fn on_alarm(&mut self, network: &mut Network) {
        let (now, end) = (self.own_now(network), End::that_sends(self.identity.direction));
        for _ in 0..TOGETHER_MAX {
            if !self.send_next(now, network) {
                return;
            }
            let is_over = self.place(self.sequence).1 == 0;
            let is_due = self.next_due(now).is_some_and(|due| due <= now);
            if is_over
                || !is_due
                || network.host(end).sends_from(Layer::Program, network.now()).is_some()
            {
                break;
            }
        }
        self.start(network);
    }

    /// Sends the next frame, or leaves out its whole burst; says whether the flow goes on.
    fn send_next(&mut self, now: Time, network: &mut Network) -> bool {
        if self.stopped {
            return false;
        }
        let (burst, frame) = self.place(self.sequence);
        if frame == 0 {
            if self.is_left_out(burst, now) {
                self.sequence += u64::from(self.load.frames_per_burst);
                return true;
            }
            self.began = now;
        }
        // What does not fit the interface never leaves it.
        let packet_bytes = self.identity.packet_bytes(self.load.frame_bytes);
        if packet_bytes <= self.identity.interface_mtu_bytes {
            self.send((burst, frame), now, packet_bytes, network);
        }
        self.sequence += 1;
        if self.place(self.sequence).1 == 0 && self.load.spacing == BurstSpacing::Apart {
            let due = self.due(burst);
            self.moved.after(self.began.since(due), now.since(due));
        }
        true
    }

    /// A burst that is late, and whose successor is due already.
    fn is_left_out(&self, burst: u32, now: Time) -> bool {
        let free = if burst == 0 { now } else { self.left_by(self.load.frames_per_burst) };
        let late = now.since(self.due(burst).max(free.min(now)));
        self.load.spacing == BurstSpacing::OnSchedule
            && late > BURST_LATENESS_MAX
            && now >= self.due(burst + 1)
    }

    fn send(
        &mut self,
        (burst, frame): (u32, u32),
        now: Time,
        packet_bytes: u32,
        network: &mut Network,
    ) {
        let Identity { index, direction, dscp, .. } = self.identity;
        let left_at = now.since(self.due(burst));
        if self.report.bursts.last().is_none_or(|report| report.burst != burst) {
            let begun = BurstReport { burst, sent_from: left_at, ..BurstReport::default() };
            self.close_curve();
            self.report.bursts.push(begun);
            self.arrived.push(Vec::new());
            let slot = self.lasts(1);
            let curve = |_| DepartureCurve::new(slot, self.load.bursts);
            self.curve = self.load.rate_l1.map(curve);
        }
        if let Some(curve) = &mut self.curve {
            curve.left(frame, left_at);
        }
        let behind = match self.load.rate_l1 {
            Some(_) => now.since(self.left_by(frame)),
            None => Duration::ZERO,
        };
        if let Some(report) = self.report.bursts.last_mut() {
            report.sent_frames += 1;
            report.sent_until = left_at;
            report.behind = report.behind.max(behind);
        }
        self.series.sent_bytes += u64::from(self.load.frame_bytes);
        let packet = Packet::Numbered { sequence: self.sequence, unsent_before: 0, sent_at: now };
        network.send(index, direction, dscp, packet_bytes, packet);
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, dscp: Dscp, network: &Network) {
        let Packet::Numbered { sequence, .. } = packet else { return };
        let (burst, frame) = self.place(sequence);
        let sent = self.report.bursts.binary_search_by_key(&burst, |report| report.burst);
        if !self.seen.insert(sequence) {
            self.report.duplicate_frames += 1;
            if let Ok(place) = sent {
                let twice = &mut self.report.bursts[place].twice;
                if let Err(place) = twice.binary_search(&frame) {
                    twice.insert(place, frame);
                }
            }
            return;
        }
        self.series.received_bytes += u64::from(self.load.frame_bytes);
        let is_late = self.highest.is_some_and(|highest| sequence < highest);
        self.report.out_of_order_frames += u64::from(is_late);
        self.highest = self.highest.max(Some(sequence));
        let Identity { direction, start, .. } = self.identity;
        let stamp_ns = network.host(End::that_receives(direction)).stamp_ns(start, network.now());
        let at_ns = stamp_ns - self.due(burst).since(start).as_nanos() as i64;
        if let Ok(place) = sent {
            self.report.bursts[place].received_frames += 1;
            add(&mut self.arrived[place], frame, dscp, at_ns);
        }
    }

    /// A frame arrived spoilt.
    pub(crate) fn on_corrupt(&mut self) {
        self.report.corrupt_frames += 1;
    }

    pub(crate) fn close_slot(&mut self, slot: Slot) -> Sample {
        self.series.close(slot, None)
    }

    /// As the engine's near end joins the halves: where frames would have arrived before they left,
    /// by two clocks, all arrivals are moved by as much.
    pub(crate) fn into_report(mut self) -> BurstsReport {
        self.close_curve();
        let pairs = || self.report.bursts.iter().zip(&self.arrived);
        let too_early_ns = pairs().filter_map(|(burst, runs)| {
            let first = runs.iter().map(|run| run.from_ns).min()?;
            Some(burst.sent_from.as_nanos() as i64 - first)
        });
        let later_ns = too_early_ns.max().unwrap_or(0).max(0);
        let report = |(burst, runs): (&BurstReport, &Vec<Run>)| BurstReport {
            arrived: runs.iter().map(|run| run.moved(later_ns)).collect(),
            ..burst.clone()
        };
        let bursts = pairs().map(report).collect();
        BurstsReport { bursts, series: self.series.into_samples(), ..self.report }
    }

    /// The last burst has left, and its curve is drawn.
    fn close_curve(&mut self) {
        if let (Some(curve), Some(report)) = (self.curve.take(), self.report.bursts.last_mut()) {
            (report.departures, report.departures_within) = curve.into_departures();
        }
    }

    fn next_due(&self, now: Time) -> Option<Time> {
        let (burst, frame) = self.place(self.sequence);
        if burst >= self.planned {
            return None;
        }
        if frame == 0 {
            // The last frame of the burst before still leaves.
            let free = if burst == 0 { now } else { self.left_by(self.load.frames_per_burst) };
            return Some((self.due(burst) + self.moved.by()).max(free));
        }
        Some(self.left_by(frame))
    }

    /// When so many frames of the current burst have left.
    fn left_by(&self, frames: u32) -> Time {
        self.began + self.lasts(frames)
    }

    fn lasts(&self, frames: u32) -> Duration {
        let frame_bytes = self.load.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD;
        self.pace.time_for(u64::from(frame_bytes) * u64::from(frames))
    }

    fn due(&self, burst: u32) -> Time {
        self.identity.start + self.identity.timing.warm_up + self.load.period * burst
    }

    /// Burst and frame of a number.
    fn place(&self, sequence: u64) -> (u32, u32) {
        let per_burst = u64::from(self.load.frames_per_burst);
        ((sequence / per_burst) as u32, (sequence % per_burst) as u32)
    }
}

impl Run {
    fn moved(&self, later_ns: i64) -> ArrivedRun {
        let at = |ns: i64| Duration::from_nanos(u64::try_from(ns + later_ns).unwrap_or(0));
        ArrivedRun {
            first: self.first,
            frames: self.frames,
            dscp: Some(self.dscp),
            from: at(self.from_ns),
            until: at(self.until_ns),
        }
    }
}

/// Adds a frame to the run that it continues, or begins one where its number belongs.
fn add(runs: &mut Vec<Run>, frame: u32, dscp: Dscp, at_ns: i64) {
    const SILENCE_MAX_NS: i64 = ArrivedRun::SILENCE_MAX.as_nanos() as i64;
    let place = runs.partition_point(|run| run.first <= frame);
    if let Some(run) = place.checked_sub(1).and_then(|before| runs.get_mut(before))
        && run.first + run.frames == frame
        && run.dscp == dscp
        && run.frames < ArrivedRun::FRAMES_MAX
        && at_ns - run.until_ns <= SILENCE_MAX_NS
    {
        run.frames += 1;
        // The wall clock, by which the kernel stamps, may have been set back.
        run.until_ns = run.until_ns.max(at_ns);
        return;
    }
    runs.insert(place, Run { first: frame, frames: 1, dscp, from_ns: at_ns, until_ns: at_ns });
}

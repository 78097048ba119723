//! Bursts of numbered frames, one way.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{
    ArrivedRun, BurstReport, BurstsLoad, BurstsReport, Dscp, PacketLayout, Rate, Sample, Slot, Time,
};

use crate::sim::flow::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::sim::series::{Seen, Series};

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
    /// When the first frame of the current burst left.
    began: Time,
    stopped: bool,
    series: Series,
    seen: Seen,
    highest: Option<u64>,
    report: BurstsReport,
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
            stopped: false,
            series: Series::default(),
            seen: Seen::default(),
            highest: None,
            report: BurstsReport { planned_bursts: planned, ..BurstsReport::default() },
        }
    }

    pub(crate) fn start(&self, network: &mut Network) {
        if let Some(due) = self.next_due(network.now()) {
            network.set_alarm(due, self.identity.index, Sleeper::Schedule);
        }
    }

    /// Bursts that have not begun when the steady time is over are not sent.
    pub(crate) fn stop(&mut self) {
        self.stopped = true;
    }

    /// A frame is due.
    pub(crate) fn on_alarm(&mut self, network: &mut Network) {
        let (burst, frame) = self.place(self.sequence);
        if frame == 0 {
            if self.stopped {
                return;
            }
            self.began = network.now();
        }
        // What does not fit the interface never leaves it.
        let packet_bytes = self.identity.packet_bytes(self.load.frame_bytes);
        if packet_bytes <= self.identity.interface_mtu_bytes {
            self.send(burst, packet_bytes, network);
        }
        self.sequence += 1;
        self.start(network);
    }

    fn send(&mut self, burst: u32, packet_bytes: u32, network: &mut Network) {
        let Identity { index, direction, dscp, .. } = self.identity;
        let now = network.now();
        let left_at = now.since(self.due(burst));
        if self.report.bursts.last().is_none_or(|report| report.burst != burst) {
            let begun = BurstReport { burst, sent_from: left_at, ..BurstReport::default() };
            self.report.bursts.push(begun);
        }
        if let Some(report) = self.report.bursts.last_mut() {
            report.sent_frames += 1;
            report.sent_until = left_at;
        }
        self.series.sent_bytes += u64::from(self.load.frame_bytes);
        let packet = Packet::Numbered { sequence: self.sequence, unsent_before: 0, sent_at: now };
        network.send(index, direction, dscp, packet_bytes, packet);
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, dscp: Dscp, now: Time) {
        let Packet::Numbered { sequence, .. } = packet else { return };
        if !self.seen.insert(sequence) {
            self.report.duplicate_frames += 1;
            return;
        }
        self.series.received_bytes += u64::from(self.load.frame_bytes);
        let is_late = self.highest.is_some_and(|highest| sequence < highest);
        self.report.out_of_order_frames += u64::from(is_late);
        self.highest = self.highest.max(Some(sequence));
        let (burst, frame) = self.place(sequence);
        let at = now.since(self.due(burst));
        // Every burst so far has been sent, the frames of each at once.
        if let Some(report) = self.report.bursts.get_mut(burst as usize) {
            report.received_frames += 1;
            add(&mut report.arrived, frame, dscp, at);
        }
    }

    /// A frame arrived spoilt.
    pub(crate) fn on_corrupt(&mut self) {
        self.report.corrupt_frames += 1;
    }

    pub(crate) fn close_slot(&mut self, slot: Slot) -> Sample {
        self.series.close(slot, None)
    }

    pub(crate) fn into_report(self) -> BurstsReport {
        BurstsReport { series: self.series.into_samples(), ..self.report }
    }

    fn next_due(&self, now: Time) -> Option<Time> {
        let (burst, frame) = self.place(self.sequence);
        if burst >= self.planned {
            return None;
        }
        if frame == 0 {
            // The last frame of the burst before still leaves.
            let free = if burst == 0 { now } else { self.left_by(self.load.frames_per_burst) };
            return Some(self.due(burst).max(free));
        }
        Some(self.left_by(frame))
    }

    /// When so many frames of the current burst have left.
    fn left_by(&self, frames: u32) -> Time {
        let frame_bytes = self.load.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD;
        self.began + self.pace.time_for(u64::from(frame_bytes) * u64::from(frames))
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

/// Adds a frame to the run that it continues, or begins one where its number belongs.
fn add(runs: &mut Vec<ArrivedRun>, frame: u32, dscp: Dscp, at: Duration) {
    let dscp = Some(dscp);
    let place = runs.partition_point(|run| run.first <= frame);
    if let Some(run) = place.checked_sub(1).and_then(|before| runs.get_mut(before))
        && run.first + run.frames == frame
        && run.dscp == dscp
        && run.frames < ArrivedRun::FRAMES_MAX
        && at.saturating_sub(run.until) <= ArrivedRun::SILENCE_MAX
    {
        run.frames += 1;
        run.until = at;
        return;
    }
    runs.insert(place, ArrivedRun { first: frame, frames: 1, dscp, from: at, until: at });
}

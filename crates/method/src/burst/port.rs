//! The line that bursts come by.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Abort, BurstReport, BurstSpacing, BurstsLoad, Direction, PacketLayout, Rate};

use super::arrivals::{sent_spacing, spacing};
use super::{Line, Offer, Run, Seen, median};
use crate::tester::REPEATS;

/// Enough to draw a line through, and few enough for the queue of any port.
pub(super) const LINE_FRAMES: u32 = 250;
const LINE_BURSTS: u32 = 3;
const LINE_PERIOD: Duration = Duration::from_millis(50);
/// A host puts frames on a line that takes them at once no faster than this.
const HOST_FRAMES_S: f64 = 2e6;
/// Bursts of which more would have to queue before the line are paced, a little faster than the
/// line: it is never idle, and its queue grows slowly.
const QUEUED_FRAMES: f64 = 600.0;
const PACE_MIN: f64 = 1.02;
/// An emulated network may be late by this share of the time that a burst takes.
const LATE_SHARE_MAX: f64 = 0.05;

/// A port of the network under test, as bursts show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Port {
    pub(super) direction: Direction,
    /// Layer 1.
    pub(super) line_bps: f64,
    /// Where frames come unevenly the line may be as fast as this.
    fastest_bps: f64,
    /// How fast the bursts left by which it was measured.
    sent_bps: f64,
}

impl Port {
    /// Seconds from one frame of a burst to the next.
    pub(super) fn slot_s(&self, frame_bytes: u32) -> f64 {
        f64::from(frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD) * 8.0 / self.line_bps
    }

    /// For a burst of this number of frames; `None` where the host may send as fast as it can.
    pub(super) fn pace(&self, frames: u32, frame_bytes: u32) -> Option<Rate> {
        let queued = f64::from(frames) * (1.0 - 1.0 / (self.slot_s(frame_bytes) * HOST_FRAMES_S));
        let faster = 1.0 + QUEUED_FRAMES / f64::from(frames.max(1));
        let pace = self.fastest_bps * faster.max(PACE_MIN);
        (queued > QUEUED_FRAMES).then_some(Rate::bps(pace as u64))
    }

    pub(super) const fn fastest_l1(&self) -> Rate {
        Rate::bps(self.fastest_bps as u64)
    }

    /// The line carries at least what came through, and is faster at most by what uneven delays, which
    /// differ by up to `range_s`, may have stretched a burst by. A line is no faster than frames left.
    pub(super) fn bound(&mut self, frame_bytes: u32, came_bps: f64, range_s: f64) {
        self.line_bps = self.line_bps.max(came_bps);
        let lasted_s = self.slot_s(frame_bytes) * f64::from(LINE_FRAMES - 1);
        let at_line_rate = 1.0 - range_s / lasted_s;
        let sent_bps = self.sent_bps.max(self.line_bps);
        let stretched = at_line_rate * sent_bps > self.line_bps;
        self.fastest_bps = if stretched { self.line_bps / at_line_rate } else { sent_bps };
    }

    pub(super) const fn line(&self, frame_bytes: u32) -> Line {
        let (rate_l1, fastest_l1) = (Rate::bps(self.line_bps as u64), self.fastest_l1());
        Line { direction: self.direction, rate_l1, fastest_l1, frame_bytes }
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
    let range_s = run.uneven.as_secs_f64();
    let port = |(direction, seen): (&Direction, Seen)| {
        let bursts = &seen.report.bursts;
        let came = median(bursts.iter().filter_map(|burst| spacing(burst, range_s)).collect());
        let left = bursts.iter().filter_map(sent_spacing).fold(f64::INFINITY, f64::min);
        // Where hardly one frame of a burst arrives, the line counts as fast as they left.
        let has_come = bursts.iter().any(|burst| burst.received_frames > 0);
        let as_left = Some(left).filter(|left| has_come && left.is_finite());
        let slot_s = came.or(as_left).ok_or_else(|| {
            Abort::Lost(format!(
                "{direction}: none of {} frames of {frame_bytes} bytes arrived, though \
                 probes did: look for a firewall or a rate limit for UDP",
                LINE_FRAMES * load.bursts
            ))
        })?;
        let line_bps = on_the_line * 8.0 / slot_s;
        let sent_bps = on_the_line * 8.0 / left.min(slot_s);
        Ok(Port { direction: *direction, line_bps, fastest_bps: line_bps, sent_bps })
    };
    directions.iter().zip(seen).map(port).collect()
}

/// The bursts of the try in which an emulated network was least late: one that is late lets frames go
/// together, faster than any line, or late ones slower.
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

//! What became of a one-way stream of frames: counts, times and what was lost when.

use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::in_json::{nanos, nanos_if_known};
use crate::{Dscp, Ecn, Sample};

/// How a one-way stream of frames fared. A frame belongs to the phase in which it was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FramesReport {
    /// Frames due in the steady time.
    pub planned_frames: u64,
    /// Frames of the steady time that were sent.
    pub sent_frames: u64,
    /// Bytes of the frames sent.
    pub sent_bytes: u64,
    /// Frames of the steady time that arrived, each counted once.
    pub received_frames: u64,
    /// Bytes of the frames received.
    pub received_bytes: u64,
    /// `None` where the receiver does not tell.
    pub out_of_order_frames: Option<u64>,
    /// The same.
    pub duplicate_frames: Option<u64>,
    /// Frames of the whole trial that arrived with a wrong checksum; they are lost as well. `None`
    /// where the receiver does not tell.
    pub corrupt_frames: Option<u64>,
    /// The time that the steady frames sent stand for: from the first to the last, and the last
    /// one's share of that time more.
    #[serde(rename = "sent_in_ns", with = "nanos")]
    pub sent_in: Duration,
    /// The same at the receiver; `None` with fewer than two frames, and where it does not tell.
    #[serde(rename = "received_in_ns", with = "nanos_if_known")]
    pub received_in: Option<Duration>,
    /// When the first of them arrived, from the start of the trial by the receiver's clock: for what
    /// arrived at the same end. `None` where it does not tell.
    #[serde(rename = "first_arrived_ns", with = "nanos_if_known")]
    pub first_arrived: Option<Duration>,
    /// Growth of the one-way delay over its smallest value during the whole trial, 99th percentile
    /// of the steady frames; `None` where nothing arrived.
    #[serde(rename = "delay_growth_p99_ns", with = "nanos_if_known")]
    pub delay_growth_p99: Option<Duration>,
    /// Of the steady frames; `None` where nothing arrived.
    pub delay: Option<DelaySummary>,
    /// Of the steady frames; `None` with fewer than two of them.
    pub jitter: Option<Jitter>,
    pub gaps: Gaps,
    /// Those seconds of the steady time of whose frames some were lost, in order; `None` where the
    /// receiver does not tell which were.
    pub lossy_seconds: Option<Vec<LossySecond>>,
    /// Runs of lost frames, however long each of them is; `None` where the receiver does not tell.
    pub loss_events: Option<u64>,
    /// Frames lost one after the other; frames that were not sent do not interrupt a run.
    pub longest_loss_run: Option<u64>,
    /// When the last frame of the last such run was due, from the start of the trial; `None` where
    /// nothing was lost, or nobody knows.
    #[serde(rename = "last_lost_ns", with = "nanos_if_known")]
    pub last_lost: Option<Duration>,
    /// Steady frames by the code point with which they arrived.
    pub dscp_received: Vec<DscpCount>,
    /// Steady frames by the ECN field with which they arrived.
    pub ecn_received: Vec<EcnCount>,
    pub sent_by: SentBy,
    /// Bytes of layer 2 frames.
    pub series: Vec<Sample>,
    /// Where the load asks for it, and the receiver tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<FrameTrace>,
}

/// How the frames of a whole trial arrived, its warm-up included: the curve of arrivals in little
/// room, by slices of successive numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameTrace {
    /// How many numbers a slice stands for; the last one for those that are left.
    pub frames_per_slice: u32,
    pub slices: Vec<TraceSlice>,
}

impl FrameTrace {
    /// A trial of fewer frames has one for each.
    pub const SLICES_MAX: u32 = 1024;

    /// Without any arrival, for so many frames.
    pub fn blank(frames: u64) -> Self {
        let frames_per_slice = frames.div_ceil(Self::SLICES_MAX.into()).max(1) as u32;
        let slices = frames.div_ceil(frames_per_slice.into()) as usize;
        Self { frames_per_slice, slices: alloc::vec![TraceSlice::default(); slices] }
    }
}

/// What arrived of successive frames: how many; when they had left in the mean, in nanoseconds since
/// the start of the trial by the sender's clock; how long after that they arrived in the mean, by both
/// clocks; and the shortest time between one of them and the arrival before it, zero of the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(u32, u64, i64, u64)", from = "(u32, u64, i64, u64)")]
pub struct TraceSlice {
    pub arrived: u32,
    pub sent_ns: u64,
    pub delay_ns: i64,
    pub gap_ns: u64,
}

impl From<TraceSlice> for (u32, u64, i64, u64) {
    fn from(TraceSlice { arrived, sent_ns, delay_ns, gap_ns }: TraceSlice) -> Self {
        (arrived, sent_ns, delay_ns, gap_ns)
    }
}

impl From<(u32, u64, i64, u64)> for TraceSlice {
    fn from((arrived, sent_ns, delay_ns, gap_ns): (u32, u64, i64, u64)) -> Self {
        Self { arrived, sent_ns, delay_ns, gap_ns }
    }
}

impl FramesReport {
    /// Growth of the one-way delay of the median frame over the smallest of the whole trial.
    pub fn delay_growth_median(&self) -> Option<Duration> {
        let delay = self.delay?;
        Some(self.delay_growth_p99?.saturating_sub(delay.p99.saturating_sub(delay.p50)))
    }
}

/// One-way delay, from the instant at which a frame was given to the host that sent it. Never below
/// zero, whatever the two clocks make of it.
///
/// Percentiles are nearest ranks: of all frames up to 131,072 of them, of an even sample beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelaySummary {
    #[serde(rename = "min_ns", with = "nanos")]
    pub min: Duration,
    #[serde(rename = "mean_ns", with = "nanos")]
    pub mean: Duration,
    #[serde(rename = "p50_ns", with = "nanos")]
    pub p50: Duration,
    #[serde(rename = "p99_ns", with = "nanos")]
    pub p99: Duration,
    #[serde(rename = "p99_9_ns", with = "nanos")]
    pub p99_9: Duration,
    #[serde(rename = "max_ns", with = "nanos")]
    pub max: Duration,
    /// How wrong each of them may be, all by the same: what is not known of the two clocks.
    #[serde(rename = "error_ns", with = "nanos")]
    pub error: Duration,
    pub samples: u64,
}

/// Variation of the one-way delay from one frame to the next; it does not depend on the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jitter {
    /// The running estimate of RFC 3550 section 6.4.1 as it stood after the last frame.
    #[serde(rename = "rfc3550_ns", with = "nanos")]
    pub rfc3550: Duration,
    /// Mean magnitude over the pairs of frames that were due one after the other (RFC 5481
    /// section 4.1), zero where there is no such pair; `None` where the receiver does not tell.
    #[serde(rename = "mean_ns", with = "nanos_if_known")]
    pub mean: Option<Duration>,
}

/// What was really sent against what was planned, steady frames.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gaps {
    /// How much later than due each frame left.
    pub lateness: Deviations,
    /// How much the time between two successive departures differed from the plan, either way.
    pub gap: Deviations,
}

/// Deviations from a plan. Percentiles are nearest ranks, up to 3 % too high.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviations {
    pub count: u64,
    #[serde(rename = "p50_ns", with = "nanos")]
    pub p50: Duration,
    #[serde(rename = "p99_ns", with = "nanos")]
    pub p99: Duration,
    #[serde(rename = "max_ns", with = "nanos")]
    pub max: Duration,
    /// How many there were below 1 µs, from 1 µs, from 2, from 4, 8, 16 µs and so on; no more bins
    /// than are needed.
    pub log2_bins_us: Vec<u64>,
}

/// A second of the steady time of whose frames some were lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossySecond {
    /// From the beginning of the steady time.
    pub second: u32,
    /// Frames due in it that were sent.
    pub sent_frames: u64,
    /// Those of them that did not arrive.
    pub lost_frames: u64,
}

/// Frames that arrived with one code point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DscpCount {
    /// `None` where the receiver cannot see it.
    pub dscp: Option<Dscp>,
    pub frames: u64,
}

/// Frames that arrived with one ECN field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EcnCount {
    /// `None` where the receiver cannot see it.
    pub ecn: Option<Ecn>,
    pub frames: u64,
}

/// How frames were given to the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SentBy {
    /// Through the host's UDP and IP.
    #[default]
    UdpSocket,
    /// Whole frames past them.
    PacketSocket,
}

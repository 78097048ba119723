//! What an RFC 2544 run found, step by step.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{Direction, Layer, LayeredRate, PacketLayout, Rate, SentBy};

use super::Way;
use crate::mlr::{Goal, GoalResult};
use crate::path::{BaselineRtt, PathMtu};
use crate::tester::TOLERATED;

/// The steps in the order they ran, and what follows from them.
pub type Report = crate::verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    PathMtu(PathMtu),
    BaselineRtt(BaselineRtt),
    LineRate(LineRate),
    Throughput(Throughput),
    Latency(Latency),
    FrameLoss(FrameLoss),
    BackToBack(BackToBack),
    Recovery(Recovery),
}

/// Frames of one length at an even rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    pub frame_bytes: u32,
    pub rate_l1: Rate,
}

impl FrameRate {
    pub fn frames_per_second(&self) -> f64 {
        self.rate_l1.as_bps() as f64 / (8.0 * self.bytes_l1() as f64)
    }

    /// Of one frame on the line.
    pub(super) fn bytes_l1(&self) -> u64 {
        u64::from(self.frame_bytes + PacketLayout::ETHERNET_L1_OVERHEAD)
    }

    /// Of an untagged frame at layer 3.
    pub fn at(&self, layer: Layer) -> Rate {
        let packet_bytes = self.frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD;
        let l1 = LayeredRate { rate: self.rate_l1, layer: Layer::L1 };
        PacketLayout::ethernet(packet_bytes, 0).convert(l1, layer)
    }

    /// Frames of the same length at another rate.
    pub const fn with_rate(self, rate_l1: Rate) -> Self {
        Self { rate_l1, ..self }
    }

    pub fn percent_of(&self, line_l1: Rate) -> f64 {
        100.0 * self.rate_l1.as_bps() as f64 / line_l1.as_bps().max(1) as f64
    }
}

/// What the medium carries in one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineRate {
    pub direction: Direction,
    /// `None` where it is neither known nor that of an Ethernet.
    pub line_l1: Option<Rate>,
    pub source: LineSource,
    /// The longest frames, at the highest rate that came through.
    pub reached: FrameRate,
    pub trials: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSource {
    Given,
    /// What came through when more was offered.
    Found,
    /// The tester could not send enough to reach the limit of the path.
    TesterLimit,
    /// The plan forbids to send enough.
    RateCap,
}

impl fmt::Display for LineSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Given => "given",
            Self::Found => "found",
            Self::TesterLimit => "tester_limit",
            Self::RateCap => "rate_cap",
        })
    }
}

/// What ended a search upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The network lost frames of the next higher rate.
    Network,
    /// The medium carries no more: the theoretical maximum was reached.
    Line,
    /// The tester could not send or receive more.
    Tester,
    /// The plan forbids to send more.
    RateCap,
    /// Frames of this length do not fit the path: nothing was sent.
    PathMtu,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Network => "network",
            Self::Line => "line",
            Self::Tester => "tester",
            Self::RateCap => "rate_cap",
            Self::PathMtu => "path_mtu",
        })
    }
}

/// Section 26.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    pub way: Way,
    pub frame_bytes: u32,
    /// Each way; `None` where no rate passed.
    pub found: Option<FrameRate>,
    /// The interval that holds it, as far as it is known: from what a trial as short as these cannot
    /// forgive ...
    pub at_least: Option<FrameRate>,
    /// ... to the least that was too much.
    pub at_most: Option<FrameRate>,
    /// The most that the line carries; `None` where that is not known.
    pub theoretical: Option<FrameRate>,
    pub limit: Limit,
    pub trials: Vec<TrialRow>,
    /// What an MLRsearch says of each of its goals.
    pub goals: Vec<(Goal, GoalResult)>,
}

impl Throughput {
    pub fn percent_of_line(&self) -> Option<f64> {
        Some(self.found?.percent_of(self.theoretical?.rate_l1))
    }
}

/// One trial, both ways together where frames went both ways.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialRow {
    /// What was to be sent, each way.
    pub offered: FrameRate,
    pub lasts: Duration,
    pub planned_frames: u64,
    pub sent_frames: u64,
    pub received_frames: u64,
    /// By the ends themselves.
    pub dropped_by_tester: u64,
    pub out_of_order_frames: Option<u64>,
    pub duplicate_frames: Option<u64>,
    /// Of two ways the slower one.
    pub sent_by: SentBy,
    pub passed: bool,
    /// The tester could not send or receive it as planned, however often it was tried.
    pub tester_limit: bool,
    /// Times that it was tried before, because the tester had spoilt it.
    pub repeats: u32,
    /// At the length that the plan asks of the final determination.
    pub confirmation: bool,
}

impl TrialRow {
    //= rfc2544 26.3
    pub fn loss_percent(&self) -> f64 {
        let lost = self.sent_frames.saturating_sub(self.received_frames);
        100.0 * lost as f64 / self.sent_frames.max(1) as f64
    }

    /// Whether the tester is why it failed: it could not send or receive as planned, and the network
    /// lost no larger share of what was sent than the tester left unsent.
    pub(super) fn failed_by_tester(&self) -> bool {
        let lost = self.sent_frames.saturating_sub(self.received_frames);
        let in_network = lost.saturating_sub(self.dropped_by_tester) as f64;
        let unsent = self.planned_frames.saturating_sub(self.sent_frames) as f64;
        let share_lost = in_network / self.sent_frames.max(1) as f64;
        let share_unsent = unsent / self.planned_frames.max(1) as f64;
        self.tester_limit && share_lost <= share_unsent + TOLERATED
    }
}

/// Section 26.2.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub way: Way,
    pub rate: FrameRate,
    pub clock: DelayClock,
    /// The mean of each repetition.
    pub means: Vec<Duration>,
    pub min: Duration,
    pub mean: Duration,
    pub max: Duration,
}

/// Whose clocks say how long a frame took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayClock {
    /// One way, by two clocks that agree to this.
    BothEnds { error: Duration },
    /// There and back, by one clock.
    RoundTrip,
}

/// Section 26.3.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameLoss {
    pub way: Way,
    pub frame_bytes: u32,
    /// The rate that stands for 100 %.
    pub highest: FrameRate,
    /// From the highest rate downwards.
    pub trials: Vec<TrialRow>,
}

/// Section 26.4, as RFC 9004 has it.
#[derive(Clone, Debug, PartialEq)]
pub struct BackToBack {
    pub way: Way,
    pub frame_bytes: u32,
    /// Why there is no figure.
    pub skipped: Option<Skipped>,
    /// The longest burst of each repetition, in frames.
    pub longest_frames: Vec<u64>,
    /// The longest burst that was tried.
    pub limit_frames: u64,
    /// Bounds of the search closer than this are not told apart.
    pub step_frames: u64,
    pub trials: u32,
    pub figures: Option<BurstFigures>,
}

impl BackToBack {
    //= rfc9004 6.2
    /// The buffers hold more than the longest burst that was tried, or almost that: how much more is
    /// not known.
    pub fn is_at_limit(&self) -> bool {
        let longest = self.longest_frames.iter().max();
        longest.is_some_and(|frames| *frames as f64 >= 0.95 * self.limit_frames as f64)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The throughput is what the line carries: no burst fills a buffer.
    NoOverload,
    /// Nobody said what the line carries.
    LineUnknown,
    /// Bursts at the rate of the line would be faster than the plan allows.
    RateCap,
    /// No rate passed without loss.
    NoThroughput,
    /// No burst passed without loss.
    NoBurst,
    /// The tester could not send its bursts as fast as the line is.
    TesterLimit,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NoOverload => "the throughput is the line's",
            Self::LineUnknown => "the line rate is not known: give it with --line-rate",
            Self::RateCap => "the line is faster than what may be sent: see --yes-saturate",
            Self::NoThroughput => "no rate passed",
            Self::NoBurst => "no burst passed",
            Self::TesterLimit => "the tester cannot send as fast as the line is",
        })
    }
}

/// Over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstFigures {
    pub average_frames: f64,
    pub min_frames: u64,
    pub max_frames: u64,
    pub deviation_frames: f64,
    pub implied_buffer: Duration,
    pub corrected_buffer: Duration,
}

/// Section 26.5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    pub way: Way,
    pub overload: FrameRate,
    pub reduced: FrameRate,
    /// From the reduction to the last loss; `None` where the overload lost nothing either.
    pub recovery: Option<Duration>,
    pub lost_in_overload_frames: u64,
    pub lost_after_frames: u64,
    /// The most that a frame was late: by about twice that the recovery may be too long.
    pub sent_late_max: Duration,
    pub tester_limit: bool,
}

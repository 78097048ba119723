//! What an RFC 2544 run found, step by step, and how documents have it.

mod back_to_back;
mod frame_loss;
mod latency;
mod line;
mod recovery;
mod throughput;
mod trial;

use fp_model::figure::Row;
use fp_model::{Layer, LayeredRate, PacketLayout, Rate};

pub use back_to_back::{BACK_TO_BACK, BackToBack, BurstFigures, Skipped};
pub use frame_loss::{FRAME_LOSS, FrameLoss};
pub use latency::{DelayClock, LATENCY, Latency};
pub use line::{LINE_RATE, LineRate, LineSource};
pub use recovery::{RECOVERY, Recovery};
pub use throughput::{Limit, THROUGHPUT, Throughput};
pub use trial::TrialRow;

use crate::path::{BASELINE_RTT, BaselineRtt, PATH_MTU, PathMtu};

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

impl Step {
    /// As documents have it.
    pub fn row(&self) -> Row {
        match self {
            Self::PathMtu(mtu) => PATH_MTU.row(mtu),
            Self::BaselineRtt(baseline) => BASELINE_RTT.row(baseline),
            Self::LineRate(line) => LINE_RATE.row(line),
            Self::Throughput(found) => THROUGHPUT.row(found),
            Self::Latency(found) => LATENCY.row(found),
            Self::FrameLoss(found) => FRAME_LOSS.row(found),
            Self::BackToBack(found) => BACK_TO_BACK.row(found),
            Self::Recovery(found) => RECOVERY.row(found),
        }
    }
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
    pub(in crate::rfc2544) fn bytes_l1(&self) -> u64 {
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

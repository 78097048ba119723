//! What the user asks of an RFC 2544 run.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{
    Direction, Dscp, Family, FlowSpec, FramesLoad, Layer, LayeredRate, Load, PacketLayout, Rate,
};
use serde::{Deserialize, Serialize};

use super::steps::FrameRate;
use crate::formula::seconds;
use crate::mlr::Goal;
use crate::search::SearchKind;

/// Every input of a run after defaults were filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub family: Family,
    /// Largest packet that the near end's interface takes: where the search for the path MTU ends.
    pub interface_mtu_bytes: u32,
    pub dscp: Dscp,
    /// That the network puts on each frame; the frame lengths include them.
    #[serde(default)]
    pub vlan_tags: u8,
    pub tests: Vec<Test>,
    /// From destination address to FCS.
    pub frame_lengths_bytes: Vec<u32>,
    /// Frames as long as the path takes are tested too.
    pub path_mtu_row: bool,
    pub ways: Vec<Way>,
    /// Of the medium, at layer 1; `None`: found with the longest frames.
    #[serde(rename = "line_rate_l1_bps")]
    pub line_rate_l1: Option<Rate>,
    /// No trial offers more, counted at layer 1.
    #[serde(rename = "rate_cap_l1_bps")]
    pub rate_cap_l1: Rate,
    pub search: SearchKind,
    /// A step of the binary and the fast search, of the rate that they find.
    pub resolution_percent: f64,
    /// A trial with no more loss has passed: 0 is what the RFC asks for.
    pub accepted_loss_ratio: f64,
    /// What an MLRsearch is to find; the first goal's is the throughput.
    pub goals: Vec<Goal>,
    pub durations: Durations,
    pub latency_repetitions: u32,
    pub burst_repetitions: u32,
    /// From one trial of the frame loss test to the next, of the highest rate; 10 at most.
    pub loss_step_percent: f64,
    pub criteria: Criteria,
}

/// The tests of section 26 that need nobody to pull a plug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    Throughput,
    Latency,
    FrameLoss,
    BackToBack,
    Recovery,
}

impl Test {
    pub const ALL: [Self; 5] =
        [Self::Throughput, Self::Latency, Self::FrameLoss, Self::BackToBack, Self::Recovery];
}

/// Which way frames are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    Download,
    Upload,
    //= rfc2544 14
    /// Both at once, each at the same rate.
    Bidirectional,
}

impl Way {
    pub const fn directions(self) -> &'static [Direction] {
        match self {
            Self::Download => &[Direction::Download],
            Self::Upload => &[Direction::Upload],
            Self::Bidirectional => &[Direction::Download, Direction::Upload],
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Bidirectional => "bidirectional",
        })
    }
}

/// How long what takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Durations {
    /// A trial of the search, and of the frame loss test.
    #[serde(rename = "trial_s", with = "seconds")]
    pub trial: Duration,
    /// Confirms what the search has found; `None`: its own trials have to do.
    #[serde(rename = "final_s", with = "seconds::if_known")]
    pub confirmation: Option<Duration>,
    /// More than the rate is offered before each trial of the search, to empty the bucket of a
    /// policer and to fill a queue; zero for trials that outlast either.
    #[serde(rename = "overload_s", with = "seconds")]
    pub overload: Duration,
    /// Waited for late frames, beside one and a half round trips, and for the network to come to
    /// rest before the next trial.
    #[serde(rename = "settle_s", with = "seconds")]
    pub settle: Duration,
    #[serde(rename = "latency_s", with = "seconds")]
    pub latency: Duration,
    /// The longest burst that is tried.
    #[serde(rename = "burst_max_s", with = "seconds")]
    pub burst_max: Duration,
    /// Waited after a burst for what buffers still hold.
    #[serde(rename = "burst_settle_s", with = "seconds")]
    pub burst_settle: Duration,
    /// Too much is sent for this long, then half for as long again.
    #[serde(rename = "recovery_s", with = "seconds")]
    pub recovery: Duration,
}

impl Durations {
    /// Long enough to measure, short enough to wait for.
    pub const SHORT: Self = Self {
        trial: Duration::from_secs(1),
        confirmation: None,
        overload: Duration::from_millis(400),
        settle: Duration::from_millis(200),
        latency: Duration::from_secs(1),
        burst_max: Duration::from_secs(2),
        burst_settle: Duration::from_millis(500),
        recovery: Duration::from_secs(1),
    };

    //= rfc2544 23
    //= rfc2544 24
    /// What the RFCs ask for: a minute each, two for latency, 2 s for late frames and 5 s of rest.
    pub const RFC: Self = Self {
        trial: Duration::from_secs(60),
        confirmation: None,
        overload: Duration::ZERO,
        settle: Duration::from_secs(7),
        latency: Duration::from_secs(120),
        burst_max: Duration::from_secs(2),
        burst_settle: Duration::from_secs(2),
        recovery: Duration::from_secs(60),
    };
}

/// What the results must reach; where nothing is asked, nothing is judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Criteria {
    /// The last one that fits a frame length counts.
    pub throughput: Vec<LeastThroughput>,
    /// Of the mean, at most.
    #[serde(rename = "latency_s", with = "seconds::if_known")]
    pub latency: Option<Duration>,
    /// Of the frame loss at the highest rate that was offered, at most.
    pub loss_percent: Option<f64>,
    /// Frames of the average burst, at least.
    pub burst_frames: Option<u64>,
    #[serde(rename = "recovery_s", with = "seconds::if_known")]
    pub recovery: Option<Duration>,
}

impl Criteria {
    /// What is asked of the throughput of frames of this length, if anything is.
    pub(super) fn asked(&self, frame_bytes: u32) -> Option<Threshold> {
        let fits =
            |asked: &&LeastThroughput| asked.frame_bytes.is_none_or(|bytes| bytes == frame_bytes);
        self.throughput.iter().rfind(fits).map(|asked| asked.at_least)
    }
}

/// The throughput of one frame length, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeastThroughput {
    pub frame_bytes: Option<u32>,
    pub at_least: Threshold,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Threshold {
    Percent { percent_of_line: f64 },
    Rate(LayeredRate),
}

impl Threshold {
    /// The least rate that meets it; `None` where it is a share of a line that is not known.
    pub(super) fn least(&self, frame_bytes: u32, line_l1: Option<Rate>) -> Option<FrameRate> {
        let at = |rate_l1| FrameRate { frame_bytes, rate_l1 };
        match self {
            Self::Percent { percent_of_line } => Some(at(line_l1?.scaled(percent_of_line / 100.0))),
            Self::Rate(asked) => {
                let packet_bytes = frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD;
                let near = at(PacketLayout::ethernet(packet_bytes, 0).convert(*asked, Layer::L1));
                // Rates are of whole bits, here and at the other layer.
                let is_less = near.at(asked.layer) < asked.rate;
                Some(at(Rate::bps(near.rate_l1.as_bps() + u64::from(is_less) * 2)))
            }
        }
    }
}

impl Plan {
    //= rfc2544 9.1
    /// Ethernet's.
    pub const FRAME_LENGTHS_BYTES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

    /// The defaults for a path whose near end has an interface of this MTU.
    pub fn new(family: Family, interface_mtu_bytes: u32) -> Self {
        let least = FramesLoad::least_frame_bytes(family, 0);
        Self {
            family,
            interface_mtu_bytes,
            dscp: Dscp::BEST_EFFORT,
            vlan_tags: 0,
            tests: Test::ALL.into(),
            frame_lengths_bytes: Self::FRAME_LENGTHS_BYTES.map(|bytes| bytes.max(least)).into(),
            path_mtu_row: true,
            ways: Vec::from([Way::Download, Way::Upload]),
            line_rate_l1: None,
            rate_cap_l1: Rate::mbps(10_000),
            search: SearchKind::Fast,
            resolution_percent: 0.1,
            accepted_loss_ratio: 0.0,
            goals: Vec::from([Self::SHORT_GOAL]),
            durations: Durations::SHORT,
            latency_repetitions: 3,
            burst_repetitions: 5,
            loss_step_percent: 10.0,
            criteria: Criteria::default(),
        }
    }

    pub(super) fn flow(&self, direction: Direction, load: Load) -> FlowSpec {
        FlowSpec {
            vlan_tags: self.vlan_tags,
            ..FlowSpec::new(direction, self.family, self.dscp, load)
        }
    }

    /// The frame of the longest packet.
    pub const fn longest_frame_bytes(&self, mtu_bytes: u32) -> u32 {
        let tags = PacketLayout::VLAN_TAG_BYTES * self.vlan_tags as u32;
        mtu_bytes + PacketLayout::ETHERNET_L2_OVERHEAD + tags
    }

    /// Frame lengths asked for that a path of this MTU does not take.
    pub(super) fn too_long(&self, mtu_bytes: u32) -> Vec<u32> {
        let longest = self.longest_frame_bytes(mtu_bytes);
        let asked = self.frame_lengths_bytes.iter().copied();
        let mut lengths: Vec<u32> = asked.filter(|bytes| *bytes > longest).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Three seconds without loss, of which half may fail.
    pub const SHORT_GOAL: Goal = Goal {
        initial_duration: Duration::from_millis(500),
        final_duration: Duration::from_secs(1),
        duration_sum: Duration::from_secs(3),
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 0.002,
    };

    //= rfc9971 4.10.2
    /// RFC 2544's throughput in the words of RFC 9971.
    pub const RFC2544_GOAL: Goal = Goal {
        initial_duration: Duration::from_secs(1),
        final_duration: Duration::from_secs(60),
        duration_sum: Duration::from_secs(60),
        loss_ratio: 0.0,
        exceed_ratio: 0.0,
        width: 0.002,
    };
}

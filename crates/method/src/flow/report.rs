//! What a run of flows found.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use fp_model::{
    ConnectionReport, DelaySummary, Direction, Dscp, DscpCount, Ecn, EcnCount, Family, Jitter,
    Layer, Rate, Sample, TcpEngine,
};

use super::path::PathStep;
use crate::verdict;

/// Steps, verdict, self-checks and remarks of a run.
pub type Report = verdict::Report<Step>;

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a run has a handful of them")]
pub enum Step {
    Path(PathStep),
    Flow(FlowStep),
    Profile(ProfileStep),
}

/// How a flow fared, or several in sum.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowStep {
    pub name: String,
    pub part: Part,
    pub class: Option<String>,
    /// `None` of a sum of both.
    pub transport: Option<Transport>,
    /// Whose TCP carried it; `None` of UDP, and of a sum of both.
    pub engine: Option<TcpEngine>,
    pub family: Option<Family>,
    pub direction: Direction,
    /// Connections, or streams of packets.
    pub streams: u32,
    /// How long after the start of the trial it begins.
    pub begins: Duration,
    pub dscp_sent: Option<Dscp>,
    /// Packets by the code point with which they arrived; empty where nobody saw it.
    pub dscp_received: Vec<DscpCount>,
    /// `None` where it is the host's choice, as with TCP.
    pub ecn_sent: Option<Ecn>,
    pub ecn_received: Vec<EcnCount>,
    /// `None` where the sender does not tell.
    pub sent: Option<Carried>,
    pub received: Carried,
    /// From the first packet that arrived to the end of the last one's share, by the receiver's
    /// clock; `None` where it does not tell.
    pub arrived: Option<Arrived>,
    /// Packets that were due and that the tester did not send.
    pub unsent: Option<u64>,
    pub lost: Option<u64>,
    pub out_of_order: Option<u64>,
    pub duplicates: Option<u64>,
    pub corrupt: Option<u64>,
    pub retransmitted_bytes: Option<u64>,
    pub jitter: Option<Jitter>,
    pub delay: Option<DelaySummary>,
    pub rtt_mean: Option<Duration>,
    pub rtt_min: Option<Duration>,
    /// Of the line at layer 2, as link usage is counted, and at layer 1, which can be full.
    pub link_usage_l2_percent: Option<f64>,
    pub link_usage_l1_percent: Option<f64>,
    /// Payload; its sums are the payload sent and received.
    pub series: Vec<Sample>,
    /// What TCP sent and received after the steady time; in no total.
    pub drained: Option<Sample>,
    pub connections: Vec<Connection>,
    /// Whether what was sent is what arrived and what was lost; where not, the figures say so.
    pub conserved: bool,
}

impl FlowStep {
    /// Of UDP packets alone: nobody knows it of TCP.
    pub fn loss_percent(&self) -> Option<f64> {
        self.transport.filter(|transport| *transport == Transport::Udp)?;
        let sent = self.sent?.packets.filter(|sent| *sent > 0)?;
        Some(100.0 * self.lost? as f64 / sent as f64)
    }

    /// Receive window and round trip bound what all connections carry together.
    pub fn window_limit_l4(&self) -> Option<Rate> {
        let windows = self.connections.iter().map(|each| each.report.window_effective_bytes);
        let window_bytes: u64 = windows.sum::<Option<u64>>()?;
        let rtt = self.rtt_mean.filter(|rtt| !rtt.is_zero())?;
        (window_bytes > 0).then(|| Rate::over(window_bytes, rtt))
    }
}

/// What the figures are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Flow,
    Class,
    /// All flows of a direction.
    Sum,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Flow => "flow",
            Self::Class => "class",
            Self::Sum => "sum",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
        })
    }
}

/// What one end counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    pub payload_bytes: u64,
    /// `None` where nobody counts them.
    pub packets: Option<u64>,
    /// The time that the rates are of.
    pub lasts: Duration,
    pub rates: RateByLayer,
}

/// From when until when, since the start of the trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub from: Duration,
    pub until: Duration,
}

/// One stream of packets, counted at each layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateByLayer {
    pub l1: Rate,
    pub l2: Rate,
    pub l3: Rate,
    pub l4: Rate,
}

impl RateByLayer {
    pub const fn at(&self, layer: Layer) -> Rate {
        match layer {
            Layer::L1 => self.l1,
            Layer::L2 => self.l2,
            Layer::L3 => self.l3,
            Layer::L4 => self.l4,
        }
    }
}

/// One connection of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    pub throughput_l4: Rate,
    pub report: ConnectionReport,
}

/// How the flows of a direction followed a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileStep {
    pub profile: String,
    pub direction: Direction,
    pub streams: u32,
    pub intervals: Vec<Interval>,
    /// By so much later the receiver's intervals begin: the time of a packet on its way.
    pub delay: Duration,
    /// Root of the mean square of received less target, as a share of the mean target.
    pub tracking_error_percent: Option<f64>,
    /// The same of what was sent.
    pub sent_error_percent: Option<f64>,
    pub limit: Limit,
}

/// One interval of a profile; rates of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    pub at: Duration,
    pub lasts: Duration,
    pub target_l4: Rate,
    pub sent_l4: Rate,
    pub received_l4: Rate,
}

/// What kept flows from following a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Nothing did.
    Followed,
    /// A window of payload each round trip.
    Window {
        limit_l4: Rate,
    },
    /// Packets were dropped, the first ones sent again at `from`; in the median so much came
    /// through where more was asked for. What the windows would have carried stands beside it.
    RateLimit {
        from: Option<Duration>,
        limit_l4: Rate,
        window_l4: Option<Rate>,
    },
    /// Nothing was dropped, but no more than this came through.
    Line {
        limit_l4: Rate,
    },
    /// The tester did not send what was due.
    Tester,
    Unknown,
}

impl Limit {
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Followed => "followed",
            Self::Window { .. } => "window",
            Self::RateLimit { .. } => "rate_limit",
            Self::Line { .. } => "line",
            Self::Tester => "tester",
            Self::Unknown => "unknown",
        }
    }
}

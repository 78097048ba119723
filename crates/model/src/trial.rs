//! A trial is a value: what to offer to the network, in which direction, for how long.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::in_json::{is_default, nanos};
use crate::{
    ConnectionAddresses, ConnectionsLoad, Dscp, Ecn, FrameSizes, PacketLayout, Rate, Timing,
};

/// One trial in the sense of RFC 2544 section 23: all of its flows at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// What the trial is for, in words for whoever watches.
    pub name: String,
    pub flows: Vec<FlowSpec>,
    pub timing: Timing,
}

/// A group of like connections, or one stream of frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    pub direction: Direction,
    pub family: Family,
    pub dscp: Dscp,
    /// Of UDP: TCP negotiates it, and its end's host says whether it does.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn: Ecn,
    /// VLAN tags that the network puts on each frame, up to [`FlowSpec::VLAN_TAGS_MAX`]; the frame
    /// lengths of [`Load::Frames`] and [`Load::Bursts`] include them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub vlan_tags: u8,
    /// The near end's port, and the first of as many as there are connections; `None` leaves the
    /// choice to its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_port: Option<u16>,
    /// How long after the start of the trial the flow begins; nothing is due before.
    #[serde(
        rename = "begins_ns",
        with = "nanos",
        default,
        skip_serializing_if = "Duration::is_zero"
    )]
    pub begins: Duration,
    pub load: Load,
}

impl FlowSpec {
    /// A customer's and a provider's tag: IEEE 802.1ad.
    pub const VLAN_TAGS_MAX: u8 = 2;

    /// Untagged, from any port, without ECN, from the start of the trial.
    pub const fn new(direction: Direction, family: Family, dscp: Dscp, load: Load) -> Self {
        Self {
            direction,
            family,
            dscp,
            ecn: Ecn::NotEct,
            vlan_tags: 0,
            near_port: None,
            begins: Duration::ZERO,
            load,
        }
    }

    /// What the packets bear in the IPv4 TOS or IPv6 traffic class octet.
    pub const fn traffic_class(&self) -> u8 {
        self.dscp.traffic_class() | self.ecn.code_point()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(vlan_tags: &u8) -> bool {
    *vlan_tags == 0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Far end to near end.
    Download,
    /// Near end to far end.
    Upload,
}

impl Direction {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Directions {
    Download,
    Upload,
    Both,
}

impl Directions {
    pub const fn list(self) -> &'static [Direction] {
        match self {
            Self::Download => &[Direction::Download],
            Self::Upload => &[Direction::Upload],
            Self::Both => &[Direction::Download, Direction::Upload],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Ipv4,
    Ipv6,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

impl Family {
    /// In documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv4 => "ipv4",
            Self::Ipv6 => "ipv6",
        }
    }

    /// The IP header without options or extensions.
    pub const fn ip_header_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => 20,
            Self::Ipv6 => 40,
        }
    }

    /// What every path must carry: RFC 791 and RFC 8200 section 5.
    pub const fn min_mtu_bytes(self) -> u32 {
        match self {
            Self::Ipv4 => 68,
            Self::Ipv6 => 1280,
        }
    }
}

/// The whole repertoire of the engines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Load {
    Probes(ProbesLoad),
    Frames(FramesLoad),
    Bursts(BurstsLoad),
    Tcp(TcpLoad),
    Connections(ConnectionsLoad),
}

/// Single packets that may not be fragmented, each answered by the other end.
///
/// The near end always sends first and measures the round trip. On an upload flow its packets have
/// `packet_bytes` and the answers `answer_bytes`; on a download flow it is the other way round, so
/// that the direction of the flow is the one in which the size is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbesLoad {
    /// Length of the IP packet in the direction of the flow.
    pub packet_bytes: u32,
    /// Length of the IP packet in the other direction.
    pub answer_bytes: u32,
    pub count: u32,
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Duration,
}

/// UDP frames with sequence numbers, one way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FramesLoad {
    /// From destination address to FCS.
    #[serde(rename = "frame_bytes")]
    pub sizes: FrameSizes,
    /// Layer 2 rates: a frame is due when all frames before it have taken their time.
    pub pace: Pace,
    /// The receiver tells how the frames of the whole trial arrived: [`FrameTrace`](crate::FrameTrace).
    #[serde(default, skip_serializing_if = "is_default")]
    pub trace: bool,
    /// Its figures are not told while it runs: on a slow path they take what the frames are to find.
    /// Those of a flow with a trace never are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unwatched: bool,
}

impl FramesLoad {
    /// Watched and without a trace.
    pub const fn new(sizes: FrameSizes, pace: Pace) -> Self {
        Self { sizes, pace, trace: false, unwatched: false }
    }

    #[must_use]
    pub fn unwatched(self) -> Self {
        Self { unwatched: true, ..self }
    }

    #[must_use]
    pub fn traced(self) -> Self {
        Self { trace: true, ..self }
    }

    /// What the ends write at the beginning of each payload: mark, number and time of departure.
    pub const HEAD_BYTES: u32 = 18;

    /// The shortest frame that has room for it: 64 bytes over IPv4, and 84 over IPv6, whose headers
    /// alone take 66 with those of Ethernet and UDP; 4 more for each VLAN tag.
    pub const fn least_frame_bytes(family: Family, vlan_tags: u8) -> u32 {
        PacketLayout::udp_headers_bytes(family, vlan_tags) + Self::HEAD_BYTES
    }
}

/// Numbered UDP frames back to back, again and again, one way.
///
/// The first burst is due when the warm-up ends; those due after the steady time are not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstsLoad {
    /// From destination address to FCS.
    pub frame_bytes: u32,
    pub frames_per_burst: u32,
    pub bursts: u32,
    /// From the beginning of one burst to that of the next.
    #[serde(rename = "period_ns", with = "nanos")]
    pub period: Duration,
    /// Layer 1 rate within a burst; `None` is as fast as the host puts frames on its line.
    #[serde(rename = "rate_l1_bps")]
    pub rate_l1: Option<Rate>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub spacing: BurstSpacing,
}

/// What a burst that a busy sender begins late, or drags out, does to those after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BurstSpacing {
    /// Nothing: each is due at its time, and one that is too late is left out.
    #[default]
    OnSchedule,
    /// They move by as much, so that a bucket has the time to fill between any two.
    Apart,
}

impl BurstsLoad {
    /// How long the bursts may take: those that may move have an eighth more.
    pub fn lasts(&self) -> Duration {
        let planned = self.period * self.bursts;
        match self.spacing {
            BurstSpacing::OnSchedule => planned,
            BurstSpacing::Apart => planned + planned / 8,
        }
    }
}

/// When frames are due, or how fast an application writes, from when the flow begins.
///
/// Chance is drawn from a seed: both ends and the simulation come to the same instants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Pace {
    /// As much as the connection takes; frames always have a rate.
    #[default]
    Unlimited,
    Constant {
        #[serde(rename = "rate_bps")]
        rate: Rate,
    },
    /// One rate after the other; the last one stays.
    Steps { steps: Vec<Step> },
    /// Frames, or writes of one segment, independent of each other at this rate in the mean.
    Poisson {
        #[serde(rename = "rate_bps")]
        rate: Rate,
        seed: u64,
    },
    /// On at this rate, then off, in turn, for times that are distributed exponentially.
    OnOff {
        #[serde(rename = "rate_bps")]
        rate: Rate,
        #[serde(rename = "on_mean_ns", with = "nanos")]
        on_mean: Duration,
        #[serde(rename = "off_mean_ns", with = "nanos")]
        off_mean: Duration,
        seed: u64,
    },
}

impl Pace {
    pub const fn is_unlimited(&self) -> bool {
        matches!(self, Self::Unlimited)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    #[serde(rename = "lasts_ns", with = "nanos")]
    pub lasts: Duration,
}

/// A group of TCP connections that all behave alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpLoad {
    pub connections: u32,
    /// Receive window of each connection.
    pub window_bytes: u64,
    /// Largest segment without TCP options: path MTU less the IP header and 20.
    pub mss_bytes: u32,
    pub sender: Sender,
    pub congestion_control: CongestionControl,
    /// Pacing limit of each connection, counted in payload as Linux does.
    #[serde(rename = "pacing_bps")]
    pub pacing: Option<Rate>,
    /// Payload that a bulk application writes to each connection: by every instant as much as this
    /// pace asks for, or what there has been room for.
    #[serde(default, skip_serializing_if = "Pace::is_unlimited")]
    pub pace: Pace,
    /// What a bulk application hands to its host at a time; `None` is as much as there is room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u32>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub engine: TcpEngine,
}

impl TcpLoad {
    /// What the connection of this index has of a transfer: all of them together have it all.
    pub const fn share_of(&self, bytes: u64, connection: u32) -> u64 {
        let connections = if self.connections == 0 { 1 } else { self.connections as u64 };
        let odd = if (connection as u64) < bytes % connections { 1 } else { 0 };
        bytes / connections + odd
    }

    /// What all connections send together before the flow is over; `None` of a flow that lasts as
    /// long as its trial.
    pub const fn transfer_bytes(&self) -> Option<u64> {
        match self.sender {
            Sender::Transfer { bytes } => Some(bytes),
            Sender::Bulk | Sender::Burst | Sender::MicroBurst(_) => None,
        }
    }
}

/// Whose TCP carries a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TcpEngine {
    /// That of the hosts at both ends, by their sockets.
    #[default]
    Kernel,
    /// The program's own, by packets, at addresses that are no host's; the near end's are the
    /// clients.
    User { addresses: ConnectionAddresses },
}

impl TcpEngine {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::User { .. } => "user",
        }
    }
}

/// How the application behind a connection writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    /// Always has more to send.
    Bulk,
    /// Writes one window when the one before has been acknowledged.
    Burst,
    /// The micro bursts of RFC 7640 appendix B.
    MicroBurst(MicroBursts),
    /// Has so many bytes to send, on all connections together, and always more until then. When they
    /// have arrived the flow is over, however much is left of the trial.
    Transfer { bytes: u64 },
}

/// Writes of one size on each connection, at fixed times whatever became of the one before, then
/// nothing more. A single one is the transfer of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MicroBursts {
    pub burst_bytes: u64,
    pub bursts: u32,
    /// From one to the next; the first is written when the trial starts.
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Duration,
}

impl MicroBursts {
    pub const fn bytes(&self) -> u64 {
        self.burst_bytes.saturating_mul(self.bursts as u64)
    }

    /// What is to have been written so long after the start.
    pub fn bytes_due(&self, elapsed: Duration) -> u64 {
        let begun = elapsed.as_nanos().checked_div(self.interval.as_nanos());
        let bursts = begun.map_or(self.bursts, |begun| {
            u32::try_from(begun + 1).map_or(self.bursts, |begun| begun.min(self.bursts))
        });
        Self { bursts, ..*self }.bytes()
    }

    /// When the first burst after `elapsed` is due; `None` when there is none.
    pub fn next_due(&self, elapsed: Duration) -> Option<Duration> {
        let begun = elapsed.as_nanos().checked_div(self.interval.as_nanos())? + 1;
        let next = u32::try_from(begun).ok().filter(|next| *next < self.bursts)?;
        self.interval.checked_mul(next)
    }
}

impl fmt::Display for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bulk => "bulk",
            Self::Burst => "burst",
            Self::MicroBurst(_) => "micro-burst",
            Self::Transfer { .. } => "transfer",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    Cubic,
    Reno,
    Bbr,
    /// Whichever the sender's host takes unless it is told.
    Host,
}

impl CongestionControl {
    /// The kernel's name of it; `None` where the host chooses.
    pub const fn name(self) -> Option<&'static str> {
        match self {
            Self::Cubic => Some("cubic"),
            Self::Reno => Some("reno"),
            Self::Bbr => Some("bbr"),
            Self::Host => None,
        }
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name().unwrap_or("the host's own"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn micro_bursts_are_due_one_each_interval_and_then_no_more() {
        let at = Duration::from_millis;
        let pattern = MicroBursts { burst_bytes: 1000, bursts: 3, interval: at(10) };
        let due = [0, 9, 10, 20, 1000].map(|ms| pattern.bytes_due(at(ms)));
        assert_eq!(due, [1000, 1000, 2000, 3000, 3000]);
        let next = [0, 9, 10, 20].map(|ms| pattern.next_due(at(ms)));
        assert_eq!(next, [Some(at(10)), Some(at(10)), Some(at(20)), None]);
        let at_once = MicroBursts { interval: Duration::ZERO, ..pattern };
        assert_eq!((at_once.bytes_due(at(0)), at_once.next_due(at(0))), (3000, None));
    }

    #[test]
    fn connections_share_a_transfer_to_the_last_byte() {
        let load = TcpLoad {
            connections: 4,
            window_bytes: 65_535,
            mss_bytes: 1460,
            sender: Sender::Transfer { bytes: 1003 },
            congestion_control: CongestionControl::Cubic,
            pacing: None,
            pace: Pace::Unlimited,
            write_bytes: None,
            engine: TcpEngine::Kernel,
        };
        let bytes = load.transfer_bytes().unwrap();
        let shares = [0, 1, 2, 3].map(|connection| load.share_of(bytes, connection));
        assert_eq!(shares, [251, 251, 251, 250]);
    }
}

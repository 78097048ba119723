//! Many TCP connections held at once: what is asked for, and what became of them.

use alloc::vec::Vec;
use core::net::IpAddr;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Rate;
use crate::in_json::{is_default, nanos, nanos_if_known};

/// Connections between many addresses and ports, up to a number that the stages say.
///
/// The near end opens them in a flow of direction upload, the far end in one of direction download.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionsLoad {
    /// One after the other from the beginning of the flow; what the last one holds stays.
    pub stages: Vec<ConnectionsStage>,
    /// Connections that are tried in a second, at most; `None` is as many as the stages ask for.
    #[serde(rename = "setup_rate_max_cps", default, skip_serializing_if = "Option::is_none")]
    pub setup_rate_max: Option<u32>,
    /// What connections do, each by its number.
    pub mix: Vec<ConnectionsShare>,
    /// How long a connection is open before one with other ports takes its place; `None` is as long
    /// as it is wanted.
    #[serde(rename = "lifetime_ns", with = "nanos_if_known", default)]
    pub lifetime: Option<Duration>,
    pub close: Close,
    pub addresses: ConnectionAddresses,
    /// Largest segment without TCP options: path MTU less the IP header and 20.
    pub mss_bytes: u32,
    /// Receive window of each connection.
    pub window_bytes: u32,
    /// A connection is given up after this number of retransmissions of one segment.
    #[serde(default = "ConnectionsLoad::default_retransmissions_max")]
    pub retransmissions_max: u8,
    /// The same of its SYN segment.
    #[serde(default = "ConnectionsLoad::default_syn_retransmissions_max")]
    pub syn_retransmissions_max: u8,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ports: FramePorts,
}

impl ConnectionsLoad {
    /// With the back-off of RFC 6298 a connection on a path of little delay is given up after 25 s,
    /// which is more than any outage that a test means to survive.
    pub const RETRANSMISSIONS_MAX: u8 = 6;
    /// Asked at 0, 1, 3 and 7 s, given up at 15 s.
    pub const SYN_RETRANSMISSIONS_MAX: u8 = 3;

    const fn default_retransmissions_max() -> u8 {
        Self::RETRANSMISSIONS_MAX
    }

    const fn default_syn_retransmissions_max() -> u8 {
        Self::SYN_RETRANSMISSIONS_MAX
    }

    /// The largest number of connections that any stage asks for.
    pub fn connections_peak(&self) -> u32 {
        self.stages.iter().map(|stage| stage.connections).max().unwrap_or_default()
    }

    /// How long all stages take.
    pub fn lasts(&self) -> Duration {
        self.stages.iter().map(|stage| stage.lasts).fold(Duration::ZERO, Duration::saturating_add)
    }
}

/// By what both ends send and take the frames of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FramePorts {
    /// Wherever packet sockets may be opened.
    #[default]
    #[serde(rename = "af-packet")]
    PacketSockets,
    /// Where root may load a program into the interface.
    #[serde(rename = "af-xdp")]
    Xdp,
}

/// The number of connections moves in a straight line from that of the stage before, none before
/// the first, to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsStage {
    #[serde(rename = "lasts_ns", with = "nanos")]
    pub lasts: Duration,
    pub connections: u32,
}

/// Of so many connections as the weights add up to, as many as its weight behave like this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsShare {
    pub weight: u32,
    pub behaviour: Behaviour,
}

/// What a connection does while it is open. Whoever opened it is the client. Rates are of one
/// connection's payload; `None` is as much as it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Behaviour {
    Hold,
    /// The client asks, the server answers, and the client asks again when it has thought.
    Transaction {
        request_bytes: u32,
        response_bytes: u32,
        #[serde(rename = "think_ns", with = "nanos")]
        think: Duration,
    },
    /// From the server.
    Download {
        #[serde(rename = "rate_bps")]
        rate: Option<Rate>,
    },
    /// From the client.
    Upload {
        #[serde(rename = "rate_bps")]
        rate: Option<Rate>,
    },
    /// Both ways at once, each at this rate.
    Both {
        #[serde(rename = "rate_bps")]
        rate: Option<Rate>,
    },
}

/// How connections end that are wanted no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Close {
    /// Both ends say that they are done.
    #[default]
    Fin,
    /// The client breaks off.
    Reset,
}

/// Between whom connections are: each combination of these may be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionAddresses {
    pub clients: AddressRange,
    pub servers: AddressRange,
    pub client_ports: PortRange,
    pub server_ports: PortRange,
    /// On the way the clients' addresses and ports become others, so that the servers do not know
    /// them beforehand.
    #[serde(default)]
    pub translated: bool,
}

/// Successive addresses of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressRange {
    pub network: IpAddr,
    pub prefix_bits: u8,
    /// Its place in the network, where that of the network's own address is 0.
    pub first: u32,
    pub count: u32,
}

/// Successive ports, both ends of the range among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// None where the last comes before the first.
    pub const fn count(&self) -> u32 {
        (self.last as u32 + 1).saturating_sub(self.first as u32)
    }
}

/// How connections fared, by what the end tells that opened them; counts are of the whole trial.
///
/// What was attempted has become established or failed with no answer or refused, or was given up
/// because the trial ended. What was established is active or closing, has closed, or
/// failed by a reset or a timeout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionsReport {
    pub attempted: u64,
    pub established: u64,
    pub closed: u64,
    /// Asked for when it was over, and not answered yet.
    pub given_up: u64,
    pub failed: FailedConnections,
    /// The most that were open at once.
    pub active_peak: u32,
    pub active_at_end: u32,
    /// `None` where no stage held a number that was reached.
    pub held: Option<HeldConnections>,
    /// The most that were established in one second of the trial.
    #[serde(rename = "setup_rate_peak_cps")]
    pub setup_rate_peak: u32,
    pub first_failure: Option<FirstFailure>,
    /// Where somebody had it end before its time.
    pub stopped: Option<StoppedConnections>,
    /// From the segment that asks for a connection to its answer.
    pub handshake: Option<TimeSummary>,
    /// Of segments with payload, as the sender of the client's end measured them.
    pub rtt: Option<TimeSummary>,
    /// From a request to the last byte of its response.
    pub transaction: Option<TimeSummary>,
    pub transactions: u64,
    /// Payload that arrived once and in order, by the end that got it.
    pub upload_good_bytes: u64,
    pub download_good_bytes: u64,
    pub retransmissions: RetransmittedSegments,
    pub duplicate_acks: u64,
    /// Segments that arrived beyond a hole, at both ends.
    pub out_of_order: u64,
    /// Packets that arrived spoilt, at both ends.
    pub bad_checksums: u64,
    /// Payload that is not what was sent though its checksum is right, at both ends.
    pub corrupt_payload_bytes: u64,
    pub states: TcpStates,
    /// What one end takes up in memory for all connections, and for each of the most at once.
    pub bytes_total: u64,
    pub bytes_per_connection: f64,
    /// From the start of the trial to its end, by the slots of its timing. What was stopped has no slots
    /// beyond its end, and the last one is as long as it went on.
    pub series: Vec<ConnectionsSample>,
}

/// Connections that came to nothing or broke, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedConnections {
    /// Nobody answered the question for a connection.
    pub no_answer: u64,
    /// It was answered by a reset.
    pub refused: u64,
    /// Broken off after it was established.
    pub reset: u64,
    /// Segments of an established connection were not acknowledged.
    pub timed_out: u64,
}

impl FailedConnections {
    pub const fn total(&self) -> u64 {
        self.no_answer + self.refused + self.reset + self.timed_out
    }
}

/// Connections that were active while the same number was wanted, from when that was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldConnections {
    /// The number wanted, the largest where several were held.
    pub wanted: u32,
    pub least: u32,
    pub most: u32,
}

/// How far it was when the first connection failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstFailure {
    /// From the start of the trial.
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    /// Connections that were open then.
    pub active: u32,
}

/// A load that was ended before its stages were over: nothing was asked for any more, and what was
/// open was closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedConnections {
    /// From the start of the trial.
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    /// The same, to when the end that had opened them was done with the last one.
    #[serde(rename = "until_ns", with = "nanos")]
    pub until: Duration,
    /// Connections that were open when it was stopped.
    pub active: u32,
    /// They were reset all at once, and count as closed.
    pub is_abort: bool,
}

/// Of many durations. Percentiles are nearest ranks, up to 1 % too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSummary {
    pub samples: u64,
    #[serde(rename = "min_ns", with = "nanos")]
    pub min: Duration,
    #[serde(rename = "mean_ns", with = "nanos")]
    pub mean: Duration,
    #[serde(rename = "p50_ns", with = "nanos")]
    pub p50: Duration,
    #[serde(rename = "p90_ns", with = "nanos")]
    pub p90: Duration,
    #[serde(rename = "p99_ns", with = "nanos")]
    pub p99: Duration,
    #[serde(rename = "p99_9_ns", with = "nanos")]
    pub p99_9: Duration,
    #[serde(rename = "p99_99_ns", with = "nanos")]
    pub p99_99: Duration,
    #[serde(rename = "max_ns", with = "nanos")]
    pub max: Duration,
}

/// Segments sent again, at both ends, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetransmittedSegments {
    /// Those that open a connection.
    pub syn: u64,
    /// Nothing was heard for too long.
    pub timeout: u64,
    /// Later ones had arrived, or the end of what was sent was probed for.
    pub fast: u64,
}

/// How many connections are in each state of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpStates {
    pub syn_sent: u32,
    pub syn_received: u32,
    pub established: u32,
    pub fin_wait_1: u32,
    pub fin_wait_2: u32,
    pub close_wait: u32,
    pub closing: u32,
    pub last_ack: u32,
    pub time_wait: u32,
}

/// One slot of the series of connections, on the near end's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionsSample {
    #[serde(rename = "at_ns", with = "nanos")]
    pub at: Duration,
    #[serde(rename = "lasts_ns", with = "nanos")]
    pub lasts: Duration,
    /// Open at the end of the slot; but for those that wait then, the others are what happened in it.
    pub active: u32,
    /// Asked for and not answered yet.
    #[serde(default)]
    pub pending: u32,
    pub attempted: u64,
    pub established: u64,
    pub closed: u64,
    pub failed: u64,
    pub transactions: u64,
    /// Payload that arrived at the server's end, and at the client's.
    pub upload_good_bytes: u64,
    pub download_good_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_ports_has_both_its_ends() {
        let count = |first, last| PortRange { first, last }.count();
        assert_eq!([count(1024, 65_535), count(80, 80), count(0, 65_535)], [64_512, 1, 65_536]);
        assert_eq!(count(80, 79), 0);
    }
}

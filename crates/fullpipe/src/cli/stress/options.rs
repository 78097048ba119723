//! The options of `fullpipe stress`.

use std::time::Duration;

use fp_model::{Close, Direction, Dscp, FramePorts, PortRange};

use super::mix::{Mix, mix};
use super::values::{
    Stages, connections, dscp, lifetime, message_bytes, mss, per_second, stages, time,
};
use crate::addresses::{Prefix, port_range, prefix};
use crate::values::{any_percent, window};

/// What connections are wanted.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct MethodArgs {
    /// How many connections are held at once: 100k, 24M
    #[arg(long, value_name = "N", value_parser = connections)]
    pub(super) connections: Option<u32>,
    /// From none to all of them [default: 5s, or as long as --rate takes]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "stages")]
    pub(super) ramp_up: Option<Duration>,
    /// How long all of them are held [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "stages")]
    pub(super) steady: Option<Duration>,
    /// From all of them to none [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "stages")]
    pub(super) ramp_down: Option<Duration>,
    /// In place of these: each time with the number at its end, such as "30s:100k, 2m:1M, 30s:0"
    #[arg(long, value_name = "TIME:N,…", value_parser = stages, conflicts_with = "connections")]
    pub(super) stages: Option<Stages>,
    /// As many connections in a second as are set up at most: 400k/s
    #[arg(long, value_name = "N/s", value_parser = per_second)]
    pub(super) rate: Option<u32>,
    /// What connections do, by shares: idle, transaction, download, upload or both, the last three
    /// at a rate each if one is named, such as download:20%@1M,transaction:70%,idle:10%
    #[arg(
        long,
        value_name = "KIND:SHARE[@RATE],…",
        value_parser = mix,
        default_value = "transaction:100%"
    )]
    pub(super) mix: Mix,
    /// Bytes that the client of a transaction asks with
    #[arg(long, value_name = "SIZE", value_parser = message_bytes, default_value = "100")]
    pub(super) request: u32,
    /// Bytes that its server answers with
    #[arg(long, value_name = "SIZE", value_parser = message_bytes, default_value = "100")]
    pub(super) response: u32,
    /// From an answer to the next question of the same connection
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "10s")]
    pub(super) think: Duration,
    /// After which a connection is closed and another takes its place [default: as long as it is
    /// wanted]
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    pub(super) lifetime: Option<Duration>,
    /// How connections end
    #[arg(long, value_enum, default_value = "fin")]
    pub(super) close: CloseOption,
    /// Who opens the connections: this end uploads, the far end downloads
    #[arg(long, value_enum, default_value = "upload")]
    pub(super) direction: DirectionOption,
    /// Network whose hosts are the clients [default: as many as are needed of 198.18.128.0/17, or of
    /// 2001:2:0:1::/64]
    #[arg(long, value_name = "PREFIX", value_parser = prefix, help_heading = "Addresses")]
    pub(super) clients: Option<Prefix>,
    /// Network whose hosts are the servers [default: one of 198.19.0.0/16, or of 2001:2:0:2::/64]
    #[arg(long, value_name = "PREFIX", value_parser = prefix, help_heading = "Addresses")]
    pub(super) servers: Option<Prefix>,
    /// Ports of each client
    #[arg(
        long,
        value_name = "A-B",
        value_parser = port_range,
        default_value = "1024-65535",
        help_heading = "Addresses"
    )]
    pub(super) client_ports: PortRange,
    /// Ports of each server
    #[arg(
        long,
        value_name = "A-B",
        value_parser = port_range,
        default_value = "80",
        help_heading = "Addresses"
    )]
    pub(super) server_ports: PortRange,
    /// Something on the way gives the clients other addresses or ports, as NAT does
    #[arg(long, help_heading = "Addresses")]
    pub(super) translated: bool,
    /// DSCP of all packets, by number or name: 46, ef, af41
    #[arg(
        long,
        value_name = "DSCP",
        value_parser = dscp,
        default_value = "0",
        help_heading = "Segments"
    )]
    pub(super) dscp: Dscp,
    /// Largest segment [default: what fits the interfaces]
    #[arg(long, value_name = "BYTES", value_parser = mss, help_heading = "Segments")]
    pub(super) mss: Option<u32>,
    /// Receive window of each connection
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = window,
        default_value = "65535",
        help_heading = "Segments"
    )]
    pub(super) window: u64,
    /// By what both ends take and send frames: AF_XDP is faster, and takes root and an interface with
    /// one receive queue
    #[arg(long, value_enum, default_value = "af-packet", help_heading = "Segments")]
    pub(super) packet_io: PacketIoOption,
    /// Pass only if the number held departs by at most this much from the one wanted [default: 0.1%]
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = any_percent,
        help_heading = "Criteria"
    )]
    pub(super) tolerance: Option<f64>,
    /// Pass only if at most this share of the connections fails
    #[arg(
        long,
        value_name = "PERCENT",
        value_parser = any_percent,
        default_value = "0.1%",
        help_heading = "Criteria"
    )]
    pub(super) max_failed: f64,
    /// Pass only if at least so many connections are set up in the best second
    #[arg(long, value_name = "N/s", value_parser = per_second, help_heading = "Criteria")]
    pub(super) min_setup_rate: Option<u32>,
    /// Pass only if 99 of 100 handshakes take no longer
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = "Criteria")]
    pub(super) max_handshake: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PacketIoOption {
    AfPacket,
    AfXdp,
}

impl PacketIoOption {
    pub(super) const fn ports(self) -> FramePorts {
        match self {
            Self::AfPacket => FramePorts::PacketSockets,
            Self::AfXdp => FramePorts::Xdp,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum CloseOption {
    Fin,
    Reset,
}

impl CloseOption {
    pub(super) const fn close(self) -> Close {
        match self {
            Self::Fin => Close::Fin,
            Self::Reset => Close::Reset,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DirectionOption {
    Download,
    Upload,
}

impl DirectionOption {
    pub(super) const fn direction(self) -> Direction {
        match self {
            Self::Download => Direction::Download,
            Self::Upload => Direction::Upload,
        }
    }
}

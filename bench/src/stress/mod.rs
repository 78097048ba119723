//! How fast connections of our own are opened and spoken to, one core at each end, and what memory
//! they take: through each kind of packet port, beside the kernel's, and as they become more.

mod ends;
mod growth;
mod kernel;
mod listener;
mod own;
mod server;

use std::time::Duration;

use anyhow::{Context as _, bail};
use fp_engine::frame_io::MemoryPort;
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
    ConnectionsStage, Dscp, Family, FramePorts, PortRange,
};
use fp_net::checksum::Peer;
use fp_net::packet::Link;
use fp_net::swarm::{Role, Setting};

use super::pair::{CLIENTS, Pair, SERVERS, packet_port, xdp_port};

pub(crate) use growth::open_through;
pub(crate) use server::serve;

const PARTS: [&str; 5] = ["memory", "packet", "xdp", "kernel", "growth"];

/// What speaks without a pause, and for how long.
const SPEAKING: u32 = 10_000;
const SPEAKING_LASTS: Duration = Duration::from_secs(2);
const SPOKEN_BYTES: u32 = 100;
/// Those of bulk.
const FEW: [u32; 2] = [1, 4];
const BULK_LASTS: Duration = Duration::from_secs(2);

const CLIENT_ADDRESSES: u32 = 64;
const SERVER_ADDRESSES: u32 = 8;
const SERVER_PORT: u16 = 80;

/// All parts, unless some are named.
pub(crate) fn run(parts: &[&str]) -> anyhow::Result<()> {
    Privileges::prepare()?;
    for part in if parts.is_empty() { &PARTS } else { parts } {
        match *part {
            "memory" => {
                own::memory()?;
                own::measure("in memory", || Ok(MemoryPort::pair()))?;
            }
            "packet" => {
                let pair = lay_pair()?;
                let open = || Ok([packet_port(&pair.near)?, packet_port(&pair.far)?]);
                own::measure("packet sockets", open)?;
            }
            "xdp" => {
                let pair = lay_pair()?;
                own::measure("AF_XDP", || Ok([xdp_port(&pair.near)?, xdp_port(&pair.far)?]))?;
            }
            "kernel" => {
                kernel::run()?;
                listener::run()?;
            }
            "growth" => growth::run()?,
            _ => bail!("stress has no part '{part}': {} are", PARTS.join(", ")),
        }
    }
    Ok(())
}

fn lay_pair() -> anyhow::Result<Pair> {
    Pair::lay().context("cannot lay a veth pair")
}

fn setting(role: Role, load: ConnectionsLoad, link: Link, peer: Peer) -> Setting {
    Setting {
        role,
        load,
        family: Family::Ipv4,
        dscp: Dscp::BEST_EFFORT,
        link,
        peer,
        seed: 1,
        secret: 2,
        start: clock::now(),
    }
}

/// So many, one after the other within a time.
fn load(connections: u32, lasts: Duration, behaviour: Behaviour) -> ConnectionsLoad {
    let range = |network: [u8; 4], prefix_bits, count| AddressRange {
        network: network.into(),
        prefix_bits,
        first: 1,
        count,
    };
    ConnectionsLoad {
        stages: vec![ConnectionsStage { lasts, connections }],
        setup_rate_max: None,
        mix: vec![ConnectionsShare { weight: 1, behaviour }],
        lifetime: None,
        close: Close::Fin,
        addresses: ConnectionAddresses {
            clients: range(CLIENTS, 17, CLIENT_ADDRESSES),
            servers: range(SERVERS, 16, SERVER_ADDRESSES),
            client_ports: PortRange { first: 1024, last: 65_535 },
            server_ports: PortRange { first: SERVER_PORT, last: SERVER_PORT },
            translated: false,
        },
        mss_bytes: 1448,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

/// Asked for evenly, at a rate.
fn evenly(connections: u32, rate: u32) -> ConnectionsLoad {
    let lasts = Duration::from_secs_f64(f64::from(connections) / f64::from(rate));
    load(connections, lasts, Behaviour::Hold)
}

fn at_once(connections: u32) -> ConnectionsLoad {
    load(connections, Duration::ZERO, Behaviour::Hold)
}

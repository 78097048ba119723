//! Many TCP connections of our own, end to end: one half of them here, the other one at the peer.
//!
//! Each end opens a packet port for the addresses that the plan gives it, takes the memory for all
//! of its connections, and has its peer prove that frames to the plan's addresses reach it. From
//! the common start on it drives a `net::swarm` shard over the port. Where there are processors for
//! several shards, each has a port and client ports of its own.
//!
//! At most half of the processors run shards, because the kernel's work on each frame takes the
//! other half. Both ends divide the load into as many parts as the far end says.
//!
//! When a trial is stopped, the end that opens connections opens no more and closes or resets those
//! that are open. Then its peer waits at most the settle time for what is under way, and both
//! report in the slots of the opening end.

mod carried;
mod claims;
mod driver;
mod early_stop;
mod error;
mod flow;
mod memory;
mod networks;
mod opening;
mod proof;
mod run;

pub use carried::{NotCarried, algorithm_of};
pub(crate) use carried::{connections_of, is_by_frames};
pub(crate) use claims::Claims;
pub use driver::Driver;
pub(crate) use error::SwarmError;
pub(crate) use flow::{Course, Side};
pub use networks::{ConnectionNetworks, NotANetwork};
pub(crate) use opening::{Listening, Met, covering, listen, meet_far, meet_near, role_of};

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fp_model::{
        AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
        ConnectionsStage, Dscp, Family, FramePorts, PortRange,
    };
    use fp_net::checksum::Peer;
    use fp_net::packet::{Link, MacAddress, VlanTags};
    use fp_net::swarm::{Role, Setting, Shard};

    use super::Driver;
    use crate::frame_io::{FrameIo as _, MemoryPort};
    use crate::os::clock;

    /// One connection, between clients with 1,024 ports and servers with two.
    pub(super) fn load(family: Family, clients: u32, servers: u32) -> ConnectionsLoad {
        let range = |network: &str, prefix_bits, count| AddressRange {
            network: network.parse().unwrap(),
            prefix_bits,
            first: 1,
            count,
        };
        let [clients, servers] = match family {
            Family::Ipv4 => [range("198.18.0.0", 16, clients), range("198.19.0.0", 16, servers)],
            Family::Ipv6 => [range("2001:2::", 64, clients), range("2001:2:0:1::", 64, servers)],
        };
        let stage = ConnectionsStage { lasts: Duration::from_secs(1), connections: 1 };
        ConnectionsLoad {
            stages: vec![stage],
            setup_rate_max: None,
            mix: vec![ConnectionsShare { weight: 1, behaviour: Behaviour::Hold }],
            lifetime: None,
            close: Close::Fin,
            addresses: ConnectionAddresses {
                clients,
                servers,
                client_ports: PortRange { first: 1024, last: 2047 },
                server_ports: PortRange { first: 80, last: 81 },
                translated: false,
            },
            mss_bytes: 1400,
            window_bytes: 65_535,
            retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
            syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
            ports: FramePorts::PacketSockets,
        }
    }
    pub(super) fn driver(
        port: MemoryPort,
        to: MacAddress,
        role: Role,
        load: &ConnectionsLoad,
        family: Family,
    ) -> Driver<MemoryPort> {
        let link = Link { source: MacAddress(port.mac()), destination: to, tags: VlanTags::NONE };
        let setting = Setting {
            role,
            load: load.clone(),
            family,
            dscp: Dscp::BEST_EFFORT,
            link,
            peer: Peer::Network,
            seed: 1,
            secret: 2,
            start: clock::now(),
        };
        Driver::new(port, Shard::new(setting).unwrap())
    }
}

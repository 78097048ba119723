//! A load cut into parts that have nothing to do with each other: one for each processor.

use alloc::vec;
use alloc::vec::Vec;

use fp_model::{AddressRange, ConnectionsLoad, PortRange};

/// Up to `most` parts of a load, of which each has clients of its own; where their addresses are
/// translated, each has servers, or ports of servers, of its own. Both ends come to the same parts,
/// and together these ask for as many connections as the load at every instant, less than one for
/// each part apart.
pub fn shares(load: &ConnectionsLoad, most: u32) -> Vec<ConnectionsLoad> {
    let addresses = &load.addresses;
    let (cut, count) = match (addresses.translated, addresses.servers.count >= most) {
        (false, _) => (Cut::Clients, addresses.clients.count),
        (true, true) => (Cut::Servers, addresses.servers.count),
        (true, false) => (Cut::ServerPorts, addresses.server_ports.count()),
    };
    parts(load, cut, count, most)
}

/// The same with client ports of its own for each part, so that a frame that arrives shows which part it
/// belongs to. Where addresses are translated the client ports are not known, and there is one part.
pub fn shares_by_client_port(load: &ConnectionsLoad, most: u32) -> Vec<ConnectionsLoad> {
    if load.addresses.translated {
        return vec![load.clone()];
    }
    parts(load, Cut::ClientPorts, load.addresses.client_ports.count(), most)
}

fn parts(load: &ConnectionsLoad, cut: Cut, count: u32, most: u32) -> Vec<ConnectionsLoad> {
    let parts = most.min(count).min(load.connections_peak());
    if parts <= 1 {
        return vec![load.clone()];
    }
    (0..parts).map(|part| share(load, cut, Part { part, parts, count })).collect()
}

/// What is not the same in two parts.
#[derive(Clone, Copy, Debug)]
enum Cut {
    ClientPorts,
    Clients,
    Servers,
    ServerPorts,
}

/// One of several parts of so many addresses or ports.
#[derive(Clone, Copy, Debug)]
struct Part {
    part: u32,
    parts: u32,
    count: u32,
}

impl Part {
    /// Where it begins and what follows its end.
    fn bounds(self) -> (u32, u32) {
        let cut = |part: u32| {
            let cut = u64::from(self.count) * u64::from(part) / u64::from(self.parts);
            cut as u32
        };
        (cut(self.part), cut(self.part + 1))
    }

    /// Of a number, in proportion to its addresses: what all parts have of it is all of it.
    fn of(self, number: u32) -> u32 {
        let (from, to) = self.bounds();
        let below =
            |bound: u32| u64::from(number) * u64::from(bound) / u64::from(self.count.max(1));
        (below(to) - below(from)) as u32
    }
}

fn share(load: &ConnectionsLoad, cut: Cut, part: Part) -> ConnectionsLoad {
    let (from, to) = part.bounds();
    let range =
        |range: AddressRange| AddressRange { first: range.first + from, count: to - from, ..range };
    let ports = |range: PortRange| {
        let first = range.first + from as u16;
        PortRange { first, last: first + (to - from).saturating_sub(1) as u16 }
    };
    let mut share = load.clone();
    match cut {
        Cut::Clients => share.addresses.clients = range(load.addresses.clients),
        Cut::Servers => share.addresses.servers = range(load.addresses.servers),
        Cut::ServerPorts => share.addresses.server_ports = ports(load.addresses.server_ports),
        Cut::ClientPorts => share.addresses.client_ports = ports(load.addresses.client_ports),
    }
    for stage in &mut share.stages {
        stage.connections = part.of(stage.connections);
    }
    share.setup_rate_max = load.setup_rate_max.map(|rate| part.of(rate).max(1));
    share
}

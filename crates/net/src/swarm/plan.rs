//! Which connection is between which addresses and ports: by arithmetic, both ways.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fp_model::{AddressRange, ConnectionAddresses, Family, PortRange};

use crate::checksum::Addresses;
use crate::tcp::Ports;

/// Numbers all connections that may be between the clients and servers of a load. Successive numbers
/// go to successive clients, then to the next server address, server port and client port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPlan {
    clients: Hosts,
    servers: Hosts,
    client_ports: PortRange,
    server_ports: PortRange,
    connections: u32,
}

/// Between whom a connection is, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// From client to server.
    pub addresses: Addresses,
    /// The same way.
    pub ports: Ports,
}

/// Why addresses cannot be used, or do not suffice: a sentence that says what would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    OtherFamily { network: IpAddr, family: Family },
    Prefix { network: IpAddr, prefix_bits: u8, most: u8 },
    HostBits { network: IpAddr, prefix_bits: u8 },
    NoAddress { network: IpAddr },
    BeyondNetwork { range: AddressRange, hosts: u64 },
    Reserved { address: Ipv4Addr, range: AddressRange },
    NotUnicast { network: IpAddr },
    NoPorts(PortRange),
    PortZero,
    Overlap { clients: IpAddr, servers: IpAddr },
    TranslatedIpv6,
    TooFew { wanted: u32, fit: u32, clients: u32, pairs_needed: u64 },
    TooFewToRenew { wanted: u32, fit: u32 },
}

/// The successive addresses of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hosts {
    first: u128,
    count: u32,
    family: Family,
}

impl AddressPlan {
    /// # Errors
    /// What of the addresses cannot be, with the numbers.
    pub fn new(addresses: &ConnectionAddresses, family: Family) -> Result<Self, PlanError> {
        let ConnectionAddresses { clients, servers, client_ports, server_ports, translated } =
            *addresses;
        if translated && family == Family::Ipv6 {
            return Err(PlanError::TranslatedIpv6);
        }
        for ports in [client_ports, server_ports] {
            if ports.count() == 0 {
                return Err(PlanError::NoPorts(ports));
            }
            if ports.first == 0 {
                return Err(PlanError::PortZero);
            }
        }
        let [clients, servers] = [Hosts::new(&clients, family)?, Hosts::new(&servers, family)?];
        if clients.overlaps(&servers) {
            let (clients, servers) = (addresses.clients.network, addresses.servers.network);
            return Err(PlanError::Overlap { clients, servers });
        }
        let pairs = u64::from(client_ports.count()) * u64::from(server_ports.count());
        let hosts = u64::from(clients.count) * u64::from(servers.count);
        let connections = u128::from(hosts) * u128::from(pairs);
        let connections = u32::try_from(connections).unwrap_or(u32::MAX);
        Ok(Self { clients, servers, client_ports, server_ports, connections })
    }

    /// How many connections can be told apart, up to 2^32 less one.
    pub const fn connections(&self) -> u32 {
        self.connections
    }

    /// How many combinations of a client's address, a server's address and a server's port so many
    /// connections need.
    pub const fn pairs_needed(&self, connections: u32) -> u64 {
        connections.div_ceil(self.client_ports.count()) as u64
    }

    /// # Errors
    /// How many connections there can be instead, and what so many need.
    pub const fn check(&self, wanted: u32) -> Result<(), PlanError> {
        if wanted <= self.connections {
            return Ok(());
        }
        let pairs_needed = self.pairs_needed(wanted);
        let (fit, clients) = (self.connections, self.clients.count);
        Err(PlanError::TooFew { wanted, fit, clients, pairs_needed })
    }

    /// Between whom the connection of this number is.
    ///
    /// # Panics
    /// Where there is no such number.
    pub fn pair(&self, number: u32) -> Pair {
        assert!(number < self.connections, "connection {number} of {}", self.connections);
        let (rest, client) = (number / self.clients.count, number % self.clients.count);
        let (rest, server) = (rest / self.servers.count, rest % self.servers.count);
        let server_ports = self.server_ports.count();
        let (client_port, server_port) = (rest / server_ports, rest % server_ports);
        let ports = Ports {
            source: self.client_ports.first + client_port as u16,
            destination: self.server_ports.first + server_port as u16,
        };
        Pair { addresses: self.clients.towards(client, &self.servers, server), ports }
    }

    /// The number of the connection between these; `None`: it is none of the plan.
    pub fn number(&self, pair: &Pair) -> Option<u32> {
        let client = self.clients.place_of(&pair.addresses, Side::Source)?;
        let client_port = place_of_port(self.client_ports, pair.ports.source)?;
        let server = u64::from(self.server(pair)?);
        let servers = u64::from(self.servers.count) * u64::from(self.server_ports.count());
        let number = (u64::from(client_port) * servers + server)
            .checked_mul(u64::from(self.clients.count))?
            .checked_add(u64::from(client))?;
        u32::try_from(number).ok().filter(|number| *number < self.connections)
    }

    /// The number of the server and its port, whoever the client is: they are numbered in the order
    /// in which connections go to them.
    pub(super) fn server(&self, pair: &Pair) -> Option<u32> {
        let server = self.servers.place_of(&pair.addresses, Side::Destination)?;
        let port = place_of_port(self.server_ports, pair.ports.destination)?;
        port.checked_mul(self.servers.count)?.checked_add(server)
    }

    /// The server of this number, and a client that is not one of the plan's.
    pub(super) fn pair_with(&self, server: u32, client: Ipv4Addr, client_port: u16) -> Pair {
        let (port, server) = (server / self.servers.count, server % self.servers.count);
        let destination = Ipv4Addr::from(self.servers.at(server) as u32);
        let destination_port = self.server_ports.first + port as u16;
        Pair {
            addresses: Addresses::V4 { source: client, destination },
            ports: Ports { source: client_port, destination: destination_port },
        }
    }

    /// How many servers and ports of theirs there are.
    pub(super) const fn servers(&self) -> u64 {
        self.servers.count as u64 * self.server_ports.count() as u64
    }

    pub fn is_client(&self, address: IpAddr) -> bool {
        self.clients.place_of_address(address).is_some()
    }

    pub fn is_server(&self, address: IpAddr) -> bool {
        self.servers.place_of_address(address).is_some()
    }
}

impl Pair {
    /// As the segments of the server bear it.
    #[must_use]
    pub const fn reversed(&self) -> Self {
        let addresses = match self.addresses {
            Addresses::V4 { source, destination } => {
                Addresses::V4 { source: destination, destination: source }
            }
            Addresses::V6 { source, destination } => {
                Addresses::V6 { source: destination, destination: source }
            }
        };
        let Ports { source, destination } = self.ports;
        Self { addresses, ports: Ports { source: destination, destination: source } }
    }
}

const fn place_of_port(ports: PortRange, port: u16) -> Option<u32> {
    if port < ports.first || port > ports.last { None } else { Some((port - ports.first) as u32) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Source,
    Destination,
}

impl Hosts {
    fn new(range: &AddressRange, family: Family) -> Result<Self, PlanError> {
        let AddressRange { network, prefix_bits, first, count } = *range;
        let (bits, most, own) = match network {
            IpAddr::V4(network) => (u128::from(u32::from(network)), 32, Family::Ipv4),
            IpAddr::V6(network) => (u128::from(network), 128, Family::Ipv6),
        };
        if own != family {
            return Err(PlanError::OtherFamily { network, family });
        }
        if prefix_bits == 0 || prefix_bits > most {
            return Err(PlanError::Prefix { network, prefix_bits, most });
        }
        if network.is_multicast() || network.is_loopback() || network.is_unspecified() {
            return Err(PlanError::NotUnicast { network });
        }
        let host_bits = u32::from(most - prefix_bits);
        let hosts = 1_u128.checked_shl(host_bits).unwrap_or(u128::MAX);
        if bits & (hosts - 1) != 0 {
            return Err(PlanError::HostBits { network, prefix_bits });
        }
        if count == 0 {
            return Err(PlanError::NoAddress { network });
        }
        if u128::from(first) + u128::from(count) > hosts {
            let hosts = u64::try_from(hosts).unwrap_or(u64::MAX);
            return Err(PlanError::BeyondNetwork { range: *range, hosts });
        }
        let hosts_of_range = Self { first: bits + u128::from(first), count, family };
        if family == Family::Ipv4 && host_bits > 1 {
            hosts_of_range.check_reserved(range, bits, hosts)?;
        }
        Ok(hosts_of_range)
    }

    /// The network's own address and that of all of its hosts are nobody's: RFC 1122 section 3.3.6.
    fn check_reserved(
        &self,
        range: &AddressRange,
        network: u128,
        hosts: u128,
    ) -> Result<(), PlanError> {
        let last = self.first + u128::from(self.count) - 1;
        let reserved = [(self.first, network), (last, network + hosts - 1)];
        match reserved.into_iter().find(|(own, reserved)| own == reserved) {
            Some((address, _)) => {
                let address = Ipv4Addr::from(address as u32);
                Err(PlanError::Reserved { address, range: *range })
            }
            None => Ok(()),
        }
    }

    const fn overlaps(&self, other: &Self) -> bool {
        self.first < other.first + other.count as u128
            && other.first < self.first + self.count as u128
    }

    const fn at(&self, place: u32) -> u128 {
        self.first + place as u128
    }

    fn towards(&self, place: u32, others: &Self, other: u32) -> Addresses {
        let (source, destination) = (self.at(place), others.at(other));
        match self.family {
            Family::Ipv4 => Addresses::V4 {
                source: Ipv4Addr::from(source as u32),
                destination: Ipv4Addr::from(destination as u32),
            },
            Family::Ipv6 => Addresses::V6 {
                source: Ipv6Addr::from(source),
                destination: Ipv6Addr::from(destination),
            },
        }
    }

    fn place_of(&self, addresses: &Addresses, side: Side) -> Option<u32> {
        match (*addresses, side, self.family) {
            (Addresses::V4 { source: address, .. }, Side::Source, Family::Ipv4)
            | (Addresses::V4 { destination: address, .. }, Side::Destination, Family::Ipv4) => {
                let place = u32::from(address).wrapping_sub(self.first as u32);
                (place < self.count).then_some(place)
            }
            (Addresses::V6 { source: address, .. }, Side::Source, Family::Ipv6)
            | (Addresses::V6 { destination: address, .. }, Side::Destination, Family::Ipv6) => {
                let place = u128::from(address).wrapping_sub(self.first);
                (place < u128::from(self.count)).then_some(place as u32)
            }
            (Addresses::V4 { .. }, _, Family::Ipv6) | (Addresses::V6 { .. }, _, Family::Ipv4) => {
                None
            }
        }
    }

    fn place_of_address(&self, address: IpAddr) -> Option<u32> {
        let addresses = Addresses::new(address, address)?;
        self.place_of(&addresses, Side::Source)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherFamily { network, family } => {
                write!(f, "{network} is no network of {family}: take one that is")
            }
            Self::Prefix { network, prefix_bits, most } => {
                write!(f, "the prefix of {network} has 1 to {most} bits, not {prefix_bits}")
            }
            Self::HostBits { network, prefix_bits } => write!(
                f,
                "{network} has bits beyond its prefix of {prefix_bits}: set those to zero"
            ),
            Self::NoAddress { network } => {
                write!(f, "no address of {network} is to be used: take at least one")
            }
            Self::BeyondNetwork { range, hosts } => write!(
                f,
                "{} addresses from the place {} on do not fit {}/{}, which has {hosts}",
                range.count, range.first, range.network, range.prefix_bits
            ),
            Self::Reserved { address, range } => write!(
                f,
                "{address} is no host's address in {}/{}: leave out the first and the last",
                range.network, range.prefix_bits
            ),
            Self::NotUnicast { network } => {
                write!(f, "{network} is no network of hosts: take one that is")
            }
            Self::NoPorts(ports) => {
                write!(f, "ports {} to {} are none: begin lower", ports.first, ports.last)
            }
            Self::PortZero => f.write_str("a port is from 1 to 65535, not 0"),
            Self::Overlap { clients, servers } => write!(
                f,
                "clients of {clients} and servers of {servers} have addresses in common: part them"
            ),
            Self::TranslatedIpv6 => {
                f.write_str("connections through a translator are over IPv4: take that")
            }
            Self::TooFew { wanted, fit, clients, pairs_needed } => write!(
                f,
                "{wanted} connections need {pairs_needed} combinations of client, server and \
                 server port, and with {clients} clients there is room for {fit} connections: name \
                 more addresses or ports"
            ),
            Self::TooFewToRenew { wanted, fit } => write!(
                f,
                "connections with a lifetime need addresses and ports for {wanted}, twice as many \
                 as are open at once, and there are some for {fit}: name more"
            ),
        }
    }
}

impl core::error::Error for PlanError {}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::format;
    use alloc::string::{String, ToString as _};

    use proptest::prelude::*;

    use super::*;

    fn range(network: &str, first: u32, count: u32) -> AddressRange {
        let (network, prefix_bits) = network.split_once('/').unwrap();
        let (network, prefix_bits) = (network.parse().unwrap(), prefix_bits.parse().unwrap());
        AddressRange { network, prefix_bits, first, count }
    }

    fn addresses(clients: AddressRange, servers: AddressRange) -> ConnectionAddresses {
        ConnectionAddresses {
            clients,
            servers,
            client_ports: PortRange { first: 1024, last: 65_535 },
            server_ports: PortRange { first: 80, last: 80 },
            translated: false,
        }
    }

    fn usual() -> ConnectionAddresses {
        addresses(range("198.18.0.0/16", 1, 100), range("198.19.0.0/16", 1, 1))
    }

    fn refusal(addresses: &ConnectionAddresses) -> String {
        AddressPlan::new(addresses, Family::Ipv4).unwrap_err().to_string()
    }

    proptest! {
        /// All numbers of small plans: no two are between the same, none leaves its ranges, and the
        /// number comes back.
        #[test]
        fn a_number_and_a_pair_are_the_same_thing(
            firsts in (1_u32..200, 1_u32..200),
            counts in (1_u32..6, 1_u32..4, 1_u16..6, 1_u16..4),
            ports in (1_u16..60_000, 1_u16..60_000),
            is_v6: bool,
        ) {
            let (networks, family) = if is_v6 {
                (["2001:2::/64", "2001:2:0:1::/64"], Family::Ipv6)
            } else {
                (["198.18.0.0/16", "198.19.0.0/16"], Family::Ipv4)
            };
            let of = |first, count| PortRange { first, last: first + (count - 1) };
            let clients = range(networks[0], firsts.0, counts.0);
            let servers = range(networks[1], firsts.1, counts.1);
            let addresses = ConnectionAddresses {
                client_ports: of(ports.0, counts.2),
                server_ports: of(ports.1, counts.3),
                ..addresses(clients, servers)
            };
            let plan = AddressPlan::new(&addresses, family).unwrap();
            let all = counts.0 * counts.1 * u32::from(counts.2) * u32::from(counts.3);
            prop_assert_eq!(plan.connections(), all);
            let mut seen = BTreeSet::new();
            for number in 0..all {
                let pair = plan.pair(number);
                prop_assert_eq!(plan.number(&pair), Some(number));
                prop_assert_eq!(plan.number(&pair.reversed()), None);
                let text = format!("{pair:?}");
                prop_assert!(seen.insert(text));
                let (client, server) = (pair.addresses.source(), pair.addresses.destination());
                let last = |address: IpAddr| match address {
                    IpAddr::V4(address) => u32::from(address) & 0xffff,
                    IpAddr::V6(address) => u128::from(address) as u32,
                };
                prop_assert!((firsts.0..firsts.0 + counts.0).contains(&last(client)));
                prop_assert!((firsts.1..firsts.1 + counts.1).contains(&last(server)));
                prop_assert!(plan.is_client(client) && plan.is_server(server));
                prop_assert!((ports.0..ports.0 + counts.2).contains(&pair.ports.source));
                prop_assert!((ports.1..ports.1 + counts.3).contains(&pair.ports.destination));
                let mut other = pair;
                other.ports.source = ports.0 + counts.2;
                prop_assert_eq!(plan.number(&other), None);
            }
        }
    }

    /// 24,000,000 connections of 64,512 ports each need 373 pairs of addresses (24,000,000 / 64,512
    /// is 372.02).
    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        let plan = AddressPlan::new(&usual(), Family::Ipv4).unwrap();
        assert_eq!((plan.connections(), plan.pairs_needed(24_000_000)), (6_451_200, 373));
        assert_eq!(plan.check(6_451_200), Ok(()));
        let text = plan.check(24_000_000).unwrap_err().to_string();
        for part in ["24000000", "373", "100 clients", "6451200"] {
            assert!(text.contains(part), "{text}");
        }
    }

    /// 65,534 clients, 65,534 servers and all ports are more than 32 bits tell apart.
    #[test]
    fn the_largest_plan_is_cut_where_numbers_end() {
        let most = addresses(range("198.18.0.0/16", 1, 65_534), range("198.19.0.0/16", 1, 65_534));
        let plan = AddressPlan::new(&most, Family::Ipv4).unwrap();
        assert_eq!(plan.connections(), u32::MAX);
        let last = plan.pair(u32::MAX - 1);
        assert_eq!(plan.number(&last), Some(u32::MAX - 1));
        let beyond = Pair { ports: Ports { source: 65_535, ..last.ports }, ..last };
        assert_eq!(plan.number(&beyond), None);
    }

    #[test]
    fn addresses_that_cannot_be_are_refused_by_name() {
        let clients = |clients| refusal(&ConnectionAddresses { clients, ..usual() });
        assert!(clients(range("2001:2::/64", 1, 1)).contains("no network of IPv4"));
        assert!(clients(range("0.0.0.0/0", 1, 1)).contains("1 to 32 bits, not 0"));
        assert!(clients(range("198.18.0.1/16", 1, 1)).contains("set those to zero"));
        assert!(clients(range("198.18.0.0/24", 0, 9)).contains("198.18.0.0 is no host's"));
        assert!(clients(range("198.18.0.0/24", 1, 255)).contains("198.18.0.255 is no host's"));
        assert!(clients(range("198.18.0.0/24", 1, 256)).contains("which has 256"));
        assert!(clients(range("198.18.0.0/24", 1, 0)).contains("at least one"));
        assert!(clients(range("224.0.0.0/8", 1, 1)).contains("no network of hosts"));
        assert!(clients(range("198.19.0.0/24", 1, 9)).contains("in common"));
        let ports = PortRange { first: 81, last: 80 };
        assert!(refusal(&ConnectionAddresses { server_ports: ports, ..usual() }).contains("none"));
        let ports = PortRange { first: 0, last: 80 };
        assert!(refusal(&ConnectionAddresses { client_ports: ports, ..usual() }).contains("not 0"));
    }
}

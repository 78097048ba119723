//! How the two halves of many connections meet: ports, memory, the way there, and the proof of it.

use std::net::IpAddr;
use std::num::NonZeroUsize;
use std::thread;

use fp_model::{AddressRange, ConnectionsLoad, Direction, FlowSpec, FramePorts};
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress, VlanTags};
use fp_net::swarm::{AddressPlan, Role, Setting, SettingError, Shard, shares_by_client_port};

use super::claims::{Claim, Claims};
use super::proof::{Prover, Side, questions};
use super::{Driver, SwarmError, memory};
use crate::Lease;
use crate::control::message::FramesDoor;
use crate::end::End;
use crate::flow::OPENING_MAX;
use crate::frame_io::{ClientIs, FrameIo, HostPort, Prefix, Share};
use crate::half::FlowKey;
use crate::os::netlink::Interface;
use crate::os::next_hop::NextHop;
use crate::os::{clock, random};

/// A far end's ports, which take frames of the plan but send none yet.
#[derive(Debug)]
pub(crate) struct Listening {
    claim: Claim,
    parts: Vec<ConnectionsLoad>,
    ports: Vec<HostPort>,
}

/// One end of connections that its peer has proven to have the other end of.
#[derive(Debug)]
pub(crate) struct Met<Port> {
    /// One for each part of the load, and at least one.
    pub(super) drivers: Vec<Driver<Port>>,
    pub(super) role: Role,
    pub(super) bytes_total: u64,
    /// What a far end keeps for the run; `None` at a near end.
    pub(super) asked: Option<Asked>,
}

/// What a far end keeps: other near ends may not have its addresses, and its own may ask again.
#[derive(Debug)]
pub(crate) struct Asked {
    _claim: Claim,
    side: Side,
}

impl<Port: FrameIo> Met<Port> {
    /// Answers the questions that have come meanwhile, of a near end that missed an answer.
    ///
    /// # Errors
    /// Where the interface is gone.
    pub(crate) fn confirm(&mut self) -> Result<(), SwarmError> {
        if let (Some(Asked { side, .. }), Some(first)) = (&self.asked, self.drivers.first_mut()) {
            Prover { port: first.port(), side: *side }.answer(clock::now())?;
        }
        Ok(())
    }
}

/// With fewer connections another thread costs more than it does.
const CONNECTIONS_PER_SHARD: u32 = 10_000;
/// Each has a ring of 16 MiB.
const SHARDS_MAX: u32 = 16;

/// Where this end and the other one have their addresses.
#[derive(Clone, Copy, Debug)]
struct Sides {
    here: AddressRange,
    there: AddressRange,
}

impl Sides {
    const fn of(load: &ConnectionsLoad, role: Role) -> Self {
        let (clients, servers) = (load.addresses.clients, load.addresses.servers);
        match role {
            Role::Client => Self { here: clients, there: servers },
            Role::Server => Self { here: servers, there: clients },
        }
    }
}

pub(crate) const fn role_of(end: End, direction: Direction) -> Role {
    if end.sends(direction) { Role::Client } else { Role::Server }
}

/// Opens the far end's port for a near end at `peer`.
///
/// # Errors
/// What cannot be of the load, of the host's memory, or of its interface towards the near end.
pub(crate) fn listen(
    [local, peer]: [IpAddr; 2],
    spec: &FlowSpec,
    load: &ConnectionsLoad,
    claims: &Claims,
) -> Result<Listening, SwarmError> {
    let role = role_of(End::Far, spec.direction);
    check(load, spec, role, [local, peer])?;
    let Sides { here, there } = Sides::of(load, role);
    let claim = claims.take(vec![covering(&here), covering(&there)])?;
    let hop = NextHop::towards(peer)?;
    let parts = shares_by_client_port(load, shards_for(load));
    let ports = open_ports(&hop.interface, &parts, role)?;
    Ok(Listening { claim, parts, ports })
}

impl Listening {
    pub(crate) fn door(&self) -> FramesDoor {
        // All ports of an interface have the same address.
        let mac = self.ports.first().map(HostPort::mac).unwrap_or_default();
        FramesDoor { mac, shards: self.parts.len() as u16 }
    }
}

/// The kernel's part of the work takes as much of the processors as the shards'. Of an interface's
/// only receive queue there is one.
fn shards_for(load: &ConnectionsLoad) -> u32 {
    if load.ports == FramePorts::Xdp {
        return 1;
    }
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u32;
    let useful = load.connections_peak() / CONNECTIONS_PER_SHARD;
    (processors / 2).min(useful).clamp(1, SHARDS_MAX)
}

/// Each part's frames have client ports of its own.
fn open_ports(
    interface: &Interface,
    parts: &[ConnectionsLoad],
    role: Role,
) -> Result<Vec<HostPort>, SwarmError> {
    let client = match role {
        Role::Client => ClientIs::Destination,
        Role::Server => ClientIs::Source,
    };
    let open = |load: &ConnectionsLoad, share: Share| -> Result<HostPort, SwarmError> {
        let own = covering(&Sides::of(load, role).here);
        Ok(HostPort::open(load.ports, interface, &[own], share)?)
    };
    match parts {
        [load] => Ok(vec![open(load, Share::ALL)?]),
        parts => {
            let ranges = parts.iter().map(|part| part.addresses.client_ports);
            let shares = Share::of_ranges(ranges, client);
            parts.iter().zip(shares).map(|(part, share)| open(part, share)).collect()
        }
    }
}

/// The far end's half: waits for the near end's first questions and learns from them where its own
/// frames go.
///
/// # Errors
/// Where no proof comes.
pub(crate) fn meet_near(
    listening: Listening,
    spec: &FlowSpec,
    load: &ConnectionsLoad,
    key: &FlowKey,
    lease: &Lease,
) -> Result<Met<HostPort>, SwarmError> {
    let role = role_of(End::Far, spec.direction);
    let Listening { claim, parts, mut ports } = listening;
    let reserved = Reserved::new(spec, &parts, role, key)?;
    let mut prover = prover(&mut ports, spec, load, role, key)?;
    let side = prover.side;
    let answered = prover.await_questions(lease, clock::now() + OPENING_MAX)?;
    let Some(destination) = answered else {
        let Sides { here, there } = Sides::of(load, role);
        return Err(SwarmError::NotAsked { here: covering(&here), there: covering(&there) });
    };
    Ok(reserved.connected(ports, destination, Some(Asked { _claim: claim, side })))
}

/// The near end's half: finds the way to the far end and has it prove that it is there.
///
/// # Errors
/// Where there is no way but a default route, or the far end does not answer everywhere.
pub(crate) fn meet_far(
    far: IpAddr,
    door: FramesDoor,
    spec: &FlowSpec,
    load: &ConnectionsLoad,
    key: &FlowKey,
    lease: &Lease,
) -> Result<Met<HostPort>, SwarmError> {
    let role = role_of(End::Near, spec.direction);
    let sides = Sides::of(load, role);
    let far = far.to_canonical();
    let towards_far = NextHop::towards(far)?;
    check(load, spec, role, [towards_far.source, far])?;
    let (hop, destination) = match towards_far.gateway {
        None => (towards_far, door.mac),
        Some(_) => {
            let hop = way_to(&sides.there, &towards_far, far)?;
            (hop, hop.mac)
        }
    };
    let parts = parts_as_told(load, door.shards)?;
    let mut ports = open_ports(&hop.interface, &parts, role)?;
    let reserved = Reserved::new(spec, &parts, role, key)?;
    let mut prover = prover(&mut ports, spec, load, role, key)?;
    let asked = questions(load, &prover.side.plan, role);
    let missing = prover.ask(destination, &asked, lease, clock::now() + OPENING_MAX)?;
    if let Some(first) = missing.iter().map(|pair| pair.addresses.destination()).min() {
        return Err(SwarmError::NotProven {
            missing: missing.len(),
            asked: asked.len(),
            first,
            here: covering(&sides.here),
            there: covering(&sides.there),
        });
    }
    Ok(reserved.connected(ports, MacAddress(destination), None))
}

/// The far end says how many, but not how it comes to them.
fn parts_as_told(load: &ConnectionsLoad, told: u16) -> Result<Vec<ConnectionsLoad>, SwarmError> {
    let parts = shares_by_client_port(load, SHARDS_MAX.min(told.into()));
    if parts.len() != usize::from(told) {
        return Err(SwarmError::OtherParts { theirs: told, ours: parts.len() });
    }
    Ok(parts)
}

/// Through routers the plan's addresses have routes of their own, or go the way to the far end: a
/// default route that leads elsewhere leads to strangers.
fn way_to(there: &AddressRange, to_far: &NextHop, far: IpAddr) -> Result<NextHop, SwarmError> {
    let server = address_at(there, there.first);
    let hop = NextHop::towards(server)?;
    let is_way_to_far = (hop.interface.index, hop.mac) == (to_far.interface.index, to_far.mac);
    if hop.by_default_route && !is_way_to_far {
        return Err(SwarmError::DefaultRoute { server, far });
    }
    Ok(hop)
}

/// Memory first, so that what does not fit is refused before anything is opened.
fn check(
    load: &ConnectionsLoad,
    spec: &FlowSpec,
    role: Role,
    hosts: [IpAddr; 2],
) -> Result<(), SwarmError> {
    if load.addresses.translated && spec.direction == Direction::Download {
        return Err(SwarmError::TranslatedDownload);
    }
    let plan = plan(load, spec)?;
    memory::bytes_for(load, spec.family, role)?;
    match hosts.into_iter().find(|host| plan.is_client(*host) || plan.is_server(*host)) {
        Some(address) => Err(SwarmError::HostAddress { address }),
        None => Ok(()),
    }
}

fn plan(load: &ConnectionsLoad, spec: &FlowSpec) -> Result<AddressPlan, SwarmError> {
    Ok(AddressPlan::new(&load.addresses, spec.family).map_err(SettingError::from)?)
}

/// By the first port: questions and answers have the first client port of the plan.
fn prover<'a>(
    ports: &'a mut [HostPort],
    spec: &FlowSpec,
    load: &ConnectionsLoad,
    role: Role,
    key: &FlowKey,
) -> Result<Prover<'a, HostPort>, SwarmError> {
    let traffic_class = spec.dscp.traffic_class();
    let [port, ..] = ports else { unreachable!("a load has at least one part") };
    Ok(Prover { port, side: Side { plan: plan(load, spec)?, role, key: *key, traffic_class } })
}

/// The memory of one end's connections, taken before the first packet.
#[derive(Debug)]
struct Reserved {
    shards: Vec<Shard>,
    role: Role,
    bytes_total: u64,
}

impl Reserved {
    fn new(
        spec: &FlowSpec,
        parts: &[ConnectionsLoad],
        role: Role,
        key: &FlowKey,
    ) -> Result<Self, SwarmError> {
        let [seed, ..] = key.as_chunks::<8>().0 else { unreachable!("a key has 16 bytes") };
        let seed = u64::from_be_bytes(*seed);
        let (mut shards, mut bytes_total) = (Vec::with_capacity(parts.len()), 0);
        for (place, load) in parts.iter().enumerate() {
            bytes_total += memory::bytes_for(load, spec.family, role)?;
            let secret = random::bytes().map_err(SwarmError::Random)?;
            shards.push(Shard::new(Setting {
                role,
                load: load.clone(),
                family: spec.family,
                dscp: spec.dscp,
                link: Link::default(),
                // Both ends compute whole checksums, whatever is between them.
                peer: Peer::Network,
                seed: seed.wrapping_add(place as u64),
                secret: u128::from_be_bytes(secret),
                start: clock::now(),
            })?);
        }
        Ok(Self { shards, role, bytes_total })
    }

    fn connected(
        self,
        ports: Vec<HostPort>,
        destination: MacAddress,
        asked: Option<Asked>,
    ) -> Met<HostPort> {
        let drivers = ports.into_iter().zip(self.shards).map(|(port, mut shard)| {
            let source = MacAddress(port.mac());
            shard.send_by(Link { source, destination, tags: VlanTags::NONE });
            Driver::new(port, shard)
        });
        let (drivers, role, bytes_total) = (drivers.collect(), self.role, self.bytes_total);
        Met { drivers, role, bytes_total, asked }
    }
}

/// The longest prefix that all addresses of the range have.
pub(crate) fn covering(range: &AddressRange) -> Prefix {
    let last = range.first.saturating_add(range.count.saturating_sub(1));
    let differing = u32::BITS - (range.first ^ last).leading_zeros();
    let address = address_at(range, range.first);
    let bits = u32::from(Prefix::of(address).len_bits());
    Prefix::of(address).shortened(bits.saturating_sub(differing) as u8)
}

/// The address at this place of the range's network.
fn address_at(range: &AddressRange, place: u32) -> IpAddr {
    match range.network {
        IpAddr::V4(network) => IpAddr::V4((network.to_bits().wrapping_add(place)).into()),
        IpAddr::V6(network) => IpAddr::V6(network.to_bits().wrapping_add(u128::from(place)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(network: &str, prefix_bits: u8, first: u32, count: u32) -> AddressRange {
        AddressRange { network: network.parse().unwrap(), prefix_bits, first, count }
    }

    #[test]
    fn a_range_is_covered_by_the_longest_prefix_that_all_of_it_has() {
        let covered =
            |network, bits, first, count| covering(&range(network, bits, first, count)).to_string();
        assert_eq!(covered("198.18.0.0", 15, 1, 254), "198.18.0.0/24");
        assert_eq!(covered("198.18.0.0", 15, 0x0001_0001, 1), "198.19.0.1/32");
        assert_eq!(covered("198.18.0.0", 15, 0x0001_0004, 4), "198.19.0.4/30");
        // 255 and 256 differ in nine bits.
        assert_eq!(covered("198.18.0.0", 15, 255, 2), "198.18.0.0/23");
        assert_eq!(covered("2001:2:0:1::", 64, 1, 1), "2001:2:0:1::1/128");
        assert_eq!(covered("2001:2:0:1::", 64, 1, 3), "2001:2:0:1::/126");
    }
}

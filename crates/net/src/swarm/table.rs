//! Finds connections whose clients' addresses a translator has chosen.

use alloc::vec;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

use crate::checksum::Addresses;
use crate::link::random::SplitMix64;
use crate::swarm::place::Place;
use crate::swarm::plan::{AddressPlan, Pair};

/// Open addressing over the places, an eighth more than which there are buckets.
#[derive(Debug)]
pub(super) struct Table {
    secret: u64,
    /// One more than the place, or 0.
    buckets: Vec<u32>,
    clients: Vec<Client>,
    /// The server and port to which the client of each place has come.
    servers: Vec<u16>,
}

/// Its port is in its place.
#[derive(Clone, Copy, Debug)]
struct Client {
    address: u32,
    /// The connection's own number, once the client has told it.
    number: u32,
}

/// What the server sees of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) address: u32,
    pub(super) port: u16,
    pub(super) server: u16,
}

const UNKNOWN: u32 = u32::MAX;
/// Servers and ports of theirs, together.
pub(super) const SERVERS_MAX: u64 = 1 << 16;

impl Table {
    pub(super) fn new(places: u32, secret: u128) -> Self {
        let unknown = Client { address: 0, number: UNKNOWN };
        Self {
            secret: secret as u64 ^ (secret >> 64) as u64,
            buckets: vec![0; Self::buckets_needed(places)],
            clients: vec![unknown; places as usize],
            servers: vec![0; places as usize],
        }
    }

    pub(super) const fn bytes_needed(places: u32) -> u64 {
        let each = size_of::<Client>() + size_of::<u16>();
        (places as usize * each + Self::buckets_needed(places) * size_of::<u32>()) as u64
    }

    const fn buckets_needed(places: u32) -> usize {
        places as usize + places as usize / 4 + 1
    }

    pub(super) fn seen(plan: &AddressPlan, pair: &Pair) -> Option<Seen> {
        let Addresses::V4 { source, .. } = pair.addresses else { return None };
        let server = plan.server(pair)? as u16;
        Some(Seen { address: source.into(), port: pair.ports.source, server })
    }

    pub(super) fn pair(&self, plan: &AddressPlan, index: u32, port: u16) -> Pair {
        let (client, server) = (self.clients[index as usize], self.servers[index as usize]);
        plan.pair_with(server.into(), Ipv4Addr::from(client.address), port)
    }

    pub(super) fn find(&self, places: &[Place], seen: Seen) -> Option<u32> {
        let mut bucket = self.home(seen);
        loop {
            let index = self.buckets[bucket].checked_sub(1)?;
            if self.seen_at(places, index) == seen {
                return Some(index);
            }
            bucket = self.after(bucket);
        }
    }

    /// Of a place that is not in the table.
    pub(super) fn insert(&mut self, places: &mut [Place], index: u32, seen: Seen) {
        places[index as usize].turn = seen.port;
        self.clients[index as usize] = Client { address: seen.address, number: UNKNOWN };
        self.servers[index as usize] = seen.server;
        let mut bucket = self.home(seen);
        while self.buckets[bucket] != 0 {
            bucket = self.after(bucket);
        }
        self.buckets[bucket] = index + 1;
    }

    /// Closes the gap, so that all others are found from where they belong.
    pub(super) fn remove(&mut self, places: &[Place], index: u32) {
        let mut gap = self.home(self.seen_at(places, index));
        while self.buckets[gap] != index + 1 {
            gap = self.after(gap);
        }
        let mut next = self.after(gap);
        while let Some(other) = self.buckets[next].checked_sub(1) {
            let home = self.home(self.seen_at(places, other));
            let count = self.buckets.len();
            let from_home = |bucket: usize| (bucket + count - home) % count;
            if from_home(gap) < from_home(next) {
                self.buckets[gap] = other + 1;
                gap = next;
            }
            next = self.after(next);
        }
        self.buckets[gap] = 0;
    }

    pub(super) fn number(&self, index: u32) -> Option<u32> {
        Some(self.clients[index as usize].number).filter(|number| *number != UNKNOWN)
    }

    pub(super) fn learn(&mut self, index: u32, number: u32) {
        self.clients[index as usize].number = number;
    }

    fn seen_at(&self, places: &[Place], index: u32) -> Seen {
        let at = index as usize;
        Seen { address: self.clients[at].address, port: places[at].turn, server: self.servers[at] }
    }

    fn home(&self, seen: Seen) -> usize {
        let Seen { address, port, server } = seen;
        let key = u64::from(address) << 32 | u64::from(port) << 16 | u64::from(server);
        let hash = SplitMix64::at(key ^ self.secret, 0).next();
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }

    const fn after(&self, bucket: usize) -> usize {
        if bucket + 1 == self.buckets.len() { 0 } else { bucket + 1 }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whoever_was_put_in_is_found_and_nobody_else(
            secret: u128,
            deeds in vec((0_u32..12, 0_u32..3, 0_u16..4, 0_u16..2), 0..200),
        ) {
            let mut places: Vec<Place> = (0..12).map(|_| Place::new(0)).collect();
            let mut table = Table::new(12, secret);
            let mut model: BTreeMap<u32, Seen> = BTreeMap::new();
            for (index, address, port, server) in deeds {
                let seen = Seen { address, port, server };
                if model.remove(&index).is_some() {
                    table.remove(&places, index);
                } else if model.values().all(|other| *other != seen) {
                    table.insert(&mut places, index, seen);
                    model.insert(index, seen);
                }
                for (address, port, server) in
                    (0..3).flat_map(|a| (0..4).flat_map(move |p| (0..2).map(move |s| (a, p, s))))
                {
                    let seen = Seen { address, port, server };
                    let wanted = model.iter().find(|(_, other)| **other == seen);
                    prop_assert_eq!(table.find(&places, seen), wanted.map(|(index, _)| *index));
                }
            }
        }
    }
}

//! Very many connections, both ends of each: two shards that send each other whole frames.

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use fp_model::{
    ConnectionsLoad, ConnectionsReport, ConnectionsSample, Direction, Family, PacketLayout, Slot,
    Time,
};

use crate::checksum::Peer;
use crate::packet::{Link, MacAddress};
use crate::sim::host;
use crate::sim::identity::Identity;
use crate::sim::network::{Network, Packet, Sleeper};
use crate::swarm::{Counters, Outbox, Role, Setting, Shard, Stop, report, sample};
use crate::tcp::TCP_HEADER_BYTES;

#[derive(Debug)]
pub(crate) struct ConnectionsFlow {
    pub(crate) identity: Identity,
    client: End,
    server: End,
    /// What one end holds for all connections.
    bytes_total: u64,
    series: Vec<ConnectionsSample>,
}

#[derive(Debug)]
struct End {
    role: Role,
    /// In which its frames go.
    direction: Direction,
    shard: Shard,
    outbox: Outbox,
    /// The earliest alarm that is set.
    alarm: Option<Time>,
    /// The counters at the beginning of the interval that is not over yet.
    counted: Counters,
}

/// Frames that leave an end at one instant before the network takes them.
const OUTBOX_FRAMES: usize = 64;

impl ConnectionsFlow {
    /// # Errors
    /// What of the load cannot be, with the numbers.
    pub(crate) fn new(
        identity: Identity,
        family: Family,
        load: &ConnectionsLoad,
    ) -> Result<Self, String> {
        // As a kernel does with what no interface can carry.
        let mss_fits = identity.interface_mtu_bytes - identity.ip_header_bytes - TCP_HEADER_BYTES;
        let load = ConnectionsLoad { mss_bytes: load.mss_bytes.min(mss_fits), ..load.clone() };
        let needed = Shard::bytes_needed(&load, family, Role::Client);
        Ok(Self {
            identity,
            client: End::new(Role::Client, &identity, family, &load)?,
            server: End::new(Role::Server, &identity, family, &load)?,
            bytes_total: needed.map_err(|error| error.to_string())?,
            series: Vec::new(),
        })
    }

    pub(crate) fn start(&mut self, network: &mut Network) {
        self.client.set_alarm(&self.identity, network);
    }

    /// Closes the connections that are open and opens no more.
    pub(crate) fn stop(&mut self, network: &mut Network) {
        for end in [&mut self.client, &mut self.server] {
            end.shard.stop(Stop::RampDown);
            end.poll(&self.identity, network);
        }
    }

    pub(crate) fn on_packet(&mut self, packet: Packet, network: &mut Network) {
        let Packet::Whole { to, frame } = packet else { return };
        let end = match to {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        };
        end.shard.on_frame(network.now(), &frame, &mut end.outbox);
        end.carry_off(&self.identity, network);
        end.set_alarm(&self.identity, network);
    }

    /// A frame arrived of which a bit is not as it was sent: its checksum is to find that.
    pub(crate) fn on_corrupt(&mut self, packet: Packet, network: &mut Network) {
        let Packet::Whole { to, mut frame } = packet else { return };
        if let Some(last) = frame.last_mut() {
            *last ^= 1;
        }
        self.on_packet(Packet::Whole { to, frame }, network);
    }

    pub(crate) fn on_alarm(&mut self, sleeper: Sleeper, network: &mut Network) {
        let end = match sleeper {
            Sleeper::Client => &mut self.client,
            Sleeper::Server => &mut self.server,
            Sleeper::Schedule
            | Sleeper::Sender(_)
            | Sleeper::Receiver(_)
            | Sleeper::Writer(_)
            | Sleeper::Reader(_) => return,
        };
        // Another alarm has taken the place of one that was set for later.
        if end.alarm.is_some_and(|alarm| alarm > network.now()) {
            return;
        }
        end.alarm = None;
        end.poll(&self.identity, network);
    }

    pub(crate) fn close_slot(&mut self, slot: Slot) -> ConnectionsSample {
        let client = self.client.count();
        let server = self.server.count();
        let sample = sample(&slot, client.each_ref(), server.each_ref());
        self.series.push(sample);
        sample
    }

    pub(crate) fn is_over(&self) -> bool {
        self.client.shard.is_over() && self.server.shard.is_over()
    }

    pub(crate) fn into_report(self) -> ConnectionsReport {
        let (client, server) = (self.client.shard.tally(), self.server.shard.counters());
        report(client, server, self.bytes_total, self.series)
    }
}

impl End {
    fn new(
        role: Role,
        identity: &Identity,
        family: Family,
        load: &ConnectionsLoad,
    ) -> Result<Self, String> {
        let [client, server] = [1, 2].map(|number| MacAddress([2, 0, 0, 0, 0, number]));
        let (source, destination, direction) = match role {
            Role::Client => (client, server, identity.direction),
            Role::Server => (server, client, identity.back()),
        };
        let setting = Setting {
            role,
            load: load.clone(),
            family,
            dscp: identity.dscp,
            link: Link { source, destination, ..Link::default() },
            peer: Peer::Network,
            seed: identity.index as u64,
            // Nobody listens in a simulation, and two runs of it are to be the same.
            secret: role as u128,
            start: identity.start + identity.begins,
        };
        let shard = Shard::new(setting).map_err(|error| error.to_string())?;
        Ok(Self {
            role,
            direction,
            outbox: Outbox::new(OUTBOX_FRAMES, shard.frame_bytes_max()),
            shard,
            alarm: None,
            counted: Counters::default(),
        })
    }

    /// Does and sends what is due.
    fn poll(&mut self, identity: &Identity, network: &mut Network) {
        loop {
            self.shard.poll(network.now(), &mut self.outbox);
            let has_more = self.outbox.is_full();
            self.carry_off(identity, network);
            if !has_more {
                break;
            }
        }
        self.set_alarm(identity, network);
    }

    fn carry_off(&mut self, identity: &Identity, network: &mut Network) {
        let to = match self.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        for frame in self.outbox.frames() {
            let frame: Box<[u8]> = frame.into();
            let frame_bytes = frame.len() as u32 + PacketLayout::ETHERNET_FCS_BYTES;
            let packet_bytes = frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD;
            let packet = Packet::Whole { to, frame };
            network.send(identity.index, self.direction, identity.dscp, packet_bytes, packet);
        }
        self.outbox.on_sent(self.outbox.len());
    }

    fn set_alarm(&mut self, identity: &Identity, network: &mut Network) {
        let Some(at) = self.shard.next_due(network.now()) else { return };
        if self.alarm.is_none_or(|alarm| at < alarm) {
            self.alarm = Some(at);
            let sleeper = match self.role {
                Role::Client => Sleeper::Client,
                Role::Server => Sleeper::Server,
            };
            let end = host::End::that_sends(self.direction);
            network.set_alarm(at, identity.index, sleeper, end);
        }
    }

    /// What it had counted before the slot that fills, and by now.
    fn count(&mut self) -> [Counters; 2] {
        let after = *self.shard.counters();
        [core::mem::replace(&mut self.counted, after), after]
    }
}

//! Both ends, the path between them and virtual time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
    ConnectionsStage, Dscp, Family, FramePorts, PortRange, TcpStates, Time,
};
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress};
use fp_net::swarm::{Counters, Outbox, Role, Setting, Shard, Stop};

pub(crate) const START: Time = Time::from_nanos(5_000_000_123);
const BATCH_FRAMES: usize = 16;
const FRAME_BYTES: usize = 1514;
pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// Of a thousand frames, how many have which fate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fates {
    pub(crate) lost: u64,
    pub(crate) repeated: u64,
    pub(crate) late: u64,
    pub(crate) spoilt: u64,
}

/// What a middlebox makes of a frame from this end: another one, or none.
pub(crate) type Middlebox = Box<dyn FnMut(usize, &[u8]) -> Option<Vec<u8>>>;

/// What carries frames one after the other, each way, and drops what would wait for too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) nanos_per_byte: u64,
    pub(crate) wait_max: Duration,
    pub(crate) free_at: [Time; 2],
}

impl Line {
    /// How long a frame takes from now on; `None`: it is dropped.
    fn carry(&mut self, now: Time, from: usize, bytes: usize) -> Option<Duration> {
        let begins = self.free_at[from].max(now);
        if begins.since(now) > self.wait_max {
            return None;
        }
        let ends = begins + Duration::from_nanos(self.nanos_per_byte * bytes as u64);
        self.free_at[from] = ends;
        Some(ends.since(now))
    }
}

pub(crate) struct World {
    pub(crate) ends: [Shard; 2],
    outboxes: [Outbox; 2],
    pub(crate) now: Time,
    pub(crate) delay: Duration,
    pub(crate) fates: Fates,
    pub(crate) outage: Option<(Duration, Duration)>,
    pub(crate) middlebox: Option<Middlebox>,
    pub(crate) line: Option<Line>,
    on_the_way: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    pub(crate) frames: u64,
    pub(crate) spoilt: u64,
    /// Segments that ask for a connection, told by their bytes: sent, and told apart by addresses.
    pub(crate) asked: u64,
    chance: u64,
}

pub(crate) const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn stage(lasts_ms: u64, connections: u32) -> ConnectionsStage {
    ConnectionsStage { lasts: ms(lasts_ms), connections }
}

pub(crate) fn share(weight: u32, behaviour: Behaviour) -> ConnectionsShare {
    ConnectionsShare { weight, behaviour }
}

pub(crate) fn transaction(request_bytes: u32, response_bytes: u32, think_ms: u64) -> Behaviour {
    Behaviour::Transaction { request_bytes, response_bytes, think: ms(think_ms) }
}

pub(crate) fn load(stages: Vec<ConnectionsStage>, mix: Vec<ConnectionsShare>) -> ConnectionsLoad {
    let range = |network: [u8; 4], count| AddressRange {
        network: IpAddr::V4(Ipv4Addr::from(network)),
        prefix_bits: 16,
        first: 1,
        count,
    };
    ConnectionsLoad {
        stages,
        setup_rate_max: None,
        mix,
        lifetime: None,
        close: Close::Fin,
        addresses: ConnectionAddresses {
            clients: range([198, 18, 0, 0], 7),
            servers: range([198, 19, 0, 0], 2),
            client_ports: PortRange { first: 1024, last: 2048 },
            server_ports: PortRange { first: 80, last: 81 },
            translated: false,
        },
        mss_bytes: 1460,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

pub(crate) fn over_ipv6(mut load: ConnectionsLoad) -> ConnectionsLoad {
    let range = |subnet, count| AddressRange {
        network: IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, subnet, 0, 0, 0, 0)),
        prefix_bits: 64,
        first: 1,
        count,
    };
    load.addresses.clients = range(0, 7);
    load.addresses.servers = range(1, 2);
    load.mss_bytes = 1440;
    load
}

pub(crate) fn setting(role: Role, load: &ConnectionsLoad) -> Setting {
    let ends = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
    let [source, destination] = match role {
        Role::Client => ends,
        Role::Server => [ends[1], ends[0]],
    };
    Setting {
        role,
        load: load.clone(),
        family: match load.addresses.clients.network {
            IpAddr::V4(_) => Family::Ipv4,
            IpAddr::V6(_) => Family::Ipv6,
        },
        dscp: Dscp::of_traffic_class(0x28),
        link: Link { source, destination, ..Link::default() },
        peer: Peer::Network,
        seed: 0x5eed,
        secret: 99,
        start: START,
    }
}

impl World {
    pub(crate) fn new(load: &ConnectionsLoad) -> Self {
        let shard = |role| match Shard::new(setting(role, load)) {
            Ok(shard) => shard,
            Err(error) => panic!("{error}"),
        };
        let outbox = || Outbox::new(BATCH_FRAMES, FRAME_BYTES);
        Self {
            ends: [shard(Role::Client), shard(Role::Server)],
            outboxes: [outbox(), outbox()],
            now: START,
            delay: ms(5),
            fates: Fates::default(),
            outage: None,
            middlebox: None,
            line: None,
            on_the_way: BTreeMap::new(),
            frames: 0,
            spoilt: 0,
            asked: 0,
            chance: 1,
        }
    }

    pub(crate) fn with_chance(mut self, seed: u64, fates: Fates) -> Self {
        (self.chance, self.fates) = (seed, fates);
        self
    }

    pub(crate) fn counters(&self, end: usize) -> &Counters {
        self.ends[end].counters()
    }

    /// Until so long after the start.
    pub(crate) fn run_until(&mut self, elapsed: Duration) {
        let until = START + elapsed;
        loop {
            let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
            let due = self.ends.each_ref().map(|end| end.next_due(self.now));
            let next = [arrival, due[0], due[1]].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            self.deliver();
            for end in [CLIENT, SERVER] {
                self.ends[end].poll(self.now, &mut self.outboxes[end]);
                self.carry_off(end);
            }
            self.check();
        }
        self.now = until;
    }

    pub(crate) fn stop(&mut self, end: usize, stop: Stop) {
        self.ends[end].stop(stop);
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.on_the_way.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, frame) = entry.remove();
            self.ends[to].on_frame(self.now, &frame, &mut self.outboxes[to]);
            self.carry_off(to);
        }
    }

    fn carry_off(&mut self, from: usize) {
        let frames: Vec<Vec<u8>> = self.outboxes[from].frames().map(<[u8]>::to_vec).collect();
        self.outboxes[from].on_sent(frames.len());
        for frame in frames {
            self.send(from, frame);
        }
    }

    fn send(&mut self, from: usize, frame: Vec<u8>) {
        self.frames += 1;
        // Flags of a TCP header behind 14 bytes of Ethernet and 20 or 40 of IP.
        let flags = frame.get(if frame[12] == 0x08 { 47 } else { 67 });
        self.asked += u64::from(flags == Some(&0x02));
        let Some(mut frame) = (match &mut self.middlebox {
            Some(middlebox) => middlebox(from, &frame),
            None => Some(frame),
        }) else {
            return;
        };
        let elapsed = self.now.since(START);
        let is_out = self.outage.is_some_and(|(from, to)| from <= elapsed && elapsed < to);
        if is_out || self.happens(self.fates.lost) {
            return;
        }
        if self.happens(self.fates.repeated) {
            let again = frame.clone();
            let late = ms(self.draw() % 30);
            self.put(1 - from, again, late);
        }
        if self.happens(self.fates.spoilt) {
            self.spoilt += 1;
            // Behind what no checksum covers: Ethernet, and the first half of the IP header.
            let bit = 8 * 22 + self.draw() as usize % (8 * (frame.len() - 22));
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        let late = if self.happens(self.fates.late) { ms(self.draw() % 40) } else { ms(0) };
        let queued = match &mut self.line {
            Some(line) => line.carry(self.now, from, frame.len()),
            None => Some(Duration::ZERO),
        };
        let Some(queued) = queued else { return };
        self.put(1 - from, frame, late + queued);
    }

    fn put(&mut self, to: usize, frame: Vec<u8>, late: Duration) {
        let key = (self.now + self.delay + late, self.draw());
        let order = if late.is_zero() { self.frames } else { key.1 };
        self.on_the_way.insert((key.0, order << 1 | (key.1 & 1)), (to, frame));
    }

    fn happens(&mut self, of_thousand: u64) -> bool {
        of_thousand > 0 && self.draw() % 1000 < of_thousand
    }

    /// The middle of squares of a Weyl sequence (Widynski), which is no generator of the library's.
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_add(0xb5ad_4ece_da1c_e2a9);
        let square = self.chance.wrapping_mul(self.chance).wrapping_add(self.chance);
        let turned = square.rotate_left(32);
        (turned.wrapping_mul(turned).wrapping_add(self.chance)) >> 32
    }

    /// Whatever happens, every connection is accounted for.
    pub(crate) fn check(&self) {
        for counters in [self.counters(CLIENT), self.counters(SERVER)] {
            let failed = counters.failed;
            let ended = counters.given_up + failed.no_answer + failed.refused;
            assert_eq!(
                counters.attempted,
                counters.established + ended + u64::from(counters.pending),
                "{counters:?}"
            );
            let open = u64::from(counters.active) + u64::from(counters.closing);
            assert_eq!(
                counters.established,
                open + counters.closed + failed.reset + failed.timed_out,
                "{counters:?}"
            );
            let TcpStates {
                syn_sent,
                syn_received,
                established,
                fin_wait_1,
                fin_wait_2,
                close_wait,
                closing,
                last_ack,
                time_wait,
            } = counters.states;
            let asked = syn_sent + syn_received;
            let left = fin_wait_1 + fin_wait_2 + close_wait + closing + last_ack + time_wait;
            let in_states = asked + established + left;
            assert!(u64::from(in_states) <= u64::from(counters.pending) + open, "{counters:?}");
        }
    }

    /// Nothing is left at either end, and no alarm.
    pub(crate) fn check_is_over(&mut self) {
        assert!(
            self.ends.iter().all(Shard::is_over),
            "{:?}",
            self.ends.each_ref().map(Shard::counters)
        );
        for end in [CLIENT, SERVER] {
            assert_eq!(self.counters(end).states, TcpStates::default());
        }
        assert_eq!(self.ends.each_ref().map(|end| end.next_due(self.now)), [None, None]);
    }
}

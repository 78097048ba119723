//! A connection against smoltcp's TCP, by bytes on a path that loses, repeats, reorders and spoils
//! packets: what both ends misread alike, a pair of our own would never notice.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

use fp_model::{Ecn, Time};
use fp_net::checksum::{Addresses, Peer};
use fp_net::packet::{Envelope, Frame, HOP_LIMIT, Link};
use fp_net::pattern::Pattern;
use fp_net::tcp::connection::{Arrival, Connection, End, Reaction, State};
use fp_net::tcp::{Extensions, Header, Ports, Profile, Sequence};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

const OURS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const THEIRS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const PORTS: Ports = Ports { source: 40_000, destination: 6349 };
const MTU_BYTES: usize = 1500;
/// Our packets are read and written as Ethernet frames, smoltcp's without that header.
const ETHERNET_BYTES: usize = 14;
const DELAY: Duration = Duration::from_millis(10);
/// What is late is so by up to this: it is overtaken by whole windows.
const LATE_MAX_MICROS: u64 = 30_000;
const STEPS_MAX: u32 = 200_000;
const SEEDS: u64 = 100;

thread_local! {
    /// smoltcp asks a plain function for its timestamps.
    static CLOCK_MS: Cell<u32> = const { Cell::new(0) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    Ours,
    Theirs,
}

/// Of a thousand packets each way.
#[derive(Clone, Copy, Debug)]
struct Path {
    lost: u64,
    late: u64,
    twice: u64,
    spoilt: u64,
}

const SMOOTH: Path = Path { lost: 0, late: 0, twice: 0, spoilt: 0 };

/// Xorshift by Marsaglia.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// What differs from case to case but for the path.
#[derive(Clone, Debug)]
struct Case {
    opener: Host,
    profile: Profile,
    initial: u32,
    their_buffer_bytes: usize,
    has_timestamps: bool,
    /// Their application reads a little at a time: the window closes.
    reads_slowly: bool,
    our_bytes: u64,
    their_bytes: u64,
}

impl Case {
    fn draw(opener: Host, chance: &mut Chance) -> Self {
        let extensions = Extensions {
            timestamps: chance.below(2) == 0,
            window_scaling: chance.below(2) == 0,
            sack: chance.below(4) > 0,
            ecn: false,
        };
        let profile = Profile {
            mss_bytes: chance.one_of(&[536, 1400, 1460]),
            window_bytes: chance.one_of(&[3000, 20_000, 65_535, 300_000]),
            extensions,
            retransmissions_max: u8::MAX,
            syn_retransmissions_max: u8::MAX,
            ..Profile::default()
        };
        Self {
            opener,
            profile,
            // Around the end of the sequence numbers as well.
            initial: chance.one_of(&[1, 0x8000_0000, u32::MAX - 10_000]),
            their_buffer_bytes: chance.one_of(&[4000, 30_000, 200_000]),
            has_timestamps: chance.below(2) == 0,
            reads_slowly: chance.below(4) == 0,
            our_bytes: chance.one_of(&[0, 1, 5000, 200_000]),
            their_bytes: chance.one_of(&[0, 1, 5000, 200_000]),
        }
    }
}

/// Our end and its application.
struct Ours {
    profile: Profile,
    initial: Sequence,
    bytes: u64,
    connection: Option<Connection>,
    own: Pattern,
    peers: Pattern,
    /// Of the peer's stream, what arrived.
    arrived: BTreeMap<u64, u64>,
    received_bytes: u64,
    peer_closed: bool,
    end: Option<End>,
    replies: Vec<Header>,
}

impl Ours {
    fn on_packet(&mut self, now: Time, packet: &[u8]) {
        let mut frame = vec![0; ETHERNET_BYTES];
        frame[12] = 0x08;
        frame.extend_from_slice(packet);
        let Ok(Frame::Tcp(segment)) = Frame::read(&frame, Peer::Network) else { return };
        let Some(connection) = &mut self.connection else {
            self.connection = Connection::passive(&self.profile, self.initial, &segment.header);
            return;
        };
        let payload_bytes = segment.payload.len() as u32;
        let arrival = Arrival { header: &segment.header, payload_bytes, ecn: Ecn::NotEct };
        let reaction = connection.on_segment(now, &self.profile, &arrival);
        if let Some(placed) = reaction.payload {
            let end = placed.position + u64::from(placed.payload_bytes);
            let part = &segment.payload[placed.skip as usize..][..placed.payload_bytes as usize];
            assert!(self.peers.matches(placed.position, part), "other bytes than were sent");
            let known = self.arrived.entry(placed.position).or_default();
            *known = end.max(*known);
        }
        self.note(now, reaction);
        assert_eq!(self.received_bytes, self.complete_to(), "what is in order, no more, no less");
    }

    fn note(&mut self, now: Time, reaction: Reaction) {
        if reaction.established
            && let Some(connection) = &mut self.connection
        {
            let taken = connection.send(now, &self.profile, self.bytes);
            assert_eq!(taken, self.bytes, "an open connection takes all");
            connection.close();
        }
        self.received_bytes += reaction.received_bytes;
        self.peer_closed |= reaction.peer_closed;
        self.end = self.end.or(reaction.end);
        self.replies.extend(reaction.reply);
    }

    /// How far the peer's stream goes without a hole.
    fn complete_to(&self) -> u64 {
        let in_order = |reached: u64, (start, end): (&u64, &u64)| {
            if *start > reached { reached } else { reached.max(*end) }
        };
        self.arrived.iter().fold(0, in_order)
    }

    fn on_timeout(&mut self, now: Time) {
        let Some(connection) = &mut self.connection else { return };
        if connection.poll_timeout(now).is_some_and(|at| at <= now) {
            let reaction = connection.on_timeout(now, &self.profile);
            self.note(now, reaction);
        }
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Vec<u8>> {
        if let Some(header) = self.replies.pop() {
            return Some(self.packet(&header, 0, 0));
        }
        let transmit = self.connection.as_mut()?.poll_transmit(now, &self.profile)?;
        Some(self.packet(&transmit.header, transmit.position, transmit.payload_bytes as usize))
    }

    fn packet(&self, header: &Header, position: u64, payload_bytes: usize) -> Vec<u8> {
        let envelope = Envelope {
            link: Link::default(),
            addresses: Addresses::V4 { source: OURS, destination: THEIRS },
            traffic_class: 0,
            hop_limit: HOP_LIMIT,
        };
        let mut frame = vec![0; ETHERNET_BYTES + MTU_BYTES];
        let fill = |payload: &mut [u8]| self.own.fill(position, payload);
        let bytes = envelope.write(PORTS, header, payload_bytes, fill, &mut frame);
        frame[ETHERNET_BYTES..bytes].to_vec()
    }

    fn is_over(&self) -> bool {
        let state = self.connection.as_ref().map(Connection::state);
        matches!(state, Some(State::Closed | State::TimeWait))
    }
}

/// What smoltcp takes for its interface.
#[derive(Default)]
struct Wire {
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
}

struct Arrived(Vec<u8>);

struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MTU_BYTES;
        capabilities
    }

    fn receive(&mut self, _now: Instant) -> Option<(Arrived, Leaving<'_>)> {
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.leaving))
    }
}

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, packet_bytes: usize, write: F) -> R {
        let mut packet = vec![0; packet_bytes];
        let written = write(&mut packet);
        self.0.push_back(packet);
        written
    }
}

/// smoltcp's end and its application.
struct Theirs {
    wire: Wire,
    interface: Interface,
    sockets: SocketSet<'static>,
    handle: SocketHandle,
    own: Pattern,
    peers: Pattern,
    bytes: u64,
    written_bytes: u64,
    received_bytes: u64,
    reads_slowly: bool,
    reads_next: Option<Time>,
    was_open: bool,
    has_closed: bool,
}

impl Theirs {
    fn new(case: &Case, seed: u64, now: Time) -> Self {
        let mut wire = Wire::default();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Interface::new(config, &mut wire, instant(now));
        interface.update_ip_addrs(|addresses| {
            let added = addresses.push(IpCidr::new(IpAddress::Ipv4(THEIRS), 24));
            assert!(added.is_ok(), "there is room for an address");
        });
        let buffer = || tcp::SocketBuffer::new(vec![0; case.their_buffer_bytes]);
        let mut socket = tcp::Socket::new(buffer(), buffer());
        if case.has_timestamps {
            socket.set_tsval_generator(Some(|| CLOCK_MS.get()));
        }
        let (ours, theirs) = (PORTS.source, PORTS.destination);
        match case.opener {
            Host::Ours => socket
                .listen(theirs)
                .unwrap_or_else(|error| panic!("a port to listen at: {error:?}")),
            Host::Theirs => {
                let to = IpEndpoint::new(IpAddress::Ipv4(OURS), ours);
                socket
                    .connect(interface.context(), to, theirs)
                    .unwrap_or_else(|error| panic!("an address to connect to: {error:?}"));
            }
        }
        let mut sockets = SocketSet::new(Vec::new());
        let handle = sockets.add(socket);
        Self {
            wire,
            interface,
            sockets,
            handle,
            own: Pattern::new(2),
            peers: Pattern::new(1),
            bytes: case.their_bytes,
            written_bytes: 0,
            received_bytes: 0,
            reads_slowly: case.reads_slowly,
            reads_next: None,
            was_open: false,
            has_closed: false,
        }
    }

    fn poll(&mut self, now: Time) {
        CLOCK_MS.set(now.since(Time::ZERO).as_millis() as u32);
        loop {
            self.interface.poll(instant(now), &mut self.wire, &mut self.sockets);
            if !self.act(now) {
                return;
            }
        }
    }

    /// The application reads and writes what it can; whether that was anything.
    fn act(&mut self, now: Time) -> bool {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.handle);
        self.was_open |= socket.may_send();
        let mut has_acted = false;
        if socket.can_recv() && self.reads_next.is_none_or(|at| at <= now) {
            let most = if self.reads_slowly { 1000 } else { usize::MAX };
            let position = self.received_bytes;
            let read = socket.recv(|arrived| {
                let part = &arrived[..arrived.len().min(most)];
                assert!(self.peers.matches(position, part), "other bytes than were sent");
                (part.len(), part.len())
            });
            self.received_bytes +=
                read.unwrap_or_else(|error| panic!("there is something to read: {error:?}")) as u64;
            self.reads_next = self.reads_slowly.then(|| now + Duration::from_millis(7));
            has_acted = true;
        }
        while socket.can_send() && self.written_bytes < self.bytes {
            let position = self.written_bytes;
            let left = (self.bytes - position) as usize;
            let written = socket.send(|room| {
                let part_bytes = room.len().min(left);
                self.own.fill(position, &mut room[..part_bytes]);
                (part_bytes, part_bytes)
            });
            self.written_bytes +=
                written.unwrap_or_else(|error| panic!("there is room to write: {error:?}")) as u64;
            has_acted = true;
        }
        if self.was_open && self.written_bytes == self.bytes && !self.has_closed {
            socket.close();
            self.has_closed = true;
            has_acted = true;
        }
        has_acted
    }

    fn poll_timeout(&mut self, now: Time) -> Option<Time> {
        let at = self.interface.poll_at(instant(now), &self.sockets);
        let at = at.map(|at| Time::from_nanos(at.total_micros().max(0) as u64 * 1000));
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        let reads = self.reads_next.filter(|_| socket.can_recv());
        [at, reads].into_iter().flatten().min()
    }

    fn state(&self) -> tcp::State {
        self.sockets.get::<tcp::Socket<'_>>(self.handle).state()
    }

    fn is_over(&self) -> bool {
        let socket = self.sockets.get::<tcp::Socket<'_>>(self.handle);
        let is_gone = matches!(socket.state(), tcp::State::Closed | tcp::State::TimeWait);
        self.has_closed && is_gone && !socket.can_recv()
    }
}

fn instant(now: Time) -> Instant {
    Instant::from_micros(now.since(Time::ZERO).as_micros() as i64)
}

struct Pair {
    ours: Ours,
    theirs: Theirs,
    now: Time,
    path: Path,
    chance: Chance,
    on_the_way: BTreeMap<(Time, u64), (Host, Vec<u8>)>,
    packets: u64,
}

impl Pair {
    fn new(case: &Case, path: Path, seed: u64, chance: Chance) -> Self {
        let now = Time::from_nanos(5_000_123_000);
        let initial = Sequence::new(case.initial);
        let ours = Ours {
            profile: case.profile.clone(),
            initial,
            bytes: case.our_bytes,
            connection: (case.opener == Host::Ours).then(|| Connection::open(initial)),
            own: Pattern::new(1),
            peers: Pattern::new(2),
            arrived: BTreeMap::new(),
            received_bytes: 0,
            peer_closed: false,
            end: None,
            replies: Vec::new(),
        };
        let theirs = Theirs::new(case, seed, now);
        let on_the_way = BTreeMap::new();
        Self { ours, theirs, now, path, chance, on_the_way, packets: 0 }
    }

    /// Runs until both ends have closed.
    fn run(&mut self) -> Result<(), String> {
        for _ in 0..STEPS_MAX {
            self.send();
            if self.ours.is_over() && self.theirs.is_over() {
                return Ok(());
            }
            let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
            let connection = self.ours.connection.as_ref();
            let alarm = connection.and_then(|connection| connection.poll_timeout(self.now));
            let alarms = [arrival, alarm, self.theirs.poll_timeout(self.now)];
            let Some(next) = alarms.into_iter().flatten().min() else {
                return Err(format!("nothing is waited for: {}", self.states()));
            };
            self.now = self.now.max(next);
            self.ours.on_timeout(self.now);
            while let Some(entry) = self.on_the_way.first_entry().filter(|e| e.key().0 <= self.now)
            {
                match entry.remove() {
                    (Host::Ours, packet) => self.ours.on_packet(self.now, &packet),
                    (Host::Theirs, packet) => self.theirs.wire.arrived.push_back(packet),
                }
            }
        }
        Err(format!("it does not end: {}", self.states()))
    }

    fn states(&self) -> String {
        let Ours { connection, received_bytes, .. } = &self.ours;
        let theirs = (self.theirs.state(), self.theirs.received_bytes);
        format!("{connection:?}, {received_bytes} bytes; {theirs:?}, at {:?}", self.now)
    }

    fn send(&mut self) {
        self.theirs.poll(self.now);
        while let Some(packet) = self.theirs.wire.leaving.pop_front() {
            self.forward(Host::Ours, packet);
        }
        while let Some(packet) = self.ours.poll_transmit(self.now) {
            self.forward(Host::Theirs, packet);
        }
    }

    fn forward(&mut self, to: Host, mut packet: Vec<u8>) {
        let Path { lost, late, twice, spoilt } = self.path;
        if self.chance.below(1000) < lost {
            return;
        }
        if self.chance.below(1000) < spoilt {
            let bit = self.chance.below(packet.len() as u64 * 8) as usize;
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        let copies = if self.chance.below(1000) < twice { 2 } else { 1 };
        for _ in 0..copies {
            let is_late = self.chance.below(1000) < late;
            let by = if is_late { self.chance.below(LATE_MAX_MICROS) } else { 0 };
            self.packets += 1;
            let at = self.now + DELAY + Duration::from_micros(by);
            self.on_the_way.insert((at, self.packets), (to, packet.clone()));
        }
    }
}

#[track_caller]
fn assert_all_arrives(opener: Host, path: Path) {
    for seed in 0..SEEDS {
        let mut chance = Chance::new(seed);
        let case = Case::draw(opener, &mut chance);
        let mut pair = Pair::new(&case, path, seed, chance);
        let ran = pair.run();
        let shown = || format!("seed {seed}, {path:?}, {case:#?}");
        assert_eq!(ran, Ok(()), "{}", shown());
        assert_eq!(pair.theirs.received_bytes, case.our_bytes, "ours arrived, {}", shown());
        assert_eq!(pair.ours.received_bytes, case.their_bytes, "theirs arrived, {}", shown());
        assert!(matches!(pair.ours.end, None | Some(End::Closed)), "{:?}", pair.ours.end);
        assert!(pair.ours.peer_closed, "both have closed, {}", shown());
    }
}

#[test]
fn over_a_path_that_does_nothing_to_packets() {
    assert_all_arrives(Host::Ours, SMOOTH);
    assert_all_arrives(Host::Theirs, SMOOTH);
}

#[test]
fn over_a_path_that_loses_packets() {
    let path = Path { lost: 50, ..SMOOTH };
    assert_all_arrives(Host::Ours, path);
    assert_all_arrives(Host::Theirs, path);
}

#[test]
fn over_a_path_on_which_packets_overtake_each_other() {
    let path = Path { late: 100, ..SMOOTH };
    assert_all_arrives(Host::Ours, path);
    assert_all_arrives(Host::Theirs, path);
}

#[test]
fn over_a_path_that_repeats_packets() {
    let path = Path { twice: 100, late: 30, ..SMOOTH };
    assert_all_arrives(Host::Ours, path);
    assert_all_arrives(Host::Theirs, path);
}

#[test]
fn over_a_path_that_does_all_of_this_and_spoils_packets() {
    let path = Path { lost: 80, late: 50, twice: 50, spoilt: 30 };
    assert_all_arrives(Host::Ours, path);
    assert_all_arrives(Host::Theirs, path);
}

//! A host whose only TCP is ours: what one kernel socket says to it, it says to another.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use fp_engine::frame_io::{FrameBatch, FrameIo as _, PacketPort};
use fp_engine::os::clock;
use fp_engine::os::netlink::Mac;
use fp_model::{Ecn, Time};
use fp_net::checksum::{Addresses, Peer};
use fp_net::packet::{Envelope, Frame, HOP_LIMIT, Link, MacAddress, Segment, VlanTags};
use fp_net::tcp::connection::{Arrival, Connection, End, Reaction, State};
use fp_net::tcp::{Flags, Header, Ports, Profile, Sequence};

/// Where a connection of the host is one of a pair, and whatever the one says goes to the other.
pub(super) struct Relay {
    port: PacketPort,
    link: Link,
    own: IpAddr,
    kernel: IpAddr,
    profile: Profile,
    halves: Vec<Half>,
    found: HashMap<Tuple, usize>,
}

/// The kernel's port and ours.
type Tuple = (u16, u16);

struct Half {
    ports: Ports,
    connection: Connection,
    /// What is to be said: all of it, as it may have to be sent again.
    says: Vec<u8>,
    /// How much of that the connection has taken.
    written: usize,
    says_no_more: bool,
    /// What was heard, before the gaps in it are closed and up to where there is none.
    heard: BTreeMap<u64, Vec<u8>>,
    complete: u64,
    /// The other half has enough to say.
    is_held: bool,
    replies: Vec<Header>,
}

/// What the relay keeps for a kernel that reads more slowly than the other one writes.
const BACKLOG_BYTES: u64 = 1 << 18;
const FRAME_BYTES: usize = 1514;
/// The sequence numbers pass their end after 4096 bytes.
const INITIAL: u32 = 0xffff_f000;

impl Relay {
    pub(super) fn new(port: PacketPort, kernel: (IpAddr, Mac), own: IpAddr) -> Self {
        let source = MacAddress(port.mac());
        let link = Link { source, destination: MacAddress(kernel.1), tags: VlanTags::NONE };
        let headers_bytes = if own.is_ipv4() { 40 } else { 60 };
        let profile = Profile {
            mss_bytes: 1500 - headers_bytes,
            window_bytes: 1 << 20,
            ..Profile::default()
        };
        let (kernel, halves, found) = (kernel.0, Vec::new(), HashMap::new());
        Self { port, link, own, kernel, profile, halves, found }
    }

    /// Takes what has arrived and sends what is due; waits for a millisecond at most.
    pub(super) fn step(&mut self) {
        let mut frames = Vec::new();
        self.port.receive(|frame| frames.push(frame.bytes.to_vec())).unwrap();
        for frame in &frames {
            if let Ok(Frame::Tcp(segment)) = Frame::read(frame, Peer::LocalKernel) {
                self.on_segment(&segment);
            }
        }
        let mut sent = 0;
        for index in 0..self.halves.len() {
            self.on_time(index);
            sent += self.send(index);
        }
        if frames.is_empty() && sent == 0 {
            self.port.wait(clock::now() + Duration::from_millis(1)).unwrap();
        }
    }

    /// Connections that a kernel has asked for so far, and whether all are over.
    pub(super) fn relayed(&self) -> (usize, bool) {
        let is_over =
            |half: &Half| matches!(half.connection.state(), State::Closed | State::TimeWait);
        (self.halves.len() / 2, self.halves.iter().all(is_over))
    }

    fn on_segment(&mut self, segment: &Segment<'_>) {
        let now = clock::now();
        let Ports { source, destination } = segment.ports;
        let asks = segment.header.flags.has(Flags::SYN) && !segment.header.flags.has(Flags::ACK);
        let Some(&index) = self.found.get(&(source, destination)) else {
            if asks {
                self.accept(segment);
            }
            return;
        };
        let half = &mut self.halves[index];
        let arrival = Arrival {
            header: &segment.header,
            payload_bytes: segment.payload.len() as u32,
            ecn: Ecn::of_traffic_class(segment.envelope.traffic_class),
        };
        let reaction = half.connection.on_segment(now, &self.profile, &arrival);
        if let Some(placed) = &reaction.payload {
            let part = &segment.payload[placed.skip as usize..][..placed.payload_bytes as usize];
            half.heard.entry(placed.position).or_default().splice(.., part.iter().copied());
        }
        self.hand_on(index, reaction);
    }

    /// The other half of a pair is beside it.
    fn hand_on(&mut self, index: usize, reaction: Reaction) {
        let half = &mut self.halves[index];
        half.replies.extend(reaction.reply);
        let until = half.complete + reaction.received_bytes;
        let mut said = Vec::new();
        while half.complete < until {
            let (position, part) = half.heard.pop_first().unwrap();
            // What came twice, in other pieces, may reach back.
            let known = half.complete.checked_sub(position).unwrap() as usize;
            said.extend_from_slice(part.get(known..).unwrap_or_default());
            half.complete = half.complete.max(position + part.len() as u64);
        }
        assert_eq!(half.complete, until);
        let other = &mut self.halves[index ^ 1];
        other.says.append(&mut said);
        other.says_no_more |= reaction.peer_closed;
        if matches!(reaction.end, Some(End::Reset | End::Refused | End::TimedOut)) {
            other.connection.abort();
        }
    }

    /// The same port of the kernel is asked on behalf of whoever asked.
    fn accept(&mut self, segment: &Segment<'_>) {
        let initial = Sequence::new(INITIAL);
        let asked = Connection::passive(&self.profile, initial, &segment.header).unwrap();
        let Ports { source, destination } = segment.ports;
        let onward = 20_000 + self.halves.len() as u16;
        self.add(Ports { source: destination, destination: source }, asked);
        self.add(Ports { source: onward, destination }, Connection::open(initial));
    }

    fn add(&mut self, ports: Ports, connection: Connection) {
        self.found.insert((ports.destination, ports.source), self.halves.len());
        self.halves.push(Half {
            ports,
            connection,
            says: Vec::new(),
            written: 0,
            says_no_more: false,
            heard: BTreeMap::new(),
            complete: 0,
            is_held: false,
            replies: Vec::new(),
        });
    }

    fn on_time(&mut self, index: usize) {
        let now = clock::now();
        let half = &mut self.halves[index];
        let unwritten = (half.says.len() - half.written) as u64;
        half.written += half.connection.send(now, &self.profile, unwritten) as usize;
        if half.says_no_more && half.written == half.says.len() {
            half.connection.close();
        }
        let backlog_bytes = unwritten + half.connection.unsent_bytes();
        self.read_or_hold(now, index ^ 1, backlog_bytes);
        let half = &mut self.halves[index];
        if half.connection.poll_timeout(now).is_some_and(|at| at <= now) {
            let reaction = half.connection.on_timeout(now, &self.profile);
            self.hand_on(index, reaction);
        }
    }

    fn read_or_hold(&mut self, now: Time, index: usize, backlog_bytes: u64) {
        let half = &mut self.halves[index];
        let is_enough = backlog_bytes > BACKLOG_BYTES;
        if is_enough && !half.is_held {
            half.connection.hold(now, &self.profile);
        } else if half.is_held && !is_enough {
            half.connection.release(now);
        }
        half.is_held = is_enough;
    }

    /// Gives how many frames have left.
    fn send(&mut self, index: usize) -> usize {
        const BATCH: usize = 32;
        let (mut bytes, mut lens) = (Vec::new(), Vec::new());
        while lens.len() < BATCH && self.push(index, clock::now(), &mut bytes, &mut lens) {}
        let mut rest = FrameBatch::new(&bytes, &lens);
        while !rest.is_empty() {
            rest = rest.after(self.port.send(rest).unwrap());
        }
        lens.len()
    }

    fn push(&mut self, index: usize, now: Time, bytes: &mut Vec<u8>, lens: &mut Vec<u16>) -> bool {
        let half = &mut self.halves[index];
        let (header, payload) = if let Some(header) = half.replies.pop() {
            (header, &[][..])
        } else if let Some(transmit) = half.connection.poll_transmit(now, &self.profile) {
            let payload = &half.says[transmit.position as usize..];
            (transmit.header, &payload[..transmit.payload_bytes as usize])
        } else {
            return false;
        };
        let addresses = Addresses::new(self.own, self.kernel).unwrap();
        let envelope =
            Envelope { link: self.link, addresses, traffic_class: 0, hop_limit: HOP_LIMIT };
        let begin = bytes.len();
        bytes.resize(begin + FRAME_BYTES, 0);
        let fill = |room: &mut [u8]| room.copy_from_slice(payload);
        let frame_bytes =
            envelope.write(half.ports, &header, payload.len(), fill, &mut bytes[begin..]);
        bytes.truncate(begin + frame_bytes);
        lens.push(frame_bytes as u16);
        true
    }
}

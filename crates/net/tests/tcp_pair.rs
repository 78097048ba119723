//! Two connections against each other, by bytes on a path that loses, repeats, delays and marks.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use fp_model::{Ecn, Time};
use fp_net::checksum::{Addresses, Peer, Protocol, checksum, is_tcp_intact};
use fp_net::pattern::Pattern;
use fp_net::tcp::connection::{Arrival, Connection, End, Reaction, State, Transmit};
use fp_net::tcp::header::TCP_HEADER_BYTES_MAX;
use fp_net::tcp::{Algorithm, Extensions, Header, Nagle, Ports, Profile, Sequence};
use proptest::collection::vec;
use proptest::prelude::*;

const PORTS: Ports = Ports { source: 1, destination: 2 };
const ADDRESSES: Addresses =
    Addresses::V4 { source: Ipv4Addr::new(192, 0, 2, 1), destination: Ipv4Addr::new(192, 0, 2, 2) };
const MILLISECOND: Duration = Duration::from_millis(1);
const STEPS_MAX: u32 = 200_000;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost,
    /// Milliseconds beyond the path's delay.
    Late(u8),
    Twice(u8),
    Marked,
    /// A bit of it is not what it was.
    Corrupt(u16),
}

/// What the applications of one end do.
#[derive(Clone, Debug)]
struct Part {
    /// Written at these times, in milliseconds from the handshake's end; then it closes.
    writes: Vec<(u16, u32)>,
    /// It does not read from then, for so long.
    pause: Option<(u16, u16)>,
    initial: u32,
    profile: Profile,
}

struct Host {
    part: Part,
    connection: Option<Connection>,
    own: Pattern,
    peers: Pattern,
    established_at: Option<Time>,
    written: usize,
    has_closed: bool,
    is_held: bool,
    sent_bytes: u64,
    last_sent: Option<Time>,
    /// Between two segments with payload.
    longest_silence: Duration,
    received_bytes: u64,
    /// Of the peer's stream, by a plain reading of what arrived: starts and ends.
    arrived: BTreeMap<u64, u64>,
    peer_closed: bool,
    end: Option<End>,
}

struct Pair {
    hosts: [Host; 2],
    now: Time,
    delay: Duration,
    on_the_way: BTreeMap<(Time, u64), (usize, Vec<u8>, Ecn)>,
    packets: u64,
    fates: Vec<Fate>,
    /// So many more packets have an uncertain fate.
    rough_packets: u32,
    chance: u64,
    second_opens_at: Option<Time>,
}

impl Part {
    fn total_bytes(&self) -> u64 {
        self.writes.iter().map(|(_, bytes)| u64::from(*bytes)).sum()
    }

    /// From when until when it does not read, of a connection that was open at `start`.
    fn pause_after(&self, start: Time) -> Option<(Time, Time)> {
        let (from, length) = self.pause?;
        let from = start + MILLISECOND * u32::from(from);
        Some((from, from + MILLISECOND * u32::from(length)))
    }
}

impl Host {
    fn new(part: Part, seeds: (u64, u64)) -> Self {
        Self {
            part,
            connection: None,
            own: Pattern::new(seeds.0),
            peers: Pattern::new(seeds.1),
            established_at: None,
            written: 0,
            has_closed: false,
            is_held: false,
            sent_bytes: 0,
            last_sent: None,
            longest_silence: Duration::ZERO,
            received_bytes: 0,
            arrived: BTreeMap::new(),
            peer_closed: false,
            end: None,
        }
    }

    fn note(&mut self, now: Time, reaction: Reaction) {
        if reaction.established {
            self.established_at = Some(now);
        }
        self.received_bytes += reaction.received_bytes;
        self.peer_closed |= reaction.peer_closed;
        self.end = self.end.or(reaction.end);
    }

    /// When the application does something next, and after that it has done it.
    fn next_deed(&self) -> Option<Time> {
        let start = self.established_at?;
        let deed = match self.part.writes.get(self.written) {
            Some((at, _)) => Some(start + MILLISECOND * u32::from(*at)),
            None => (!self.has_closed).then_some(start),
        };
        let pause = self.part.pause_after(start);
        let pause = pause.map(|(from, until)| if self.is_held { until } else { from });
        [deed, pause].into_iter().flatten().min()
    }

    fn act(&mut self, now: Time) {
        while let Some(at) = self.next_deed().filter(|at| *at <= now) {
            let (Some(connection), Some(start)) = (&mut self.connection, self.established_at)
            else {
                return;
            };
            match self.part.pause_after(start) {
                Some((from, _)) if !self.is_held && from <= at => {
                    connection.hold(now, &self.part.profile);
                    self.is_held = true;
                    continue;
                }
                Some((_, until)) if self.is_held && until <= at => {
                    connection.release(now);
                    self.part.pause = None;
                    continue;
                }
                _ => {}
            }
            if let Some((_, bytes)) = self.part.writes.get(self.written) {
                let taken = connection.send(now, &self.part.profile, u64::from(*bytes));
                assert_eq!(taken, u64::from(*bytes), "an open connection takes all");
                self.written += 1;
            } else {
                connection.close();
                self.has_closed = true;
            }
        }
    }

    fn total_bytes(&self) -> u64 {
        self.part.total_bytes()
    }

    fn is_over(&self) -> bool {
        let state = self.connection.as_ref().map(Connection::state);
        matches!(state, Some(State::Closed | State::TimeWait))
    }

    /// How far the peer's stream goes without a hole.
    fn complete_to(&self) -> u64 {
        let mut reached = 0;
        for (start, end) in &self.arrived {
            if *start > reached {
                break;
            }
            reached = reached.max(*end);
        }
        reached
    }
}

impl Pair {
    fn new(parts: [Part; 2], delay: Duration, fates: Vec<Fate>, rough_packets: u32) -> Self {
        let [first, second] = parts;
        let mut hosts = [Host::new(first, (1, 2)), Host::new(second, (2, 1))];
        let initial = Sequence::new(hosts[0].part.initial);
        hosts[0].connection = Some(Connection::open(initial));
        let now = Time::from_nanos(5_000_123);
        let on_the_way = BTreeMap::new();
        let chance = 0x9e37_79b9_7f4a_7c15 ^ u64::from(rough_packets);
        Self {
            hosts,
            now,
            delay,
            on_the_way,
            packets: 0,
            fates,
            rough_packets,
            chance,
            second_opens_at: None,
        }
    }

    /// The second end asks for a connection as well, after so long.
    fn open_from_both_sides(&mut self, after: Duration) {
        self.second_opens_at = Some(self.now + after);
    }

    /// Runs until both ends have closed.
    fn run(&mut self) {
        self.send(0);
        for _ in 0..STEPS_MAX {
            if self.hosts.iter().all(Host::is_over) {
                return;
            }
            self.step();
        }
        let states = self.hosts.each_ref().map(|host| (&host.connection, host.received_bytes));
        panic!("it does not end, at {:?}: {states:#?}", self.now);
    }

    fn step(&mut self) {
        let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
        let deeds = self.hosts.each_ref().map(Host::next_deed);
        let alarms = self.hosts.each_ref().map(|host| {
            host.connection.as_ref().and_then(|connection| connection.poll_timeout(self.now))
        });
        let opening = self.second_opens_at;
        let next = [arrival, opening, deeds[0], deeds[1], alarms[0], alarms[1]];
        let next = next.into_iter().flatten().min();
        let states = || self.hosts.each_ref().map(|host| &host.connection);
        let next = next.unwrap_or_else(|| panic!("nothing is waited for: {:?}", states()));
        self.now = self.now.max(next);
        if self.second_opens_at.take_if(|at| *at <= self.now).is_some() {
            let second = &mut self.hosts[1];
            let initial = Sequence::new(second.part.initial);
            second.connection.get_or_insert_with(|| Connection::open(initial));
        }
        for (index, alarm) in alarms.into_iter().enumerate() {
            if alarm.is_some_and(|at| at <= self.now) {
                let host = &mut self.hosts[index];
                if let Some(connection) = &mut host.connection {
                    let reaction = connection.on_timeout(self.now, &host.part.profile);
                    host.note(self.now, reaction);
                }
            }
            self.hosts[index].act(self.now);
            self.send(index);
        }
        while let Some(entry) = self.on_the_way.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, bytes, ecn) = entry.remove();
            self.arrive(to, &bytes, ecn);
        }
    }

    fn arrive(&mut self, to: usize, bytes: &[u8], ecn: Ecn) {
        if !is_tcp_intact(&ADDRESSES, bytes, Peer::Network) {
            return;
        }
        let read = Header::read(bytes).unwrap_or_else(|error| panic!("no header: {error:?}"));
        let payload = &bytes[read.header_bytes..];
        let host = &mut self.hosts[to];
        let header = &read.header;
        let Some(connection) = &mut host.connection else {
            let initial = Sequence::new(host.part.initial);
            host.connection = Connection::passive(&host.part.profile, initial, header);
            self.send(to);
            return;
        };
        let arrival = Arrival { header, payload_bytes: payload.len() as u32, ecn };
        let reaction = connection.on_segment(self.now, &host.part.profile, &arrival);
        if let Some(placed) = reaction.payload {
            let part = &payload[placed.skip as usize..][..placed.payload_bytes as usize];
            assert!(host.peers.matches(placed.position, part), "other bytes than were sent");
            let end = placed.position + u64::from(placed.payload_bytes);
            let known = host.arrived.entry(placed.position).or_default();
            *known = end.max(*known);
        }
        host.note(self.now, reaction);
        assert_eq!(host.received_bytes, host.complete_to(), "what is in order, no more, no less");
        if let Some(header) = reaction.reply {
            self.forward(
                to,
                Transmit { header, position: 0, payload_bytes: 0, ecn: Ecn::NotEct, resent: None },
            );
        }
        self.send(to);
    }

    fn send(&mut self, from: usize) {
        loop {
            let host = &mut self.hosts[from];
            let Some(connection) = &mut host.connection else { return };
            let Some(transmit) = connection.poll_transmit(self.now, &host.part.profile) else {
                return;
            };
            self.forward(from, transmit);
        }
    }

    fn forward(&mut self, from: usize, transmit: Transmit) {
        let mut bytes = vec![0; TCP_HEADER_BYTES_MAX + transmit.payload_bytes as usize];
        let header_bytes = transmit.header.write(PORTS, &mut bytes);
        bytes.truncate(header_bytes + transmit.payload_bytes as usize);
        let mss = usize::from(self.hosts[1 - from].part.profile.mss_bytes).max(64);
        assert!(bytes.len() <= 20 + mss, "no segment is larger than the peer takes");
        let host = &mut self.hosts[from];
        if transmit.payload_bytes > 0 {
            host.sent_bytes += u64::from(transmit.payload_bytes);
            let last = host.last_sent.replace(self.now).unwrap_or(self.now);
            host.longest_silence = host.longest_silence.max(self.now.since(last));
        }
        host.own.fill(transmit.position, &mut bytes[header_bytes..]);
        let sum = checksum(&ADDRESSES, Protocol::Tcp, &bytes);
        bytes[16..18].copy_from_slice(&sum.to_be_bytes());
        let (mut copies, mut late, mut ecn) = (1, 0, transmit.ecn);
        match self.next_fate() {
            Fate::Lost => copies = 0,
            Fate::Late(by) => late = by,
            Fate::Twice(by) => (copies, late) = (2, by),
            Fate::Marked if ecn != Ecn::NotEct => ecn = Ecn::Ce,
            Fate::Marked => {}
            Fate::Corrupt(bit) => {
                let bit = usize::from(bit) % (bytes.len() * 8);
                bytes[bit / 8] ^= 1 << (bit % 8);
            }
        }
        for copy in 0..copies {
            self.packets += 1;
            let at = self.now + self.delay + MILLISECOND * u32::from(late) * copy;
            let at = if copies == 1 {
                self.now + self.delay + MILLISECOND * u32::from(late)
            } else {
                at
            };
            self.on_the_way.insert((at, self.packets), (1 - from, bytes.clone(), ecn));
        }
    }

    /// Those that were drawn, then what chance has, then nothing more.
    fn next_fate(&mut self) -> Fate {
        if let Some(fate) = self.fates.pop() {
            return fate;
        }
        if self.rough_packets == 0 {
            return Fate::Late(0);
        }
        self.rough_packets -= 1;
        // Xorshift by Marsaglia.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        let (kind, by) = (self.chance >> 32 & 31, self.chance as u16);
        match kind {
            0..5 => Fate::Lost,
            5 => Fate::Late((by % 50) as u8),
            6 => Fate::Twice((by % 50) as u8),
            7 => Fate::Corrupt(by),
            8 => Fate::Marked,
            _ => Fate::Late(0),
        }
    }
}

fn any_fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        2 => Just(Fate::Lost),
        8 => Just(Fate::Late(0)),
        2 => (1_u8..50).prop_map(Fate::Late),
        1 => (0_u8..50).prop_map(Fate::Twice),
        1 => Just(Fate::Marked),
        1 => any::<u16>().prop_map(Fate::Corrupt),
    ]
}

fn any_profile() -> impl Strategy<Value = Profile> {
    let extensions = any::<(bool, bool, bool, bool)>();
    let numbers = (64_u16..3000, prop_oneof![1_u32..3000, 3000_u32..1_000_000]);
    (extensions, numbers, any::<bool>(), any::<bool>()).prop_map(
        |((timestamps, window_scaling, sack, ecn), (mss_bytes, window_bytes), nagle, reno)| {
            Profile {
                mss_bytes,
                window_bytes,
                algorithm: if reno { Algorithm::Reno } else { Algorithm::Cubic },
                extensions: Extensions { timestamps, window_scaling, sack, ecn },
                nagle: if nagle { Nagle::On } else { Nagle::Off },
                retransmissions_max: u8::MAX,
                syn_retransmissions_max: u8::MAX,
                ..Profile::default()
            }
        },
    )
}

fn any_part() -> impl Strategy<Value = Part> {
    let write = (0_u16..500, prop_oneof![0_u32..100, 0_u32..30_000]);
    let initial =
        prop_oneof![any::<u32>(), (0_u32..20_000).prop_map(|back| 0_u32.wrapping_sub(back))];
    let pause = proptest::option::weighted(0.2, (0_u16..500, 0_u16..5000));
    (vec(write, 0..6), pause, initial, any_profile()).prop_map(
        |(mut writes, pause, initial, profile)| {
            writes.sort_by_key(|(at, _)| *at);
            Part { writes, pause, initial, profile }
        },
    )
}

/// Each has what the other wrote, and neither connection was broken off.
fn both_have_all(pair: &Pair) -> Result<(), TestCaseError> {
    let [first, second] = &pair.hosts;
    let ends = [first.end, second.end];
    prop_assert!(ends.iter().all(|end| matches!(end, None | Some(End::Closed))), "{:?}", ends);
    prop_assert_eq!(second.received_bytes, first.total_bytes());
    prop_assert_eq!(first.received_bytes, second.total_bytes());
    Ok(())
}

proptest! {
    #[test]
    fn whatever_the_path_does_both_streams_arrive_byte_for_byte_and_both_ends_close(
        parts in [any_part(), any_part()],
        delay_ms in 0_u32..100,
        fates in vec(any_fate(), 0..60),
        rough_packets in 0_u32..3000,
    ) {
        let mut pair = Pair::new(parts, MILLISECOND * delay_ms, fates, rough_packets);
        pair.run();
        both_have_all(&pair)?;
        let [first, second] = &pair.hosts;
        prop_assert!(first.peer_closed && second.peer_closed);
    }
}

proptest! {
    #[test]
    fn two_that_open_at_once_get_one_connection(
        parts in [any_part(), any_part()],
        delay_ms in 0_u32..100,
        after_ms in 0_u32..100,
        fates in vec(any_fate(), 0..20),
    ) {
        let mut pair = Pair::new(parts, MILLISECOND * delay_ms, fates, 0);
        pair.open_from_both_sides(MILLISECOND * after_ms);
        pair.run();
        both_have_all(&pair)?;
    }
}

proptest! {
    #[test]
    fn on_a_path_that_loses_nothing_nothing_is_sent_twice(
        parts in [any_part(), any_part()],
        delay_ms in 0_u32..100,
    ) {
        // An acknowledgement that waits longer than a round trip and 8 ms is probed for.
        let quick = |profile| Profile { delayed_ack: MILLISECOND, ..profile };
        let parts =
            parts.map(|part| Part { pause: None, profile: quick(part.profile), ..part });
        let mut pair = Pair::new(parts, MILLISECOND * delay_ms, Vec::new(), 0);
        pair.run();
        for host in &pair.hosts {
            prop_assert_eq!(host.sent_bytes, host.total_bytes());
        }
    }
}

fn bulk(bytes: u32, profile: Profile) -> Part {
    Part { writes: vec![(0, bytes)], pause: None, initial: u32::MAX - 100_000, profile }
}

/// A window of 64,000 bytes and 20 ms: 3.2 MB a second, so that 3.2 MB take one; and 50 round trips
/// more for handshake, slow start and close would still be too many.
#[test]
fn a_window_is_carried_in_each_round_trip() {
    let profile = Profile { window_bytes: 64_000, ..Profile::default() };
    let parts = [bulk(3_200_000, profile.clone()), Part { writes: Vec::new(), ..bulk(0, profile) }];
    let mut pair = Pair::new(parts, MILLISECOND * 10, Vec::new(), 0);
    let start = pair.now;
    pair.run();
    let took = pair.now.since(start);
    assert!((1000..1300).contains(&took.as_millis()), "{took:?}");
}

/// Each hundredth packet is lost. A timeout is 200 ms of silence and more after a round trip of 20 ms;
/// repaired by what is acknowledged, a loss costs none.
#[test]
fn single_losses_cost_no_timeouts() {
    for sack in [true, false] {
        let extensions = Extensions { sack, ..Profile::default().extensions };
        let profile =
            Profile { mss_bytes: 1412, window_bytes: 140_000, extensions, ..Profile::default() };
        let nothing = Part { writes: Vec::new(), ..bulk(0, profile.clone()) };
        let fate = |k| if k % 100 == 50 { Fate::Lost } else { Fate::Late(0) };
        let fates = (0..6000).map(fate).collect();
        let mut pair = Pair::new([bulk(3_200_000, profile), nothing], MILLISECOND * 10, fates, 0);
        pair.run();
        let silence = pair.hosts[0].longest_silence;
        assert!(silence < MILLISECOND * 200, "SACK {sack}: {silence:?}");
        // 2,286 segments, and as many acknowledgements at most: 23 to 46 losses.
        let resent = pair.hosts[0].sent_bytes - 3_200_000;
        assert!((15 * 1400..=46 * 1400).contains(&resent), "SACK {sack}: {resent} bytes");
    }
}

/// 2^32 + 2^30 bytes, of which each part has to arrive at its place in the stream, and not only
/// modulo 2^32. The segments go from hand to hand.
#[test]
fn a_stream_goes_on_when_its_numbers_have_gone_round() {
    const TOTAL_BYTES: u64 = (1 << 32) + (1 << 30);
    let profile = Profile { mss_bytes: 60_012, window_bytes: 1 << 29, ..Profile::default() };
    let mut now = Time::from_nanos(1);
    let mut sender = Connection::open(Sequence::new(u32::MAX - 7));
    let syn = sender.poll_transmit(now, &profile).unwrap().header;
    let mut receiver = Connection::passive(&profile, Sequence::new(1), &syn).unwrap();
    let pass = |now: Time, transmit: Transmit, to: &mut Connection| {
        let Transmit { header, payload_bytes, ecn, .. } = transmit;
        to.on_segment(now, &profile, &Arrival { header: &header, payload_bytes, ecn })
    };
    let mut next = 0;
    loop {
        while let Some(transmit) = receiver.poll_transmit(now, &profile) {
            if pass(now, transmit, &mut sender).established {
                assert_eq!(sender.send(now, &profile, TOTAL_BYTES), TOTAL_BYTES);
            }
        }
        let Some(transmit) = sender.poll_transmit(now, &profile) else {
            // A delayed acknowledgement, until there is nothing to acknowledge.
            let Some(at) = receiver.poll_timeout(now) else { break };
            now = at;
            continue;
        };
        let position = transmit.position;
        let reaction = pass(now, transmit, &mut receiver);
        if let Some(placed) = reaction.payload {
            assert_eq!((position, placed.position, placed.skip), (next, next, 0));
            next += reaction.received_bytes;
        }
    }
    assert_eq!(next, TOTAL_BYTES);
}

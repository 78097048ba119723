//! A connection to which anything happens in any order, and what holds of it whatever that is.
//!
//! What counts as arrived did arrive, nothing leaves beyond the peer's window, and whatever waits
//! has an alarm, until everything is done or given up.

use std::time::Duration;

use fp_model::{Ecn, Time};
use fp_net::tcp::connection::{Arrival, Connection, Reaction, State, Transmit};
use fp_net::tcp::{Flags, Header, Options, Profile, Sacks, Sequence, Timestamps};

const OWN: Sequence = Sequence::new(u32::MAX - 3000);
const PEER: Sequence = Sequence::new(u32::MAX - 2000);
/// More than a window holds of the smallest segments.
const SEGMENTS_MAX: usize = 70_000;
/// More than there are probes and retransmissions until a silent peer is given up.
const ALARMS_MAX: usize = 600;
/// RFC 7323 section 2.3.
const SHIFT_MAX: u8 = 14;

#[derive(Clone, Debug)]
pub(crate) enum Deed {
    Arrive(Arriving),
    /// Microseconds.
    Wait(u64),
    /// To where the connection asks to be called.
    WaitForAlarm,
    Send(u32),
    Close,
    Abort,
    Hold,
    Release,
}

/// A segment whose numbers are near those that would be right.
#[derive(Clone, Debug)]
pub(crate) struct Arriving {
    pub(crate) flags: u8,
    pub(crate) sequence: Number,
    pub(crate) acknowledgement: Number,
    pub(crate) payload_bytes: u32,
    pub(crate) window: u16,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    /// The value, and how far the echo is from our first one.
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sacks: Vec<(Number, Number)>,
    pub(crate) is_marked: bool,
}

/// So far from the first number of a stream, or from where the two ends have come to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    FromFirst(i32),
    FromEdge(i32),
}

/// How a connection begins.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) profile: Profile,
    pub(crate) is_active: bool,
    pub(crate) forgoes_challenges: bool,
    /// What the peer says of the same in its SYN.
    pub(crate) peer_scale: Option<u8>,
    pub(crate) peer_sack: bool,
}

/// Goes through all of it and, when the peer is silent from then on, to the end.
pub(crate) fn run(beginning: &Beginning, deeds: &[Deed]) {
    let mut stage = Stage::new(beginning);
    stage.settle();
    // Most deeds come to something only where there is a connection.
    stage.act(&Deed::Arrive(third_segment(beginning)));
    for deed in deeds {
        stage.act(deed);
    }
    stage.be_left_alone();
}

fn third_segment(beginning: &Beginning) -> Arriving {
    let is_active = beginning.is_active;
    Arriving {
        flags: if is_active { 0x12 } else { 0x10 },
        sequence: Number::FromFirst(i32::from(!is_active)),
        acknowledgement: Number::FromFirst(1),
        payload_bytes: 0,
        window: 60_000,
        mss: Some(1460),
        window_scale: beginning.peer_scale.filter(|_| is_active),
        sack_permitted: is_active && beginning.peer_sack,
        timestamps: Some((1, 0)),
        sacks: Vec::new(),
        is_marked: false,
    }
}

/// The connection, and what a plain reading of its segments tells. Positions count from the first
/// byte of a stream; its end takes one as well.
struct Stage {
    profile: Profile,
    connection: Connection,
    now: Time,
    forgoes_challenges: bool,
    own: Outgoing,
    peers: Incoming,
    is_established: bool,
    is_ended: bool,
    is_aborted: bool,
}

/// Our stream.
#[derive(Debug, Default)]
struct Outgoing {
    written: i64,
    sent_end: i64,
    fin_at: Option<i64>,
    /// The most that the peer can have acknowledged, and how far its windows have reached.
    acknowledged: i64,
    window_end: i64,
    peer_shift: u8,
    has_closed: bool,
}

/// The peer's stream.
#[derive(Debug, Default)]
struct Incoming {
    /// Starts and ends of what has arrived.
    arrived: Vec<(u64, u64)>,
    received: u64,
    is_closed: bool,
    /// What we have acknowledged last, and the farthest that our windows have reached.
    acknowledgement: Option<Sequence>,
    offered_end: u64,
    own_shift: u8,
}

impl Stage {
    fn new(beginning: &Beginning) -> Self {
        let Beginning { profile, is_active, forgoes_challenges, .. } = beginning.clone();
        let mut own = Outgoing { sent_end: -1, ..Outgoing::default() };
        let mut peers = Incoming::default();
        let connection = if is_active {
            Connection::open(OWN)
        } else {
            let syn = first_segment(beginning);
            own.window_end = syn.window.into();
            take_scales(&profile, &syn, &mut own, &mut peers);
            Connection::passive(&profile, OWN, &syn).unwrap_or_else(|| panic!("it is a SYN"))
        };
        Self {
            profile,
            connection,
            now: Time::from_nanos(1_000_000_007),
            forgoes_challenges,
            own,
            peers,
            is_established: false,
            is_ended: false,
            is_aborted: false,
        }
    }

    fn act(&mut self, deed: &Deed) {
        let Self { profile, connection, now, own, .. } = self;
        match deed {
            Deed::Arrive(arriving) => self.arrive(arriving),
            Deed::Wait(micros) => *now = *now + Duration::from_micros(*micros),
            Deed::WaitForAlarm => {
                *now = connection.poll_timeout(*now).map_or(*now, |at| at.max(*now))
            }
            Deed::Send(bytes) => {
                let taken = connection.send(*now, profile, u64::from(*bytes));
                assert!(taken <= u64::from(*bytes) && (taken == 0 || !own.has_closed));
                own.written += taken as i64;
            }
            Deed::Close => {
                own.has_closed = true;
                connection.close();
            }
            Deed::Abort => {
                self.is_aborted |= connection.state() != State::Closed;
                connection.abort();
            }
            Deed::Hold => connection.hold(*now, profile),
            Deed::Release => connection.release(*now),
        }
        self.settle();
    }

    fn arrive(&mut self, arriving: &Arriving) {
        let header = self.header(arriving);
        let before = self.connection.state();
        let ecn = if arriving.is_marked { Ecn::Ce } else { Ecn::NotEct };
        let payload_bytes = arriving.payload_bytes;
        let place = self.connection.position_of(&header);
        let arrival = Arrival { header: &header, payload_bytes, ecn };
        let reaction = self.connection.on_segment(self.now, &self.profile, &arrival);
        let after = self.connection.state();
        if before == State::SynSent && after != before && after != State::Closed {
            take_scales(&self.profile, &header, &mut self.own, &mut self.peers);
        }
        self.own.on_arrival(&header);
        if let Some(placed) = reaction.payload {
            assert!(placed.skip + placed.payload_bytes <= payload_bytes);
            assert_eq!(placed.position, place.wrapping_add(placed.skip.into()));
            let end = placed.position + u64::from(placed.payload_bytes);
            assert!(end <= self.peers.received + u64::from(self.profile.window_bytes));
            self.peers.arrived.push((placed.position, end));
        }
        if reaction.challenged && self.forgoes_challenges {
            self.connection.forgo_challenge();
        }
        self.note(&reaction);
    }

    fn header(&self, arriving: &Arriving) -> Header {
        let edge = self.peers.acknowledgement.unwrap_or(PEER);
        let sequence = |number: Number| match number {
            Number::FromFirst(offset) => PEER.plus(offset as u32),
            Number::FromEdge(offset) => edge.plus(offset as u32),
        };
        let own = |number: Number| match number {
            Number::FromFirst(offset) => OWN.plus(offset as u32),
            Number::FromEdge(offset) => sequence_of(self.own.sent_end).plus(offset as u32),
        };
        let mut flags = Flags::default();
        let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG];
        for (bit, flag) in all.into_iter().chain([Flags::ECE, Flags::CWR]).enumerate() {
            flags = flags.with(flag, arriving.flags >> bit & 1 == 1);
        }
        let mut sacks = Sacks::default();
        for (start, end) in &arriving.sacks {
            sacks.push(own(*start), own(*end));
        }
        let timestamps = arriving
            .timestamps
            .map(|(value, echo)| Timestamps { value, echo: OWN.get().wrapping_add(echo) });
        Header {
            sequence: sequence(arriving.sequence),
            acknowledgement: own(arriving.acknowledgement),
            flags,
            window: arriving.window,
            options: Options {
                mss: arriving.mss,
                window_scale: arriving.window_scale,
                sack_permitted: arriving.sack_permitted,
                timestamps,
                sacks,
            },
        }
    }

    fn note(&mut self, reaction: &Reaction) {
        let peers = &mut self.peers;
        peers.received += reaction.received_bytes;
        let complete_to = peers.complete_to();
        assert_eq!(peers.received, complete_to, "what is in order, no more, no less");
        assert!(!(reaction.peer_closed && peers.is_closed), "a stream ends once");
        peers.is_closed |= reaction.peer_closed;
        assert!(!(reaction.established && self.is_established), "a handshake ends once");
        self.is_established |= reaction.established;
        if let Some(end) = reaction.end {
            assert!(!self.is_ended, "a connection ends once, and not by {end:?} again");
            assert_eq!(self.connection.state(), State::Closed);
            self.is_ended = true;
        }
        let is_over = self.is_ended || self.is_aborted || self.own.has_closed;
        assert!(self.connection.state() != State::Closed || is_over, "it says how it ended");
    }

    /// Lets everything happen that is due.
    fn settle(&mut self) {
        for _ in 0..100 {
            let is_due = |at: Option<Time>| at.is_some_and(|at| at <= self.now);
            if is_due(self.connection.poll_timeout(self.now)) {
                let reaction = self.connection.on_timeout(self.now, &self.profile);
                self.note(&reaction);
            }
            self.send();
            if self.connection.poll_timeout(self.now).is_none_or(|at| at > self.now) {
                self.check_that_it_waits();
                return;
            }
        }
        panic!("it asks to be called again and again: {:?}", self.connection);
    }

    fn send(&mut self) {
        for _ in 0..SEGMENTS_MAX {
            let Some(transmit) = self.connection.poll_transmit(self.now, &self.profile) else {
                return;
            };
            self.check_transmit(&transmit);
        }
        panic!("it sends without end: {:?}", self.connection);
    }

    fn check_transmit(&mut self, transmit: &Transmit) {
        let Transmit { header, payload_bytes, .. } = transmit;
        let option_bytes = header.options.option_bytes();
        let mss = u32::from(self.profile.mss_bytes);
        assert!(payload_bytes + option_bytes <= mss.max(64), "{transmit:?}");
        if header.flags.has(Flags::RST) {
            assert!(core::mem::take(&mut self.is_aborted), "only who aborts breaks off");
            self.is_ended = true;
            return;
        }
        let is_first =
            header.flags == Flags::SYN || header.flags == Flags::SYN | Flags::ECE | Flags::CWR;
        assert!(is_first || header.flags.has(Flags::ACK), "{transmit:?}");
        self.own.check(transmit);
        if header.flags.has(Flags::ACK) {
            let position = self
                .connection
                .position_of(&Header { sequence: header.acknowledgement, ..Header::default() });
            self.peers.check(&self.profile, header, position);
        }
    }

    /// What is not done yet is not forgotten.
    fn check_that_it_waits(&self) {
        let is_unacknowledged = self.own.acknowledged < self.own.sent_end;
        let is_waiting = match self.connection.state() {
            State::Closed | State::FinWait2 => return,
            State::Established | State::CloseWait => {
                is_unacknowledged || self.connection.unsent_bytes() > 0
            }
            State::SynSent
            | State::SynReceived
            | State::FinWait1
            | State::Closing
            | State::LastAck
            | State::TimeWait => true,
        };
        let alarm = self.connection.poll_timeout(self.now);
        assert!(!is_waiting || alarm.is_some(), "nothing goes on: {:?}", self.connection);
    }

    /// The peer says nothing any more: what waits for it is given up.
    fn be_left_alone(&mut self) {
        for _ in 0..ALARMS_MAX {
            if self.connection.poll_timeout(self.now).is_none() {
                return;
            }
            self.act(&Deed::WaitForAlarm);
        }
        panic!("it never comes to rest: {:?}", self.connection);
    }
}

fn first_segment(beginning: &Beginning) -> Header {
    Header {
        sequence: PEER,
        flags: Flags::SYN | Flags::ECE | Flags::CWR,
        window: 1000,
        options: Options {
            mss: Some(1460),
            window_scale: beginning.peer_scale,
            sack_permitted: beginning.peer_sack,
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..Options::default()
        },
        ..Header::default()
    }
}

/// Windows are shifted where both ends say by how much.
fn take_scales(profile: &Profile, syn: &Header, own: &mut Outgoing, peers: &mut Incoming) {
    if let Some(scale) = syn.options.window_scale.filter(|_| profile.extensions.window_scaling) {
        own.peer_shift = scale.min(SHIFT_MAX);
        let fits = |shift: &u8| profile.window_bytes >> shift <= u16::MAX.into();
        peers.own_shift = (0..SHIFT_MAX).find(fits).unwrap_or(SHIFT_MAX);
    }
}

fn sequence_of(position: i64) -> Sequence {
    OWN.plus(1).plus(position as u32)
}

impl Outgoing {
    /// The position that is meant, of those near the end of what was sent.
    fn position(&self, sequence: Sequence) -> i64 {
        self.sent_end + i64::from(sequence.beyond(sequence_of(self.sent_end)))
    }

    /// Whether the connection heeds it or not: no more than this can have been allowed.
    fn on_arrival(&mut self, header: &Header) {
        let is_syn = header.flags.has(Flags::SYN);
        let acknowledged = match header.flags.has(Flags::ACK) {
            true => self.position(header.acknowledgement),
            false if is_syn => 0,
            false => return,
        };
        if acknowledged <= self.sent_end.max(0) {
            let shift = if is_syn { 0 } else { self.peer_shift };
            self.acknowledged = self.acknowledged.max(acknowledged);
            self.window_end =
                self.window_end.max(acknowledged + (i64::from(header.window) << shift));
        }
    }

    fn check(&mut self, transmit: &Transmit) {
        let Transmit { header, payload_bytes, .. } = transmit;
        let start = self.position(header.sequence);
        assert!(start <= self.sent_end, "nothing is left out: {transmit:?} {self:?}");
        if header.flags.has(Flags::SYN) {
            assert_eq!((header.sequence, *payload_bytes), (OWN, 0));
            self.sent_end = self.sent_end.max(0);
            return;
        }
        let has_fin = header.flags.has(Flags::FIN);
        let payload_end = start + i64::from(*payload_bytes);
        let end = payload_end + i64::from(has_fin);
        if *payload_bytes > 0 {
            assert_eq!(transmit.position as i64, start);
            assert!(payload_end <= self.written, "only what was written: {transmit:?} {self:?}");
        }
        if has_fin {
            assert!(self.has_closed && payload_end == self.written, "{transmit:?} {self:?}");
            assert_eq!(*self.fin_at.get_or_insert(payload_end), payload_end);
        }
        if end > self.sent_end {
            // A closed window is probed by one byte.
            let is_probe = end - start == 1 && end == self.window_end + 1;
            assert!(end <= self.window_end || is_probe, "{transmit:?} {self:?}");
            self.sent_end = end;
        }
    }
}

impl Incoming {
    /// How far the stream goes without a hole.
    fn complete_to(&mut self) -> u64 {
        self.arrived.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in self.arrived.drain(..) {
            match joined.last_mut() {
                Some((_, reached)) if start <= *reached => *reached = end.max(*reached),
                Some(_) | None => joined.push((start, end)),
            }
        }
        self.arrived = joined;
        self.arrived.first().filter(|(start, _)| *start == 0).map_or(0, |(_, end)| *end)
    }

    fn check(&mut self, profile: &Profile, header: &Header, position: u64) {
        assert_eq!(position, self.received + u64::from(self.is_closed), "{header:?} {self:?}");
        self.acknowledgement = Some(header.acknowledgement);
        let shift = if header.flags.has(Flags::SYN) { 0 } else { self.own_shift };
        let window_bytes = u64::from(header.window) << shift;
        assert!(window_bytes <= profile.window_bytes.into(), "{header:?}");
        let end = position + window_bytes;
        // What does not fit the shift cannot be told.
        let told = self.offered_end.saturating_sub((1 << shift) - 1);
        assert!(end >= told, "a window is not taken back: {header:?} {self:?}");
        self.offered_end = self.offered_end.max(end);
    }
}

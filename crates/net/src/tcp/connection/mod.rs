//! One end of a TCP connection: RFC 9293, from its first segment to the end of TIME-WAIT.
//!
//! What an idle connection needs is 64 bytes, and that is enough for handshakes, small requests and
//! answers, and the close. Several segments under way, holes in what arrives, and a closed window
//! take a [`Sender`](crate::tcp::Sender) and a [`Receiver`](crate::tcp::Receiver) out of line, until
//! the connection rests. No payload is kept: a segment says which positions of the stream it carries.
//!
//! A listener has no state: [`Connection::passive`] makes a connection of a SYN, and whoever has
//! many of them finds them by their addresses and ports.

mod arrival;
mod clock;
mod departure;
mod timers;
mod work;

use alloc::boxed::Box;
use core::time::Duration;

use fp_model::{Ecn, Time};

use crate::tcp::connection::clock::{NearTick, Tick};
use crate::tcp::connection::work::Work;
use crate::tcp::header::{Flags, Header};
use crate::tcp::options::Options;
use crate::tcp::profile::{Profile, SHIFT_MAX};
use crate::tcp::rtt::RoundTrips;
use crate::tcp::sequence::Sequence;

pub use work::Sending;

/// RFC 6928: what a connection begins with, and goes on with after a rest.
const WINDOW_SEGMENTS: u8 = 10;
/// RFC 6298 section 2.1.
const TIMEOUT_WITHOUT_SAMPLE: Duration = Duration::from_secs(1);
/// RFC 6298 section 5.7: the same after a handshake that had to be repeated.
const TIMEOUT_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The end of a connection. Settings that it shares with others come with each call, the same ones
/// each time.
#[derive(Debug)]
pub struct Connection {
    work: Option<Box<Work>>,
    /// The sequence number of our SYN.
    initial: Sequence,
    /// All before it the peer has acknowledged.
    acknowledged: Sequence,
    /// Where new payload goes.
    next: Sequence,
    /// The sequence number of the peer's SYN.
    peer_initial: Sequence,
    /// All before it has arrived.
    expected: Sequence,
    /// Of the segment from which the peer's window is known.
    window_from: Sequence,
    /// The timestamp to echo.
    timestamp_recent: u32,
    /// When something is sent again, or this state ends.
    alarm: Tick,
    round_trip: StoredRoundTrip,
    /// How often the positions of what is acknowledged and expected went round 2^32.
    acknowledged_rounds: u16,
    expected_rounds: u16,
    /// The peer's, to be shifted.
    window: u16,
    /// Written and not sent yet.
    unsent_bytes: u16,
    peer_mss: u16,
    /// Arrived and not acknowledged yet.
    waiting_bytes: u16,
    ack_alarm: NearTick,
    marks: Marks,
    state: State,
    shifts: Shifts,
    /// How often what is under way was sent again.
    backoff: u8,
    /// The congestion window to go on with.
    window_segments: u8,
}

const _: () = assert!(size_of::<Connection>() <= 64, "millions of connections are held in memory");

/// RFC 9293 section 3.3.2. LISTEN is no connection yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Closed,
    SynSent,
    SynReceived,
    Established,
    FinWait1,
    FinWait2,
    CloseWait,
    Closing,
    LastAck,
    TimeWait,
}

/// A segment that has arrived, with what its packet says.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    pub header: &'a Header,
    pub payload_bytes: u32,
    pub ecn: Ecn,
}

/// A segment to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub header: Header,
    /// Where its payload begins in the stream of this direction.
    pub position: u64,
    pub payload_bytes: u32,
    pub ecn: Ecn,
    /// It was sent before, or a part of it.
    pub resent: Option<Resent>,
}

/// Why a segment is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resent {
    /// It opens the connection, and no answer has come.
    Syn,
    /// Nothing was heard for too long.
    Timeout,
    /// Later ones have arrived, or the end of what was sent is probed for.
    Fast,
}

/// What a segment has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reaction {
    /// To be sent at once; it belongs to no connection.
    pub reply: Option<Header>,
    /// The handshake is over.
    pub established: bool,
    /// Which part of the payload counts: it may be checked against what belongs there.
    pub payload: Option<Placed>,
    /// By so much the stream has grown without a hole.
    pub received_bytes: u64,
    /// The peer sends no more.
    pub peer_closed: bool,
    /// A round trip that was measured, of a connection at work: in 64 bytes there is no room for
    /// when a segment left but for the millisecond.
    pub rtt: Option<Duration>,
    /// It acknowledged once more what was acknowledged before, while more was under way.
    pub duplicate_ack: bool,
    /// The peer is to be asked whether it meant that: see [`Connection::forgo_challenge`].
    pub challenged: bool,
    pub end: Option<End>,
}

/// Payload and where it belongs in the stream of its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub position: u64,
    /// The payload's first byte that counts.
    pub skip: u32,
    pub payload_bytes: u32,
}

/// How a connection came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
//= rfc9293 MUST-12
pub enum End {
    /// Both ends have closed.
    Closed,
    /// The peer does not want a connection.
    Refused,
    /// The peer broke it off.
    Reset,
    /// The peer was not heard of for too long.
    TimedOut,
}

impl Connection {
    /// An end that asks for a connection. `initial` is where its sequence numbers begin:
    /// [`initial_sequence`](crate::tcp::initial_sequence).
    pub fn open(initial: Sequence) -> Self {
        Self::new(initial, State::SynSent)
    }

    /// An end that was asked for a connection, by this segment; `None`: it does not ask for one.
    //= rfc9293 MUST-11
    pub fn passive(profile: &Profile, initial: Sequence, header: &Header) -> Option<Self> {
        let flags = header.flags;
        let asks = flags.has(Flags::SYN) && !flags.has(Flags::ACK) && !flags.has(Flags::RST);
        asks.then(|| {
            let mut connection = Self::new(initial, State::SynReceived);
            connection.marks.set(Marks::PASSIVE);
            connection.take_syn(profile, header);
            connection
        })
    }

    fn new(initial: Sequence, state: State) -> Self {
        let mut marks = Marks::default();
        marks.set(Marks::RETRANSMIT);
        Self {
            work: None,
            initial,
            acknowledged: initial,
            next: initial,
            peer_initial: Sequence::default(),
            expected: Sequence::default(),
            window_from: Sequence::default(),
            timestamp_recent: 0,
            alarm: Tick::default(),
            round_trip: StoredRoundTrip::default(),
            acknowledged_rounds: 0,
            expected_rounds: 0,
            window: 0,
            unsent_bytes: 0,
            peer_mss: 0,
            waiting_bytes: 0,
            ack_alarm: NearTick::default(),
            marks,
            state,
            shifts: Shifts::default(),
            backoff: 0,
            window_segments: WINDOW_SEGMENTS,
        }
    }

    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether it takes up more than its 64 bytes.
    pub const fn is_at_work(&self) -> bool {
        self.work.is_some()
    }

    /// The application writes; gives how many bytes were taken. Before the handshake is over, that
    /// is no more than 64 KiB less one byte, and after `close` nothing.
    pub fn send(&mut self, now: Time, profile: &Profile, bytes: u64) -> u64 {
        if self.marks.has(Marks::CLOSE) {
            return 0;
        }
        match self.state {
            State::SynSent | State::SynReceived => {
                let room = u64::from(u16::MAX - self.unsent_bytes);
                self.unsent_bytes += bytes.min(room) as u16;
                bytes.min(room)
            }
            State::Established | State::CloseWait => {
                self.write(now, profile, bytes);
                bytes
            }
            State::Closed
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => 0,
        }
    }

    fn write(&mut self, now: Time, profile: &Profile, bytes: u64) {
        let fits =
            u64::from(self.unsent_bytes) + bytes <= u64::from(self.payload_bytes_max(profile));
        let waits = self.acknowledged == self.next || profile.short_segments_wait();
        if self.work.is_none() && fits && waits {
            self.unsent_bytes += bytes as u16;
        } else {
            self.work_on(now, profile).sender.write_more(bytes);
        }
    }

    /// The application writes no more; it still gets what the peer sends.
    pub fn close(&mut self) {
        match self.state {
            State::SynSent => self.end(),
            State::SynReceived | State::Established | State::CloseWait => {
                if !self.marks.has(Marks::CLOSE)
                    && let Some(work) = &mut self.work
                {
                    work.sender.close();
                }
                self.marks.set(Marks::CLOSE);
            }
            State::Closed
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => {}
        }
    }

    /// What the application has written so far, of a connection that is established or was.
    pub fn written(&self) -> u64 {
        match &self.work {
            Some(work) => work.sender.written(),
            None => self.sent_position(self.next) + u64::from(self.unsent_bytes),
        }
    }

    /// What the application has written and was not sent yet.
    pub fn unsent_bytes(&self) -> u64 {
        match &self.work {
            Some(work) => work.sender.written() - work.sender.next(),
            None => self.unsent_bytes.into(),
        }
    }

    /// Where payload that arrives belongs in the stream of the peer.
    pub fn position_of(&self, header: &Header) -> u64 {
        self.received_position(header.sequence)
    }

    /// Asks the peer whether the connection still exists there: RFC 5961.
    pub fn challenge(&mut self) {
        self.marks.set(Marks::ACK_NOW);
    }

    /// A challenge is not sent after all: RFC 5961 section 7 has whoever speaks for many connections
    /// ration them.
    pub fn forgo_challenge(&mut self) {
        self.marks.clear(Marks::ACK_NOW);
    }

    /// Ends the connection here and now; the peer is told.
    pub fn abort(&mut self) {
        let is_told = match self.state {
            State::SynReceived
            | State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait => true,
            State::Closed | State::SynSent | State::Closing | State::LastAck | State::TimeWait => {
                false
            }
        };
        self.end();
        if is_told {
            self.marks.set(Marks::RESET);
        }
    }

    /// The application stops to read: the window closes as it fills.
    pub fn hold(&mut self, now: Time, profile: &Profile) {
        if self.state.takes_payload() {
            self.work_on(now, profile).receiver.hold();
        }
    }

    /// It reads again.
    pub fn release(&mut self, now: Time) {
        if let Some(work) = &mut self.work {
            work.receiver.release(now);
        }
    }

    fn end(&mut self) {
        self.state = State::Closed;
        self.work = None;
        self.marks.clear(Marks::ALARM | Marks::ACK_ALARM | Marks::ACK_NOW | Marks::RETRANSMIT);
    }

    /// What a SYN says, with or without ACK.
    fn take_syn(&mut self, profile: &Profile, header: &Header) {
        let Options { mss, window_scale, sack_permitted, timestamps, .. } = header.options;
        let wanted = profile.extensions;
        self.peer_initial = header.sequence;
        self.expected = header.sequence.plus(1);
        //= rfc9293 MUST-15
        self.peer_mss = mss.unwrap_or(profile.mss_default_bytes);
        if wanted.sack && sack_permitted {
            self.marks.set(Marks::SACK);
        }
        if wanted.timestamps
            && let Some(timestamps) = timestamps
        {
            self.marks.set(Marks::TIMESTAMPS);
            self.timestamp_recent = timestamps.value;
        }
        if wanted.window_scaling
            && let Some(peer) = window_scale
        {
            //= rfc7323 2.3
            self.shifts = Shifts::new(peer.min(SHIFT_MAX), profile.shift());
        }
        let (echo, reduced) = (header.flags.has(Flags::ECE), header.flags.has(Flags::CWR));
        //= rfc3168 6.1.1
        let is_capable = echo && reduced != header.flags.has(Flags::ACK);
        if wanted.ecn && is_capable {
            self.marks.set(Marks::ECN);
        }
        //= rfc7323 2.2
        self.window = header.window >> self.shifts.peer();
        self.window_from = header.sequence;
    }

    fn payload_bytes_max(&self, profile: &Profile) -> u32 {
        profile.payload_bytes_max(self.peer_mss, self.marks.has(Marks::TIMESTAMPS))
    }

    /// How far from `acknowledged` the peer's window reaches.
    //= rfc9293 MUST-1
    fn window_bytes(&self) -> u32 {
        u32::from(self.window) << self.shifts.peer()
    }

    /// The window that the peer is offered.
    fn receive_window_bytes(&self, profile: &Profile) -> u32 {
        match &self.work {
            Some(work) => work.receiver.window_bytes() as u32,
            None => profile.window_bytes.min(self.window_bytes_max()),
        }
    }

    /// The largest that the header can tell.
    fn window_bytes_max(&self) -> u32 {
        u32::from(u16::MAX) << self.shifts.own()
    }

    /// A position in the stream of this end.
    fn sent_position(&self, sequence: Sequence) -> u64 {
        let offset = self.acknowledged.beyond(self.initial.plus(1)) as u32;
        let position = u64::from(self.acknowledged_rounds) << 32 | u64::from(offset);
        position.wrapping_add_signed(sequence.beyond(self.acknowledged).into())
    }

    /// A position in the stream of the peer.
    fn received_position(&self, sequence: Sequence) -> u64 {
        let offset = self.expected.beyond(self.peer_initial.plus(1)) as u32;
        let position = u64::from(self.expected_rounds) << 32 | u64::from(offset);
        position.wrapping_add_signed(sequence.beyond(self.expected).into())
    }

    fn acknowledge_to(&mut self, sequence: Sequence) {
        let offset = |sequence: Sequence| sequence.beyond(self.initial.plus(1)) as u32;
        if offset(sequence) < offset(self.acknowledged) {
            self.acknowledged_rounds = self.acknowledged_rounds.wrapping_add(1);
        }
        self.acknowledged = sequence;
    }

    fn expect(&mut self, sequence: Sequence) {
        let offset = |sequence: Sequence| sequence.beyond(self.peer_initial.plus(1)) as u32;
        if offset(sequence) < offset(self.expected) {
            self.expected_rounds = self.expected_rounds.wrapping_add(1);
        }
        self.expected = sequence;
    }

    fn round_trips(&self, profile: &Profile) -> RoundTrips {
        let without_sample = match self.marks.has(Marks::SYN_LOST) {
            //= rfc6298 5.7
            true => TIMEOUT_AFTER_LOST_SYN,
            false => TIMEOUT_WITHOUT_SAMPLE,
        };
        self.round_trip.resumed(profile.timeouts(without_sample), self.backoff)
    }
}

impl State {
    /// The peer may still send.
    const fn takes_payload(self) -> bool {
        matches!(self, Self::Established | Self::FinWait1 | Self::FinWait2)
    }
}

/// A segment for a connection that does not exist: it is told so, unless it breaks one off itself.
//= rfc9293 3.10.7.1
pub fn reset_for(header: &Header, payload_bytes: u32) -> Option<Header> {
    let flags = header.flags;
    if flags.has(Flags::RST) {
        return None;
    }
    if flags.has(Flags::ACK) {
        return Some(Header {
            sequence: header.acknowledgement,
            flags: Flags::RST,
            ..Header::default()
        });
    }
    let length =
        payload_bytes + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
    Some(Header {
        acknowledgement: header.sequence.plus(length),
        flags: Flags::RST | Flags::ACK,
        ..Header::default()
    })
}

/// The estimate of the round-trip time that is kept while a connection rests, in eighths of a millisecond, up to 8 s.
#[derive(Clone, Copy, Debug, Default)]
struct StoredRoundTrip {
    /// The smoothed round-trip time; zero before the first sample.
    smoothed: u16,
    variation: u16,
}

const ROUND_TRIP_UNIT_NANOS: u64 = 125_000;

impl StoredRoundTrip {
    fn of(round_trips: &RoundTrips) -> Self {
        let units = |duration: Duration| {
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            u16::try_from(nanos.div_ceil(ROUND_TRIP_UNIT_NANOS)).unwrap_or(u16::MAX)
        };
        Self {
            smoothed: round_trips.smoothed().map_or(0, |smoothed| units(smoothed).max(1)),
            variation: units(round_trips.variation()),
        }
    }

    fn resumed(self, timeouts: crate::tcp::rtt::Timeouts, backoff: u8) -> RoundTrips {
        let duration = |units: u16| Duration::from_nanos(u64::from(units) * ROUND_TRIP_UNIT_NANOS);
        let smoothed = (self.smoothed > 0).then(|| duration(self.smoothed));
        RoundTrips::resumed(timeouts, smoothed, duration(self.variation), backoff.into())
    }
}

/// By how much windows are shifted: the peer's, and ours.
#[derive(Clone, Copy, Debug, Default)]
struct Shifts(u8);

impl Shifts {
    const fn new(peer: u8, own: u8) -> Self {
        Self(peer << 4 | own)
    }

    const fn is_used(self) -> bool {
        self.0 != 0
    }

    const fn peer(self) -> u8 {
        self.0 >> 4
    }

    const fn own(self) -> u8 {
        self.0 & 0xf
    }
}

/// What is true of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks(u16);

impl Marks {
    /// The peer asked for it.
    const PASSIVE: Self = Self(1);
    const TIMESTAMPS: Self = Self(1 << 1);
    const SACK: Self = Self(1 << 2);
    const ECN: Self = Self(1 << 3);
    /// The alarms are set.
    const ALARM: Self = Self(1 << 4);
    const ACK_ALARM: Self = Self(1 << 5);
    const ACK_NOW: Self = Self(1 << 6);
    /// What is under way, or the SYN that is to be, is due.
    const RETRANSMIT: Self = Self(1 << 7);
    /// What is under way was sent more than once.
    const WAS_RESENT: Self = Self(1 << 8);
    /// The application has closed.
    const CLOSE: Self = Self(1 << 9);
    const FIN_SENT: Self = Self(1 << 10);
    /// The peer is to be told that the connection is no more.
    const RESET: Self = Self(1 << 11);
    const SYN_LOST: Self = Self(1 << 12);
    /// The peer is told that the network has marked its packets.
    const CONGESTION_ECHO: Self = Self(1 << 13);
    /// The peer is to be told that its echo was heard.
    const WINDOW_REDUCED: Self = Self(1 << 14);

    const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    const fn set(&mut self, mark: Self) {
        self.0 |= mark.0;
    }

    const fn clear(&mut self, mark: Self) {
        self.0 &= !mark.0;
    }

    /// Whether it was set, which it is no more.
    const fn take(&mut self, mark: Self) -> bool {
        let had = self.has(mark);
        self.clear(mark);
        had
    }
}

impl core::ops::BitOr for Marks {
    type Output = Self;

    fn bitor(self, rhs: Self) -> Self {
        Self(self.0 | rhs.0)
    }
}

#[cfg(test)]
mod tests;

//! What a connection needs beyond its 64 bytes while it has much to do.

use alloc::boxed::Box;
use core::time::Duration;

use fp_model::{Sender as Writes, Time};

use crate::tcp::connection::clock::{Tick, end_of_tick};
use crate::tcp::connection::{Connection, Marks, State, StoredRoundTrip, WINDOW_SEGMENTS};
use crate::tcp::header::Header;
use crate::tcp::profile::Profile;
use crate::tcp::receiver::{self, Receiver};
use crate::tcp::sender::{self, Manners, Outstanding, Sender};
use crate::tcp::sequence::Sequence;
use crate::tcp::{
    Ack, Block, Echo, SACK_BLOCKS_BESIDE_TIMESTAMPS_MAX, SACK_BLOCKS_MAX, SackBlocks, Segment,
    Settings,
};

/// Both directions of a connection, by positions in the streams.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Where the peer's stream ends, once that is known.
    pub(crate) stream_end: Option<u64>,
    /// Unless something happens until then, the connection is at rest.
    rest_at: Time,
}

/// How a connection at work sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    pub congestion_window_bytes: u64,
    /// The largest window that the peer has offered.
    pub window_max_bytes: u64,
    /// How long that window was what held the sender back.
    pub window_limited: Duration,
    /// Smoothed; `None` before the first sample.
    pub rtt: Option<Duration>,
    /// Payload of a full segment, options taken off.
    pub segment_bytes: u32,
}

impl Connection {
    /// `None`: it rests.
    pub fn sending(&self, now: Time) -> Option<Sending> {
        self.work.as_ref().map(|work| work.sender.sending(now))
    }

    /// The work of this connection, begun where it has none yet.
    pub(crate) fn work_on(&mut self, now: Time, profile: &Profile) -> &mut Work {
        let work = match self.work.take() {
            Some(work) => work,
            None => {
                let work = Box::new(self.begin_work(now, profile));
                // That of FIN-WAIT-2 is not the sender's.
                if self.state != State::FinWait2 {
                    self.marks.clear(Marks::ALARM);
                }
                self.marks.clear(Marks::ACK_ALARM | Marks::RETRANSMIT);
                self.unsent_bytes = 0;
                self.waiting_bytes = 0;
                work
            }
        };
        self.work.insert(work)
    }

    fn begin_work(&self, now: Time, profile: &Profile) -> Work {
        let rtt = self.round_trips(profile);
        let rest_at = now + rtt.timeout();
        let outstanding_bytes = self.next.beyond(self.acknowledged) as u32;
        let outstanding = (outstanding_bytes > 0).then(|| Outstanding {
            payload_bytes: outstanding_bytes,
            sent_at: self.sent_at(now, rtt.timeout()),
            is_retransmission: self.marks.has(Marks::WAS_RESENT),
        });
        let settings = Settings {
            segment_bytes: self.payload_bytes_max(profile),
            window_bytes: self.window_bytes().into(),
            writes: Writes::Transfer { bytes: 0 },
            algorithm: profile.algorithm,
            pacing: None,
        };
        let manners = Manners {
            short_segments: profile.short_segments(),
            has_sack: self.marks.has(Marks::SACK),
        };
        let position = self.sent_position(self.acknowledged);
        let window_segments = self.window_segments;
        let resumption =
            sender::Resumption { position, outstanding, manners, rtt, window_segments };
        let mut sender = Sender::resumed(settings, resumption);
        sender.write_more(self.unsent_bytes.into());
        if self.marks.has(Marks::FIN_SENT) {
            sender.mark_closed();
        } else if self.marks.has(Marks::CLOSE) {
            sender.close();
        }
        Work { sender, receiver: self.begin_to_receive(now, profile), stream_end: None, rest_at }
    }

    fn begin_to_receive(&self, now: Time, profile: &Profile) -> Receiver {
        let due = if self.marks.has(Marks::ACK_NOW) {
            Some(now)
        } else {
            self.marks.has(Marks::ACK_ALARM).then(|| self.ack_alarm.whole(now).instant(now))
        };
        let next = self.received_position(self.expected);
        Receiver::resumed(receiver::Resumption {
            window_bytes: profile.window_bytes.min(self.window_bytes_max()).into(),
            segment_bytes: self.payload_bytes_max(profile),
            next,
            acknowledged: next - u64::from(self.waiting_bytes),
            due,
            sack_blocks_max: match (self.marks.has(Marks::SACK), self.marks.has(Marks::TIMESTAMPS))
            {
                (false, _) => 0,
                (true, true) => SACK_BLOCKS_BESIDE_TIMESTAMPS_MAX,
                (true, false) => SACK_BLOCKS_MAX,
            },
            delayed_ack: profile.delayed_ack,
        })
    }

    /// When what is under way was sent: its timeout began then.
    pub(crate) fn sent_at(&self, now: Time, timeout: Duration) -> Time {
        if self.marks.has(Marks::ALARM) { self.alarm.instant(now) - timeout } else { now }.min(now)
    }

    /// Hands an acknowledgement to the sender; gives the round trip it measured.
    pub(crate) fn work_on_ack(&mut self, now: Time, header: &Header) -> Option<Duration> {
        let next = self.sent_position(header.acknowledgement);
        let window_bytes = self.window_bytes().into();
        let echo = self.echo(now, header);
        let blocks = header.options.sacks;
        let blocks = blocks.as_slice().iter().map(|(start, end)| Block {
            start: self.sent_position(*start),
            end: self.sent_position(*end),
        });
        let work = self.work.as_ref()?;
        let sacks = match self.marks.has(Marks::SACK) {
            true => SackBlocks::told(blocks, next, work.sender.sent_end()),
            false => SackBlocks::default(),
        };
        let work = self.work.as_mut()?;
        let rtt = work.sender.on_ack(now, &Ack { next, window_bytes, echo, sacks });
        work.stay(now);
        if header.acknowledgement.is_after(self.acknowledged) {
            self.acknowledge_to(header.acknowledgement);
        }
        self.follow_sender();
        rtt
    }

    fn echo(&self, now: Time, header: &Header) -> Echo {
        match header.options.timestamps.filter(|_| self.marks.has(Marks::TIMESTAMPS)) {
            Some(timestamps) => {
                let ago = self.timestamp(now).wrapping_sub(timestamps.echo);
                if ago as i32 >= 0 { Echo::Until(end_of_tick(now, ago)) } else { Echo::Unknown }
            }
            None => Echo::Unknown,
        }
    }

    /// The clock of our timestamps.
    //= rfc7323 5.4
    pub(crate) fn timestamp(&self, now: Time) -> u32 {
        Tick::at(now).get().wrapping_add(self.initial.get())
    }

    /// Where the sender has come to, in sequence numbers.
    pub(crate) fn follow_sender(&mut self) {
        if let Some(work) = &self.work {
            let ahead = work.sender.next() - work.sender.acknowledged();
            self.next = self.acknowledged.plus(ahead as u32);
        }
    }

    /// What the peer may acknowledge.
    pub(crate) fn sent_end(&self) -> Sequence {
        match &self.work {
            Some(work) => {
                let ahead = work.sender.sent_end() - work.sender.acknowledged();
                self.acknowledged.plus(ahead as u32)
            }
            None => self.next,
        }
    }

    /// Hands payload, and the end of the stream as one byte more, to the receiver.
    pub(crate) fn work_on_payload(&mut self, now: Time, start: u64, bytes: u32) -> u64 {
        let Some(work) = &mut self.work else { return 0 };
        let before = work.receiver.next();
        let payload_bytes = bytes;
        let sent_at = Time::ZERO;
        let segment = Segment { start, payload_bytes, sent_at, is_retransmission: false };
        work.receiver.on_segment(now, &segment);
        work.stay(now);
        let arrived = work.receiver.next() - before;
        self.expect(self.expected.plus(arrived as u32));
        arrived
    }

    /// Gives the work up where it is done.
    pub(crate) fn rest(&mut self, now: Time) {
        if let Some(work) = self.work.take_if(|work| work.may_rest() && work.rest_at <= now) {
            self.keep_of(&work);
        }
    }

    /// What outlives the work. Where slow start ended before is forgotten: after a rest that may be
    /// elsewhere.
    //= rfc5681 4.1
    pub(crate) fn keep_of(&mut self, work: &Work) {
        let round_trips = work.sender.round_trips();
        self.round_trip = StoredRoundTrip::of(round_trips);
        self.backoff = u8::try_from(round_trips.backoff()).unwrap_or(u8::MAX);
        self.window_segments = (work.sender.window_segments() as u8).clamp(1, WINDOW_SEGMENTS);
    }
}

impl Work {
    fn stay(&mut self, now: Time) {
        self.rest_at = now + self.sender.round_trips().timeout();
    }

    /// When it rests, if nothing happens until then.
    pub(crate) fn rest_at(&self) -> Option<Time> {
        self.may_rest().then_some(self.rest_at)
    }

    fn may_rest(&self) -> bool {
        self.sender.is_at_rest() && !self.receiver.is_busy()
    }
}

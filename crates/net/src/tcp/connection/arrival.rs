//! What a segment that arrives does: RFC 9293 section 3.10.7, with RFC 5961 and RFC 7323.

use core::time::Duration;

use fp_model::{Ecn, Time};

use crate::tcp::connection::clock::Tick;
use crate::tcp::connection::{
    Arrival, Connection, End, Marks, Placed, Reaction, State, StoredRoundTrip, WINDOW_SEGMENTS,
    reset_for,
};
use crate::tcp::header::{Flags, Header};
use crate::tcp::profile::Profile;
use crate::tcp::sequence::Sequence;

/// The part of a segment that lies in the window.
#[derive(Clone, Copy, Debug)]
struct Text {
    start: Sequence,
    /// The payload's first byte that counts.
    skip: u32,
    payload_bytes: u32,
    has_fin: bool,
}

impl Connection {
    /// Takes a segment that arrived for this connection, its checksum checked.
    pub fn on_segment(&mut self, now: Time, profile: &Profile, arrival: &Arrival<'_>) -> Reaction {
        let mut reaction = Reaction::default();
        match self.state {
            State::Closed => reaction.reply = reset_for(arrival.header, arrival.payload_bytes),
            State::SynSent => self.on_answer_to_syn(now, profile, arrival.header, &mut reaction),
            State::SynReceived
            | State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => self.on_synchronized(now, profile, arrival, &mut reaction),
        }
        reaction
    }

    /// Whether a SYN that arrives in TIME-WAIT may begin a new connection between the same two.
    //= rfc9293 MAY-2
    pub fn gives_way_to(&self, header: &Header) -> bool {
        let asks = header.flags.has(Flags::SYN) && !header.flags.has(Flags::ACK);
        let is_newer = match header.options.timestamps {
            Some(timestamps) if self.marks.has(Marks::TIMESTAMPS) => {
                (timestamps.value.wrapping_sub(self.timestamp_recent) as i32) > 0
            }
            Some(_) | None => header.sequence.is_after(self.expected),
        };
        self.state == State::TimeWait && asks && is_newer
    }

    /// RFC 9293 section 3.10.7.3.
    fn on_answer_to_syn(
        &mut self,
        now: Time,
        profile: &Profile,
        header: &Header,
        reaction: &mut Reaction,
    ) {
        let flags = header.flags;
        let has_ack = flags.has(Flags::ACK);
        let answers = header.acknowledgement == self.next && self.next != self.initial;
        if has_ack && !answers {
            reaction.reply = reset_for(header, 0);
            return;
        }
        if flags.has(Flags::RST) {
            if has_ack {
                self.end_as(End::Refused, reaction);
            }
            return;
        }
        if !flags.has(Flags::SYN) {
            return;
        }
        self.take_syn(profile, header);
        if has_ack {
            self.marks.set(Marks::ACK_NOW);
            self.establish(now, profile, header, reaction);
        } else {
            //= rfc9293 MUST-10
            self.state = State::SynReceived;
            self.marks.set(Marks::RETRANSMIT);
        }
    }

    /// RFC 9293 section 3.10.7.4.
    fn on_synchronized(
        &mut self,
        now: Time,
        profile: &Profile,
        arrival: &Arrival<'_>,
        reaction: &mut Reaction,
    ) {
        let repeated = self.without_repeated_syn(arrival.header);
        let header = repeated.as_ref().unwrap_or(arrival.header);
        if header.flags.has(Flags::SYN) && self.is_repeated_syn(header) {
            self.marks.set(Marks::RETRANSMIT);
            return;
        }
        if !self.passes_for_new(header) {
            return;
        }
        let text = match self.fit(profile, header, arrival.payload_bytes) {
            Some(text) => text,
            None if self.is_one_behind(header, arrival.payload_bytes) => {
                self.marks.set(Marks::ACK_NOW);
                Text { start: self.expected, skip: 0, payload_bytes: 0, has_fin: false }
            }
            None => {
                self.on_outside_window(now, profile, arrival);
                return;
            }
        };
        if header.flags.has(Flags::RST) {
            self.on_reset(header, reaction);
            return;
        }
        if header.flags.has(Flags::SYN) {
            //= rfc5961 4.2
            self.challenge_once(reaction);
            return;
        }
        if !header.flags.has(Flags::ACK) {
            return;
        }
        let is_cut = text.payload_bytes < arrival.payload_bytes;
        if is_cut || header.flags.has(Flags::FIN) && !text.has_fin {
            // The window may have been probed.
            self.marks.set(Marks::ACK_NOW);
        }
        self.take_timestamp(header);
        self.take_marks_of_the_network(arrival);
        if !self.heed_ack(now, profile, header, arrival.payload_bytes, reaction) {
            return;
        }
        if self.state.takes_payload() {
            self.take_text(now, profile, text, reaction);
        }
    }

    /// In a simultaneous open the other SYN comes again, with an acknowledgement of ours.
    fn without_repeated_syn(&self, header: &Header) -> Option<Header> {
        let acknowledges = header.flags.has(Flags::ACK) && header.acknowledgement == self.next;
        (acknowledges && self.is_repeated_syn(header)).then(|| Header {
            sequence: header.sequence.plus(1),
            flags: Flags::ACK,
            window: header.window >> self.shifts.peer(),
            ..*header
        })
    }

    fn is_repeated_syn(&self, header: &Header) -> bool {
        let flags = header.flags;
        self.state == State::SynReceived
            && flags.has(Flags::SYN)
            && !flags.has(Flags::RST)
            && header.sequence == self.peer_initial
    }

    /// Whether timestamps do not say that a segment is an old one, or none of this connection.
    //= rfc7323 5.3
    fn passes_for_new(&mut self, header: &Header) -> bool {
        if !self.marks.has(Marks::TIMESTAMPS) || header.flags.has(Flags::RST) {
            return true;
        }
        //= rfc7323 3.2
        let Some(timestamps) = header.options.timestamps else { return false };
        let is_old = (timestamps.value.wrapping_sub(self.timestamp_recent) as i32) < 0;
        if is_old {
            self.marks.set(Marks::ACK_NOW);
        }
        !is_old
    }

    /// The part of a segment in the window; `None`: nothing of it is, not even its place.
    //= rfc9293 3.10.7.4
    fn fit(&self, profile: &Profile, header: &Header, payload_bytes: u32) -> Option<Text> {
        let flags = header.flags;
        let control_bytes = u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let length = payload_bytes + control_bytes;
        let window_bytes = self.receive_window_bytes(profile);
        let window_end = self.expected.plus(window_bytes);
        let start = header.sequence;
        let end = start.plus(length);
        let nothing = Text { start, skip: 0, payload_bytes: 0, has_fin: false };
        if window_bytes == 0 {
            //= rfc9293 MUST-66
            return (start == self.expected).then_some(nothing);
        }
        if !start.is_before(window_end) {
            return None;
        }
        if length == 0 {
            return (!start.is_before(self.expected)).then_some(nothing);
        }
        if !end.is_after(self.expected) {
            return None;
        }
        let skip = self.expected.beyond(start).max(0) as u32;
        let beyond = end.beyond(window_end).max(0) as u32;
        let has_fin = flags.has(Flags::FIN) && beyond == 0;
        let cut_bytes = beyond.saturating_sub(u32::from(flags.has(Flags::FIN)));
        let payload_bytes = payload_bytes.saturating_sub(skip).saturating_sub(cut_bytes);
        Some(Text { start: start.plus(skip), skip, payload_bytes, has_fin })
    }

    /// Of a peer whose probe was taken and who does not know: what it acknowledges has to count, as
    /// the same may have happened to us, and neither would ever hear the other.
    fn is_one_behind(&self, header: &Header, payload_bytes: u32) -> bool {
        header.flags == Flags::ACK
            && payload_bytes == 0
            && self.expected.beyond(header.sequence) == 1
    }

    /// The peer is told where we are, unless it breaks off.
    fn on_outside_window(&mut self, now: Time, profile: &Profile, arrival: &Arrival<'_>) {
        let header = arrival.header;
        if header.flags.has(Flags::RST) {
            return;
        }
        self.marks.set(Marks::ACK_NOW);
        if self.state == State::TimeWait && header.flags.has(Flags::FIN) {
            self.wait_for(now, profile.maximum_segment_lifetime * 2);
        }
        let behind = self.expected.beyond(header.sequence);
        let position = self.received_position(self.expected);
        // What comes twice is told of where there is SACK: RFC 2883.
        if self.work.is_some()
            && arrival.payload_bytes > 0
            && (1..=position as i64).contains(&behind.into())
        {
            let start = position - behind as u64;
            self.work_on_payload(now, start, arrival.payload_bytes.min(behind as u32));
        }
    }

    //= rfc5961 3.2
    fn on_reset(&mut self, header: &Header, reaction: &mut Reaction) {
        if header.sequence != self.expected {
            self.challenge_once(reaction);
            return;
        }
        let end = match self.state {
            State::SynReceived if !self.marks.has(Marks::PASSIVE) => End::Refused,
            State::Closing | State::LastAck | State::TimeWait => End::Closed,
            State::Closed
            | State::SynSent
            | State::SynReceived
            | State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait => End::Reset,
        };
        self.end_as(end, reaction);
    }

    /// Unless an acknowledgement is due anyway, it may be forgone.
    fn challenge_once(&mut self, reaction: &mut Reaction) {
        reaction.challenged = !self.marks.has(Marks::ACK_NOW);
        self.challenge();
    }

    pub(super) fn end_as(&mut self, end: End, reaction: &mut Reaction) {
        self.end();
        reaction.end = Some(end);
    }

    /// The timestamp to echo is that of the earliest segment not acknowledged yet.
    //= rfc7323 4.3
    fn take_timestamp(&mut self, header: &Header) {
        let acknowledged = match &self.work {
            Some(work) => {
                let behind = work.receiver.next() - work.receiver.acknowledged();
                self.expected.minus(behind as u32)
            }
            None => self.expected.minus(self.waiting_bytes.into()),
        };
        if self.marks.has(Marks::TIMESTAMPS)
            && let Some(timestamps) = header.options.timestamps
            && !header.sequence.is_after(acknowledged)
        {
            self.timestamp_recent = timestamps.value;
        }
    }

    //= rfc3168 6.1.3
    fn take_marks_of_the_network(&mut self, arrival: &Arrival<'_>) {
        if !self.marks.has(Marks::ECN) {
            return;
        }
        if arrival.header.flags.has(Flags::CWR) {
            self.marks.clear(Marks::CONGESTION_ECHO);
        }
        if arrival.ecn == Ecn::Ce {
            self.marks.set(Marks::CONGESTION_ECHO);
        }
    }

    /// Takes the acknowledgement and the window; `false`: the segment is to be dropped.
    fn heed_ack(
        &mut self,
        now: Time,
        profile: &Profile,
        header: &Header,
        payload_bytes: u32,
        reaction: &mut Reaction,
    ) -> bool {
        let acknowledgement = header.acknowledgement;
        if self.state == State::SynReceived {
            if acknowledgement != self.next {
                reaction.reply = reset_for(header, 0);
                return false;
            }
            self.take_window(header);
            self.establish(now, profile, header, reaction);
            return true;
        }
        let oldest = self.acknowledged.minus(u32::from(u16::MAX) << self.shifts.peer());
        //= rfc5961 5.2
        if acknowledgement.is_after(self.sent_end()) || acknowledgement.is_before(oldest) {
            self.challenge_once(reaction);
            return false;
        }
        let moves_window = self.take_window(header);
        self.heed_echo(header);
        let is_news = acknowledgement.is_after(self.acknowledged);
        let is_overtaken = acknowledgement.is_before(self.acknowledged);
        let has_sack = self.marks.has(Marks::SACK);
        let is_repeated = !is_news && !is_overtaken && !moves_window && payload_bytes == 0;
        reaction.duplicate_ack =
            is_repeated && self.acknowledged != self.sent_end() && !header.flags.has(Flags::FIN);
        if is_overtaken {
            // Another has said more.
        } else if self.work.is_some() {
            // Payload that comes the other way is no sign of a loss.
            if is_news || has_sack || moves_window || payload_bytes == 0 {
                reaction.rtt = self.work_on_ack(now, header);
            }
        } else if is_news {
            self.advance(now, profile, header);
        }
        if self.marks.has(Marks::FIN_SENT) && self.has_all_acknowledged() {
            self.on_fin_acknowledged(now, profile, reaction);
        }
        self.state != State::Closed
    }

    /// A FIN may have gone as the probe of a closed window, and then is not counted as under way.
    fn has_all_acknowledged(&self) -> bool {
        let is_all_there_was = self.acknowledged == self.next;
        is_all_there_was && self.work.as_ref().is_none_or(|work| work.sender.is_at_rest())
    }

    /// `true`: the window is another one now. Whoever acknowledges more than anybody before speaks
    /// last, even where it sends old payload again: with the window from before, counted from what
    /// it acknowledges now, more would leave than it has offered.
    //= rfc9293 3.10.7.4
    fn take_window(&mut self, header: &Header) -> bool {
        let is_news = header.acknowledgement.is_after(self.acknowledged);
        let is_old = header.sequence.is_before(self.window_from)
            || header.acknowledgement.is_before(self.acknowledged);
        if is_old && !is_news {
            return false;
        }
        self.window_from = header.sequence;
        core::mem::replace(&mut self.window, header.window) != header.window
    }

    //= rfc3168 6.1.2
    fn heed_echo(&mut self, header: &Header) {
        if !self.marks.has(Marks::ECN) || !header.flags.has(Flags::ECE) {
            return;
        }
        let is_reduced = match &mut self.work {
            Some(work) => work.sender.on_congestion_echo(),
            None => {
                self.window_segments = (self.window_segments / 2).max(1);
                true
            }
        };
        if is_reduced {
            self.marks.set(Marks::WINDOW_REDUCED);
        }
    }

    fn establish(
        &mut self,
        now: Time,
        profile: &Profile,
        header: &Header,
        reaction: &mut Reaction,
    ) {
        self.state = State::Established;
        let syn_was_lost = self.marks.has(Marks::WAS_RESENT);
        self.advance(now, profile, header);
        if syn_was_lost {
            //= rfc5681 3.1
            self.window_segments = 1;
            self.marks.set(Marks::SYN_LOST);
        }
        self.backoff = 0;
        reaction.established = true;
    }

    /// More of what is under way has arrived.
    fn advance(&mut self, now: Time, profile: &Profile, header: &Header) {
        let mut round_trips = self.round_trips(profile);
        if let Some(sample) = self.sample(now, round_trips.timeout(), header) {
            round_trips.on_sample(sample);
            self.round_trip = StoredRoundTrip::of(&round_trips);
            self.backoff = 0;
        }
        self.marks.clear(Marks::RETRANSMIT);
        self.window_segments = WINDOW_SEGMENTS.min(self.window_segments + 1);
        if self.acknowledged == self.initial {
            self.acknowledged = header.acknowledgement;
        } else {
            self.acknowledge_to(header.acknowledgement);
        }
        if self.acknowledged == self.next {
            self.marks.clear(Marks::ALARM | Marks::WAS_RESENT);
        } else {
            //= rfc6298 5.3
            self.wait_for(now, round_trips.timeout());
        }
    }

    /// A retransmission gives a sample only where a timestamp says which copy is answered.
    //= rfc9293 MUST-18
    fn sample(&self, now: Time, timeout: Duration, header: &Header) -> Option<Duration> {
        let echo = header.options.timestamps.filter(|_| self.marks.has(Marks::TIMESTAMPS));
        if !self.marks.has(Marks::WAS_RESENT) {
            return Some(now.since(self.sent_at(now, timeout)));
        }
        let ago = self.timestamp(now).wrapping_sub(echo?.echo) as i32;
        u64::try_from(ago).ok().map(Duration::from_millis)
    }

    fn on_fin_acknowledged(&mut self, now: Time, profile: &Profile, reaction: &mut Reaction) {
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                if let Some(patience) = profile.fin_wait_2 {
                    self.wait_for(now, patience);
                }
            }
            State::Closing => self.wait_out(now, profile),
            State::LastAck => self.end_as(End::Closed, reaction),
            State::Closed
            | State::SynSent
            | State::SynReceived
            | State::Established
            | State::FinWait2
            | State::CloseWait
            | State::TimeWait => {}
        }
    }

    fn take_text(&mut self, now: Time, profile: &Profile, text: Text, reaction: &mut Reaction) {
        let text = self.within_stream(text);
        let length = text.payload_bytes + u32::from(text.has_fin);
        if length == 0 {
            return;
        }
        let position = self.received_position(text.start);
        if text.payload_bytes > 0 {
            let Text { skip, payload_bytes, .. } = text;
            reaction.payload = Some(Placed { position, skip, payload_bytes });
        }
        if text.start != self.expected {
            self.work_on(now, profile);
        }
        let fin_at = position + u64::from(text.payload_bytes);
        let is_closed = if self.work.is_some() {
            let arrived = self.work_on_payload(now, position, length);
            let reached = self.received_position(self.expected);
            let Some(work) = &mut self.work else { return };
            if text.has_fin {
                work.stream_end = Some(fin_at);
            }
            let is_closed = work.stream_end.is_some_and(|end| reached > end);
            reaction.received_bytes = arrived - u64::from(is_closed);
            is_closed
        } else {
            self.expect(self.expected.plus(length));
            reaction.received_bytes = text.payload_bytes.into();
            self.delay_ack(now, profile, text);
            text.has_fin
        };
        if is_closed {
            self.on_peer_closed(now, profile, reaction);
        }
    }

    /// Nothing lies beyond the end of a stream, and no end before what has arrived: where a peer
    /// says so nevertheless, what it said first counts.
    fn within_stream(&mut self, text: Text) -> Text {
        let position = self.received_position(text.start);
        let fin_at = position + u64::from(text.payload_bytes);
        let Some(work) = &self.work else { return text };
        let (end, is_told) = match work.stream_end {
            Some(end) => (end, fin_at == end),
            None => (fin_at, work.receiver.arrived_end() <= fin_at),
        };
        let payload_bytes = end.min(fin_at).saturating_sub(position) as u32;
        let within = Text { payload_bytes, has_fin: text.has_fin && is_told, ..text };
        if (within.payload_bytes, within.has_fin) != (text.payload_bytes, text.has_fin) {
            self.marks.set(Marks::ACK_NOW);
        }
        within
    }

    /// Every second full segment is acknowledged at once, and the end of the stream. What a peer
    /// does not take it will not send either, so that its full segments are no larger than ours.
    //= rfc9293 MUST-40
    //= rfc5681 4.2
    fn delay_ack(&mut self, now: Time, profile: &Profile, text: Text) {
        let waiting = u32::from(self.waiting_bytes) + text.payload_bytes;
        self.waiting_bytes = u16::try_from(waiting).unwrap_or(u16::MAX);
        if text.has_fin || waiting > self.payload_bytes_max(profile) {
            self.marks.set(Marks::ACK_NOW);
        } else if !self.marks.has(Marks::ACK_ALARM) {
            self.marks.set(Marks::ACK_ALARM);
            self.ack_alarm = super::NearTick::after(now, profile.delayed_ack);
        }
    }

    fn on_peer_closed(&mut self, now: Time, profile: &Profile, reaction: &mut Reaction) {
        reaction.peer_closed = true;
        self.marks.set(Marks::ACK_NOW);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.wait_out(now, profile),
            State::Closed
            | State::SynSent
            | State::SynReceived
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => {}
        }
    }

    /// Segments that are still under way shall find nobody new here.
    //= rfc9293 MUST-13
    fn wait_out(&mut self, now: Time, profile: &Profile) {
        self.state = State::TimeWait;
        self.work = None;
        self.marks.clear(Marks::ACK_ALARM | Marks::RETRANSMIT);
        self.wait_for(now, profile.maximum_segment_lifetime * 2);
    }

    pub(super) fn wait_for(&mut self, now: Time, wait: Duration) {
        self.marks.set(Marks::ALARM);
        self.alarm = Tick::after(now, wait);
    }
}

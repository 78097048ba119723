//! What a connection sends.

use fp_model::{Ecn, Time};

use crate::tcp::connection::{Connection, Marks, Resent, State, Transmit};
use crate::tcp::header::{Flags, Header};
use crate::tcp::options::{Options, Sacks, Timestamps};
use crate::tcp::profile::Profile;
use crate::tcp::sequence::Sequence;
use crate::tcp::{SackBlocks, Segment};

/// A part of our stream that leaves.
#[derive(Clone, Copy, Debug)]
struct Text {
    start: Sequence,
    payload_bytes: u32,
    has_fin: bool,
    resent: Option<Resent>,
}

impl Connection {
    /// The next segment to send, if there is one.
    pub fn poll_transmit(&mut self, now: Time, profile: &Profile) -> Option<Transmit> {
        match self.state {
            State::Closed => self.reset(),
            State::SynSent | State::SynReceived => self.syn(now, profile),
            State::Established
            | State::FinWait1
            | State::FinWait2
            | State::CloseWait
            | State::Closing
            | State::LastAck
            | State::TimeWait => self.synchronized(now, profile),
        }
    }

    fn reset(&mut self) -> Option<Transmit> {
        self.marks.take(Marks::RESET).then(|| {
            let header = Header {
                sequence: self.next,
                acknowledgement: self.expected,
                flags: Flags::RST | Flags::ACK,
                ..Header::default()
            };
            self.without_payload(header)
        })
    }

    fn syn(&mut self, now: Time, profile: &Profile) -> Option<Transmit> {
        if !self.marks.take(Marks::RETRANSMIT) {
            return self.pure_ack(now, profile);
        }
        let resent = (self.next != self.initial).then_some(Resent::Syn);
        self.next = self.initial.plus(1);
        self.wait_for(now, self.round_trips(profile).timeout());
        let answers = self.state == State::SynReceived;
        if answers {
            self.marks.clear(Marks::ACK_NOW);
        }
        let may = |wanted: bool, mark: Marks| if answers { self.marks.has(mark) } else { wanted };
        let wanted = profile.extensions;
        let is_first = !self.marks.has(Marks::WAS_RESENT);
        let asks_for_ecn = wanted.ecn && is_first && !answers;
        let scales = if answers { self.shifts.is_used() } else { wanted.window_scaling };
        let has_timestamps = may(wanted.timestamps, Marks::TIMESTAMPS);
        let flags = Flags::SYN
            .with(Flags::ACK, answers)
            .with(Flags::ECE, asks_for_ecn || answers && self.marks.has(Marks::ECN))
            .with(Flags::CWR, asks_for_ecn);
        let header = Header {
            sequence: self.initial,
            acknowledgement: if answers { self.expected } else { Sequence::default() },
            flags,
            window: profile.window_bytes.min(u16::MAX.into()) as u16,
            options: Options {
                //= rfc9293 MUST-14
                //= rfc9293 MUST-65
                //= rfc9293 MUST-67
                mss: Some(profile.mss_bytes),
                window_scale: scales.then(|| profile.shift()),
                //= rfc2018 2
                sack_permitted: may(wanted.sack, Marks::SACK),
                timestamps: has_timestamps.then(|| self.timestamps(now)),
                sacks: Sacks::default(),
            },
        };
        Some(Transmit { resent, ..self.without_payload(header) })
    }

    fn synchronized(&mut self, now: Time, profile: &Profile) -> Option<Transmit> {
        if self.needs_work(profile) {
            self.work_on(now, profile);
        }
        if self.work.is_none() {
            return self.small(now, profile).or_else(|| self.pure_ack(now, profile));
        }
        let tells_of_holes = self.work.as_ref().is_some_and(|work| work.receiver.has_holes());
        if tells_of_holes && let Some(ack) = self.pure_ack(now, profile) {
            return Some(ack);
        }
        let segment = self.work.as_mut().and_then(|work| work.sender.poll_transmit(now));
        match segment {
            Some(segment) => Some(self.large(now, profile, &segment)),
            None => self.pure_ack(now, profile),
        }
    }

    /// More is to be sent than fits one segment or the window.
    fn needs_work(&self, profile: &Profile) -> bool {
        let unsent = u32::from(self.unsent_bytes) + u32::from(self.has_fin_to_send());
        let under_way = self.next.beyond(self.acknowledged) as u32;
        let fits_window = under_way + unsent <= self.window_bytes();
        let fits_segment = u32::from(self.unsent_bytes) <= self.payload_bytes_max(profile);
        self.work.is_none() && unsent > 0 && !(fits_window && fits_segment)
    }

    fn has_fin_to_send(&self) -> bool {
        self.marks.has(Marks::CLOSE) && !self.marks.has(Marks::FIN_SENT)
    }

    /// One segment under way, of which no more than its place is remembered.
    fn small(&mut self, now: Time, profile: &Profile) -> Option<Transmit> {
        let under_way = self.next.beyond(self.acknowledged) as u32;
        if self.marks.take(Marks::RETRANSMIT) && under_way > 0 {
            let has_fin = self.marks.has(Marks::FIN_SENT);
            let payload_bytes = under_way - u32::from(has_fin);
            let start = self.acknowledged;
            let text = Text { start, payload_bytes, has_fin, resent: Some(Resent::Timeout) };
            return Some(self.text(now, profile, text));
        }
        let has_fin = self.has_fin_to_send();
        let waits = under_way > 0 && self.unsent_bytes > 0;
        if self.unsent_bytes == 0 && !has_fin || waits {
            return None;
        }
        let payload_bytes = u32::from(core::mem::take(&mut self.unsent_bytes));
        let start = self.next;
        self.next = start.plus(payload_bytes + u32::from(has_fin));
        if under_way == 0 {
            self.wait_for(now, self.round_trips(profile).timeout());
        }
        if has_fin {
            self.on_fin_sent();
        }
        Some(self.text(now, profile, Text { start, payload_bytes, has_fin, resent: None }))
    }

    fn large(&mut self, now: Time, profile: &Profile, segment: &Segment) -> Transmit {
        let start = self.sequence_of(segment.start);
        let has_fin = self.work.as_ref().is_some_and(|work| work.sender.is_end(segment.end()));
        self.follow_sender();
        if has_fin && !self.marks.has(Marks::FIN_SENT) {
            self.on_fin_sent();
        }
        let payload_bytes = segment.payload_bytes - u32::from(has_fin);
        let timeouts = self.work.as_ref().map_or(0, |work| work.sender.timeouts());
        let resent = segment.is_retransmission.then_some(match timeouts {
            0 => Resent::Fast,
            _ => Resent::Timeout,
        });
        self.text(now, profile, Text { start, payload_bytes, has_fin, resent })
    }

    fn on_fin_sent(&mut self) {
        self.marks.set(Marks::FIN_SENT);
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            State::Closed
            | State::SynSent
            | State::SynReceived
            | State::FinWait1
            | State::FinWait2
            | State::Closing
            | State::LastAck
            | State::TimeWait => self.state,
        };
    }

    fn text(&mut self, now: Time, profile: &Profile, text: Text) -> Transmit {
        let Text { start, payload_bytes, has_fin, resent } = text;
        let end = start.plus(payload_bytes + u32::from(has_fin));
        let is_new_payload = payload_bytes > 0 && resent.is_none();
        let tells_reduction = is_new_payload && self.marks.take(Marks::WINDOW_REDUCED);
        //= rfc9293 MUST-60
        //= rfc9293 MUST-61
        let is_last = end == self.next && payload_bytes > 0 && self.has_sent_all();
        let flags = Flags::ACK
            .with(Flags::PSH, is_last)
            .with(Flags::FIN, has_fin)
            .with(Flags::CWR, tells_reduction);
        //= rfc3168 6.1.5
        let ecn = match self.marks.has(Marks::ECN) && is_new_payload {
            true => Ecn::Ect0,
            false => Ecn::NotEct,
        };
        let position = self.sent_position(start);
        let header = self.acknowledging(now, profile, start, flags);
        Transmit { header, position, payload_bytes, ecn, resent }
    }

    fn has_sent_all(&self) -> bool {
        let is_written_out = |sender: &crate::tcp::Sender| sender.next() == sender.written();
        self.work.as_ref().map_or(self.unsent_bytes == 0, |work| is_written_out(&work.sender))
    }

    /// An acknowledgement that is due.
    //= rfc9293 MUST-58
    //= rfc9293 MUST-59
    fn pure_ack(&mut self, now: Time, profile: &Profile) -> Option<Transmit> {
        let waited = self.marks.has(Marks::ACK_ALARM) && self.ack_alarm.whole(now).is_due(now);
        let is_due = |at: Option<Time>| at.is_some_and(|at| at <= now);
        let receiver_waited =
            self.work.as_ref().is_some_and(|work| is_due(work.receiver.poll_timeout()));
        if !waited && !receiver_waited && !self.marks.has(Marks::ACK_NOW) {
            return None;
        }
        let sacks = match &self.work {
            Some(work) => self.sacks(&work.receiver.sacks()),
            None => Sacks::default(),
        };
        let window_end = self.acknowledged.plus(self.window_bytes());
        // A peer that has taken its window back would not look at what lies beyond. One that has
        // only rounded it down to what it can tell has not: were it heard from less than it has
        // got, and we likewise, neither would hear the other.
        let is_taken_back = self.next.beyond(window_end) >= 1 << self.shifts.peer();
        let sequence = if is_taken_back { window_end } else { self.next };
        let mut header = self.acknowledging(now, profile, sequence, Flags::ACK);
        header.options.sacks = sacks;
        Some(self.without_payload(header))
    }

    /// A header that acknowledges all there is to acknowledge.
    fn acknowledging(
        &mut self,
        now: Time,
        profile: &Profile,
        sequence: Sequence,
        flags: Flags,
    ) -> Header {
        self.marks.clear(Marks::ACK_NOW | Marks::ACK_ALARM);
        self.waiting_bytes = 0;
        if let Some(work) = &mut self.work {
            work.receiver.acknowledge();
        }
        let window_bytes = self.receive_window_bytes(profile) >> self.shifts.own();
        Header {
            sequence,
            acknowledgement: self.expected,
            flags: flags.with(Flags::ECE, self.marks.has(Marks::CONGESTION_ECHO)),
            window: window_bytes.min(u16::MAX.into()) as u16,
            options: Options {
                //= rfc7323 3.2
                timestamps: self.marks.has(Marks::TIMESTAMPS).then(|| self.timestamps(now)),
                ..Options::default()
            },
        }
    }

    //= rfc2018 4
    fn sacks(&self, blocks: &SackBlocks) -> Sacks {
        let mut sacks = Sacks::default();
        let next = self.received_position(self.expected);
        let sequence = |position: u64| self.expected.plus(position.wrapping_sub(next) as u32);
        for block in blocks.as_slice() {
            sacks.push(sequence(block.start), sequence(block.end));
        }
        sacks
    }

    fn sequence_of(&self, position: u64) -> Sequence {
        let acknowledged = self.sent_position(self.acknowledged);
        self.acknowledged.plus(position.wrapping_sub(acknowledged) as u32)
    }

    fn timestamps(&self, now: Time) -> Timestamps {
        Timestamps { value: self.timestamp(now), echo: self.timestamp_recent }
    }

    const fn without_payload(&self, header: Header) -> Transmit {
        Transmit { header, position: 0, payload_bytes: 0, ecn: Ecn::NotEct, resent: None }
    }
}

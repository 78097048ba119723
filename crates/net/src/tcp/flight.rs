//! What was sent and not yet acknowledged in order, and what is known of its fate.

use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Reverse;
use core::time::Duration;

use fp_model::Time;

use crate::tcp::{Ack, Block, SackBlocks, Segment};

/// RFC 5681 and RFC 8985: as many segments beyond a hole prove it a loss.
const DUPLICATE_THRESHOLD: u32 = 3;

/// The outstanding segments, numbered in the order of the stream.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    segments: VecDeque<Sent>,
    /// The number of the first of them.
    first: u64,
    /// Numbers and times of what is in flight in the order of sending; entries outlive what they
    /// stand for and are passed over then.
    by_time: VecDeque<(u64, Time)>,
    /// Numbers of segments to send again, passed over likewise.
    lost: BinaryHeap<Reverse<u64>>,
    in_flight: u32,
    arrived: u32,
    /// Those of the acknowledgement before: what they cover is known already.
    known: SackBlocks,
    rack: Rack,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    start: u64,
    payload_bytes: u32,
    fate: Fate,
    was_resent: bool,
    sent_at: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    Arrived,
    Lost,
}

impl Sent {
    const fn end(&self) -> u64 {
        self.start + self.payload_bytes as u64
    }

    /// What has arrived of it is not sent again: there are receivers that would then take all of it
    /// for old, and never hear of the end of the stream that came with it.
    fn forget_before(&mut self, position: u64) {
        let end = self.end();
        self.start = self.start.max(position);
        self.payload_bytes = end.saturating_sub(self.start) as u32;
    }

    const fn segment(&self) -> Segment {
        Segment {
            start: self.start,
            payload_bytes: self.payload_bytes,
            sent_at: self.sent_at,
            is_retransmission: self.was_resent,
        }
    }
}

/// RFC 8985: what was sent before something that has arrived should have arrived too.
#[derive(Debug, Default)]
struct Rack {
    /// Of the segment sent last among those that arrived.
    newest_sent_at: Time,
    newest_end: u64,
    rtt: Duration,
    /// The highest position that has arrived.
    arrived_to: u64,
    /// Segments were seen to overtake each other.
    reorders: bool,
}

/// The moment at which an acknowledgement came, and what was known before it.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    now: Time,
    rtt_min: Duration,
    arrived_to: u64,
}

impl Flight {
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments presumed on their way.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    pub(crate) fn outstanding(&self) -> u32 {
        self.segments.len() as u32
    }

    /// Segments taken for lost and not sent again yet.
    pub(crate) fn lost(&self) -> u32 {
        self.outstanding() - self.in_flight - self.arrived
    }

    /// Something has arrived beyond a hole.
    pub(crate) const fn has_hole(&self) -> bool {
        self.arrived > 0
    }

    pub(crate) fn send(&mut self, now: Time, start: u64, payload_bytes: u32) -> Segment {
        let sent =
            Sent { start, payload_bytes, fate: Fate::InFlight, was_resent: false, sent_at: now };
        self.by_time.push_back((self.first + self.segments.len() as u64, now));
        self.segments.push_back(sent);
        self.in_flight += 1;
        sent.segment()
    }

    /// The first segment that is lost, sent again.
    pub(crate) fn resend_lost(&mut self, now: Time) -> Option<Segment> {
        while let Some(Reverse(number)) = self.lost.pop() {
            if self.at(number).is_some_and(|sent| sent.fate == Fate::Lost) {
                self.in_flight += 1;
                return self.resend(now, number);
            }
        }
        None
    }

    /// The last segment sent again to learn what became of those before it: RFC 8985 section 7.
    pub(crate) fn resend_last(&mut self, now: Time) -> Option<Segment> {
        let last = self.segments.back().filter(|last| last.fate == Fate::InFlight)?;
        assert!(last.sent_at <= now, "time does not run backwards");
        self.resend(now, self.first + self.segments.len() as u64 - 1)
    }

    /// How long the newest segment was under way of which this acknowledgement is the first sign;
    /// `None` where it may answer a retransmission.
    //= rfc9293 MUST-18
    pub(crate) fn round_trip(&self, now: Time, next: u64) -> Option<Duration> {
        let mut newly = self.segments.iter().take_while(|sent| sent.end() <= next);
        let last = newly.clone().filter(|sent| sent.fate != Fate::Arrived).last()?;
        (!newly.any(|sent| sent.was_resent)).then(|| now.since(last.sent_at))
    }

    /// A segment that was sent before this flight was kept.
    pub(crate) fn adopt(
        &mut self,
        sent_at: Time,
        start: u64,
        payload_bytes: u32,
        was_resent: bool,
    ) {
        self.send(sent_at, start, payload_bytes);
        if let Some(sent) = self.segments.back_mut() {
            sent.was_resent = was_resent;
        }
    }

    /// The segment that everything waits for is lost.
    pub(crate) fn lose_head(&mut self) {
        if self.at(self.first).is_some_and(|head| head.fate == Fate::InFlight) {
            self.lose(self.first);
        }
    }

    /// The segment that everything waits for.
    pub(crate) fn head_start(&self) -> Option<u64> {
        self.segments.front().map(|sent| sent.start)
    }

    /// Takes note of what has arrived; gives the number of segments of which that is new.
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Ack, rtt_min: Duration) -> u32 {
        let arrival = Arrival { now, rtt_min, arrived_to: self.rack.arrived_to };
        let mut delivered = 0;
        while self.segments.front().is_some_and(|sent| sent.end() <= ack.next) {
            delivered += self.settle(0, arrival);
            self.segments.pop_front();
            self.first += 1;
            self.arrived -= 1;
        }
        if let Some(head) = self.segments.front_mut() {
            head.forget_before(ack.next);
        }
        while self.by_time.front().is_some_and(|(number, _)| *number < self.first) {
            self.by_time.pop_front();
        }
        for block in ack.sacks.early() {
            delivered += self.on_block(block, arrival);
        }
        self.known = ack.sacks;
        delivered
    }

    fn on_block(&mut self, block: &Block, arrival: Arrival) -> u32 {
        let mut delivered = 0;
        let mut index = self.segments.partition_point(|sent| sent.start < block.start);
        while let Some(sent) = self.segments.get(index).filter(|sent| sent.end() <= block.end) {
            let covers = |known: &&Block| known.start <= sent.start && sent.end() <= known.end;
            if let Some(known) = self.known.early().iter().find(covers) {
                index = self.segments.partition_point(|sent| sent.start < known.end);
                continue;
            }
            delivered += self.settle(index, arrival);
            index += 1;
        }
        delivered
    }

    /// The segment at `index` has arrived; gives 1 where that is new and 0 where it is not.
    fn settle(&mut self, index: usize, arrival: Arrival) -> u32 {
        let sent = &mut self.segments[index];
        match sent.fate {
            Fate::Arrived => return 0,
            Fate::InFlight => self.in_flight -= 1,
            Fate::Lost => {}
        }
        sent.fate = Fate::Arrived;
        self.arrived += 1;
        self.rack.on_arrival(sent, arrival);
        1
    }

    /// Finds losses by time; gives the time at which the oldest segment in doubt is lost too, if it
    /// has not arrived until then. `is_recovering`: it is certain that the path loses segments.
    //= rfc8985 6.2
    pub(crate) fn find_losses(
        &mut self,
        now: Time,
        rtt_min: Duration,
        is_recovering: bool,
    ) -> Option<Time> {
        let sure = is_recovering || self.arrived >= DUPLICATE_THRESHOLD;
        let patience = if sure && !self.rack.reorders { Duration::ZERO } else { rtt_min / 4 };
        while let Some((number, sent_at)) = self.oldest_in_flight() {
            if !self
                .rack
                .is_newer_than(sent_at, self.segments[(number - self.first) as usize].end())
            {
                break;
            }
            let lost_at = sent_at + self.rack.rtt + patience;
            if lost_at > now {
                return Some(lost_at);
            }
            self.lose(number);
        }
        None
    }

    /// After a timeout: the head, and all that was sent more than a round trip ago.
    pub(crate) fn lose_overdue(&mut self, now: Time, rtt: Duration) {
        while let Some((number, sent_at)) = self.oldest_in_flight() {
            if sent_at + rtt > now {
                break;
            }
            self.lose(number);
        }
        if self.at(self.first).is_some_and(|head| head.fate == Fate::Arrived) {
            self.forget_arrivals();
        }
        self.lose_head();
    }

    /// The receiver has thrown away what it had told of: it has to get that again.
    //= rfc2018 8
    fn forget_arrivals(&mut self) {
        self.known = SackBlocks::default();
        self.arrived = 0;
        for (index, sent) in self.segments.iter_mut().enumerate() {
            if sent.fate == Fate::Arrived {
                sent.fate = Fate::Lost;
                self.lost.push(Reverse(self.first + index as u64));
            }
        }
    }

    /// It was not loss but reordering or delay: what is not sent again yet is still on its way.
    pub(crate) fn take_back_losses(&mut self) {
        self.rack.reorders = true;
        self.lost.clear();
        self.by_time.clear();
        for (index, sent) in self.segments.iter_mut().enumerate() {
            if sent.fate == Fate::Lost {
                sent.fate = Fate::InFlight;
                self.in_flight += 1;
            }
            if sent.fate == Fate::InFlight {
                self.by_time.push_back((self.first + index as u64, sent.sent_at));
            }
        }
        self.by_time.make_contiguous().sort_by_key(|(_, sent_at)| *sent_at);
    }

    fn lose(&mut self, number: u64) {
        self.segments[(number - self.first) as usize].fate = Fate::Lost;
        self.in_flight -= 1;
        self.lost.push(Reverse(number));
    }

    fn resend(&mut self, now: Time, number: u64) -> Option<Segment> {
        let sent = self.segments.get_mut((number - self.first) as usize)?;
        *sent = Sent { fate: Fate::InFlight, was_resent: true, sent_at: now, ..*sent };
        self.by_time.push_back((number, now));
        Some(sent.segment())
    }

    fn oldest_in_flight(&mut self) -> Option<(u64, Time)> {
        while let Some(&(number, sent_at)) = self.by_time.front() {
            let is_so = |sent: &Sent| sent.fate == Fate::InFlight && sent.sent_at == sent_at;
            if self.at(number).is_some_and(is_so) {
                return Some((number, sent_at));
            }
            self.by_time.pop_front();
        }
        None
    }

    fn at(&self, number: u64) -> Option<&Sent> {
        self.segments.get(number.checked_sub(self.first)? as usize)
    }
}

impl Rack {
    fn on_arrival(&mut self, sent: &Sent, Arrival { now, rtt_min, arrived_to }: Arrival) {
        self.arrived_to = self.arrived_to.max(sent.end());
        self.reorders |= !sent.was_resent && sent.end() < arrived_to;
        let rtt = now.since(sent.sent_at);
        // Too early for the answer to the second copy: RFC 8985 section 6.2, step 2.
        if sent.was_resent && rtt < rtt_min {
            return;
        }
        if !self.is_newer_than(sent.sent_at, sent.end()) {
            self.newest_sent_at = sent.sent_at;
            self.newest_end = sent.end();
            self.rtt = rtt;
        }
    }

    fn is_newer_than(&self, sent_at: Time, end: u64) -> bool {
        (self.newest_sent_at, self.newest_end) > (sent_at, end)
    }
}

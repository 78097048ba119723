//! The receiving end: puts the stream together and acknowledges it as Linux does.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Time;

use crate::tcp::{Ack, Block, Echo, SACK_BLOCKS_BESIDE_TIMESTAMPS_MAX, SackBlocks, Segment};

/// How long an acknowledgement may wait for a second segment.
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// At the start a sender needs every acknowledgement to open its window: this many come at once.
const QUICK_ACKS_MAX: u64 = 16;
/// What a peer may make an end remember: stretches beyond these have to be sent again.
const EARLY_BLOCKS_MAX: usize = 4096;

/// Takes segments, gives acknowledgements; the application reads at once, so that the whole window
/// is always on offer.
#[derive(Debug)]
pub struct Receiver {
    window_bytes: u64,
    /// Payload of a full segment.
    segment_bytes: u64,
    next: u64,
    /// What has arrived beyond a hole, the latest change first, no two touching.
    early: Vec<Block>,
    acknowledged: u64,
    /// The timestamp that the next acknowledgement echoes.
    echo: Time,
    quick_acks: u64,
    due: Option<Time>,
    duplicate: Option<Block>,
    sack_blocks_max: usize,
    delayed_ack: Duration,
    /// Where the window ends while the application does not read.
    held_at: Option<u64>,
}

/// With what a stream goes on that began elsewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resumption {
    pub(crate) window_bytes: u64,
    pub(crate) segment_bytes: u32,
    pub(crate) next: u64,
    pub(crate) acknowledged: u64,
    /// When an acknowledgement is due, if one is.
    pub(crate) due: Option<Time>,
    pub(crate) sack_blocks_max: usize,
    pub(crate) delayed_ack: Duration,
}

impl Receiver {
    pub fn new(window_bytes: u64, segment_bytes: u32) -> Self {
        let segment_bytes = u64::from(segment_bytes);
        assert!(segment_bytes > 0, "a segment without payload acknowledges nothing");
        Self {
            window_bytes,
            segment_bytes,
            next: 0,
            early: Vec::new(),
            acknowledged: 0,
            echo: Time::ZERO,
            quick_acks: (window_bytes / (2 * segment_bytes)).clamp(2, QUICK_ACKS_MAX),
            due: None,
            duplicate: None,
            sack_blocks_max: SACK_BLOCKS_BESIDE_TIMESTAMPS_MAX,
            delayed_ack: DELAYED_ACK,
            held_at: None,
        }
    }

    /// Goes on with a stream of which all before `next` has arrived, and all before `acknowledged`
    /// was acknowledged.
    pub(crate) fn resumed(resumption: Resumption) -> Self {
        let Resumption { window_bytes, segment_bytes, next, acknowledged, .. } = resumption;
        Self {
            next,
            acknowledged,
            due: resumption.due,
            sack_blocks_max: resumption.sack_blocks_max,
            delayed_ack: resumption.delayed_ack,
            ..Self::new(window_bytes, segment_bytes)
        }
    }

    /// All before this position has arrived.
    pub const fn next(&self) -> u64 {
        self.next
    }

    pub fn on_segment(&mut self, now: Time, segment: &Segment) {
        // RFC 7323 section 4.3: the earliest timestamp that is not acknowledged yet.
        if segment.start <= self.acknowledged {
            self.echo = self.echo.max(segment.sent_at);
        }
        let had_hole = !self.early.is_empty();
        let arrived = Block { start: segment.start, end: segment.end() };
        self.take(arrived);
        let waiting = self.next - self.acknowledged;
        let at_once = had_hole
            || !self.early.is_empty()
            || self.duplicate.is_some()
            || self.quick_acks > 0
            || waiting > self.segment_bytes
            // The end of what the application wrote: its reader is waiting for nothing more.
            || u64::from(segment.payload_bytes) < self.segment_bytes;
        self.due = if at_once { Some(now) } else { self.due.or(Some(now + self.delayed_ack)) };
    }

    /// An acknowledgement that is due.
    pub fn poll_transmit(&mut self, now: Time) -> Option<Ack> {
        self.due.filter(|due| *due <= now).map(|_| self.acknowledge())
    }

    /// What an acknowledgement says now, due or not.
    pub(crate) fn acknowledge(&mut self) -> Ack {
        self.due = None;
        self.acknowledged = self.next;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        let sacks = self.sacks();
        self.duplicate = None;
        let echo = Echo::At(self.echo);
        Ack { next: self.next, window_bytes: self.window_bytes(), echo, sacks }
    }

    /// What an acknowledgement of its own tells of what is beyond holes or came twice.
    pub(crate) fn sacks(&self) -> SackBlocks {
        SackBlocks::new(self.duplicate, self.early.iter().copied(), self.sack_blocks_max)
    }

    /// The window on offer.
    pub(crate) fn window_bytes(&self) -> u64 {
        self.held_at.map_or(self.window_bytes, |end| end.saturating_sub(self.next))
    }

    /// The farthest that anything has arrived from, holes or not.
    pub(crate) fn arrived_end(&self) -> u64 {
        self.early.iter().map(|block| block.end).fold(self.next, u64::max)
    }

    pub(crate) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// More than its place in the stream is to be remembered.
    pub(crate) const fn is_busy(&self) -> bool {
        !self.early.is_empty() || self.due.is_some() || self.held_at.is_some()
    }

    /// There is something to tell that only an acknowledgement of its own has room for.
    pub(crate) const fn has_holes(&self) -> bool {
        !self.early.is_empty() || self.duplicate.is_some()
    }

    /// The application stops to read: what it was offered it still takes.
    pub(crate) fn hold(&mut self) {
        self.held_at.get_or_insert(self.next + self.window_bytes);
    }

    /// It reads again, all at once, so that the window opens by more than a segment or not at all.
    //= rfc9293 MUST-39
    pub(crate) fn release(&mut self, now: Time) {
        let is_worth_telling = self.window_bytes - self.window_bytes().min(self.window_bytes)
            >= self.segment_bytes.min(self.window_bytes / 2).max(1);
        if self.held_at.take().is_some() && is_worth_telling {
            self.due = Some(now);
        }
    }

    /// When to ask for an acknowledgement again.
    pub const fn poll_timeout(&self) -> Option<Time> {
        self.due
    }

    fn take(&mut self, arrived: Block) {
        let known = |block: &Block| block.contains(&arrived);
        if arrived.end <= self.next || self.early.iter().any(known) {
            //= rfc2883 4
            self.duplicate = Some(arrived);
            return;
        }
        let mut merged = arrived;
        self.early.retain(|block| {
            let apart = !block.touches(&arrived);
            if !apart {
                merged.start = merged.start.min(block.start);
                merged.end = merged.end.max(block.end);
            }
            apart
        });
        if merged.start <= self.next {
            self.next = merged.end;
        } else if self.early.len() < EARLY_BLOCKS_MAX {
            self.early.insert(0, merged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    fn segment(k: u64, at: Time) -> Segment {
        let payload_bytes = MSS as u32;
        Segment { start: k * MSS, payload_bytes, sent_at: at, is_retransmission: false }
    }

    fn at_ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// 4 segments of window: quick acknowledgements for 2.
    fn after_the_quick_acks() -> Receiver {
        let mut receiver = Receiver::new(4 * MSS, MSS as u32);
        for k in 0..2 {
            receiver.on_segment(at_ms(1), &segment(k, at_ms(0)));
            assert_eq!(receiver.poll_transmit(at_ms(1)).unwrap().next, (k + 1) * MSS);
        }
        receiver
    }

    #[test]
    fn every_second_segment_is_acknowledged_with_the_timestamp_of_the_first() {
        let mut receiver = after_the_quick_acks();
        receiver.on_segment(at_ms(30), &segment(2, at_ms(20)));
        assert_eq!(receiver.poll_transmit(at_ms(30)), None);
        receiver.on_segment(at_ms(31), &segment(3, at_ms(21)));
        let ack = receiver.poll_transmit(at_ms(31)).unwrap();
        assert_eq!((ack.next, ack.echo), (4 * MSS, Echo::At(at_ms(20))));
        assert_eq!(receiver.poll_timeout(), None);
    }

    #[test]
    fn a_lone_segment_is_acknowledged_after_40_ms() {
        let mut receiver = after_the_quick_acks();
        receiver.on_segment(at_ms(30), &segment(2, at_ms(20)));
        assert_eq!(receiver.poll_timeout(), Some(at_ms(70)));
        assert_eq!(receiver.poll_transmit(at_ms(70)).unwrap().next, 3 * MSS);
    }

    #[test]
    fn a_short_segment_is_acknowledged_at_once() {
        let mut receiver = after_the_quick_acks();
        receiver.on_segment(at_ms(30), &Segment { payload_bytes: 10, ..segment(2, at_ms(20)) });
        assert_eq!(receiver.poll_transmit(at_ms(30)).unwrap().next, 2 * MSS + 10);
    }

    #[test]
    fn sack_blocks_come_latest_first_and_the_filled_hole_joins_them() {
        let mut receiver = after_the_quick_acks();
        let block = |from: u64, to: u64| Block { start: from * MSS, end: to * MSS };
        for k in [3, 7, 5] {
            receiver.on_segment(at_ms(30), &segment(k, at_ms(20)));
        }
        let ack = receiver.poll_transmit(at_ms(30)).unwrap();
        assert_eq!(ack.sacks.early(), [block(5, 6), block(7, 8), block(3, 4)]);
        receiver.on_segment(at_ms(31), &segment(4, at_ms(20)));
        let ack = receiver.poll_transmit(at_ms(31)).unwrap();
        assert_eq!((ack.next, ack.sacks.early()), (2 * MSS, &[block(3, 6), block(7, 8)][..]));
        receiver.on_segment(at_ms(32), &segment(2, at_ms(31)));
        let ack = receiver.poll_transmit(at_ms(32)).unwrap();
        assert_eq!((ack.next, ack.sacks.early()), (6 * MSS, &[block(7, 8)][..]));
        assert_eq!(ack.echo, Echo::At(at_ms(31)));
    }

    #[test]
    //= rfc2883 4
    fn what_arrives_twice_is_reported_first() {
        let mut receiver = after_the_quick_acks();
        receiver.on_segment(at_ms(30), &segment(1, at_ms(20)));
        let ack = receiver.poll_transmit(at_ms(30)).unwrap();
        assert!(ack.sacks.tell_of_duplicate());
        assert_eq!((ack.next, ack.sacks.early()), (2 * MSS, &[][..]));
        // 20 bytes of header, 12 of timestamps, 12 of one SACK block.
        assert_eq!(ack.segment_bytes(), 44);
    }
}

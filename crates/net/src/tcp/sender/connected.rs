//! What a sender needs that serves a whole connection: a stream that goes on and ends, windows that
//! close, peers without SACK, and marks of the network.

use fp_model::{Sender as Writes, Time};

use super::{Phase, Sender, Settings};
use crate::tcp::congestion::Congestion;
use crate::tcp::connection::Sending;
use crate::tcp::rtt::RoundTrips;
use crate::tcp::{Ack, Segment};

/// RFC 5681: as many duplicates prove a loss where there is no SACK.
const DUPLICATE_THRESHOLD: u32 = 3;

/// How a sender behaves that has to get along with any receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manners {
    pub(crate) short_segments: ShortSegments,
    pub(crate) has_sack: bool,
}

/// When a segment may leave that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShortSegments {
    /// The last part of what was written or fits the window, one at a time: Minshall.
    FillWindow,
    /// The last part of what was written, one at a time; of the window, half of it or more.
    Nagle,
    /// The same without waiting for the one before.
    AtOnce,
}

impl Default for Manners {
    fn default() -> Self {
        Self { short_segments: ShortSegments::FillWindow, has_sack: true }
    }
}

/// With what a stream goes on that began elsewhere.
#[derive(Debug)]
pub(crate) struct Resumption {
    /// All before is acknowledged.
    pub(crate) position: u64,
    pub(crate) outstanding: Option<Outstanding>,
    pub(crate) manners: Manners,
    pub(crate) rtt: RoundTrips,
    /// The congestion window.
    pub(crate) window_segments: u8,
}

/// What is under way when a stream goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) payload_bytes: u32,
    pub(crate) sent_at: Time,
    pub(crate) is_retransmission: bool,
}

impl Sender {
    /// Goes on with a stream that began elsewhere.
    pub(crate) fn resumed(settings: Settings, resumption: Resumption) -> Self {
        let Resumption { position, outstanding, manners, rtt, window_segments } = resumption;
        let mut sender = Self {
            acknowledged: position,
            next: position,
            written: position,
            window_end: position + settings.window_bytes,
            marked_to: position,
            persisted_to: position,
            congestion: Congestion::resumed(settings.algorithm, window_segments),
            manners,
            rtt,
            ..Self::new(Settings { writes: Writes::Transfer { bytes: 0 }, ..settings })
        };
        if let Some(Outstanding { payload_bytes, sent_at, is_retransmission }) = outstanding {
            sender.flight.adopt(sent_at, position, payload_bytes, is_retransmission);
            sender.timeout_from = sent_at;
            sender.next += u64::from(payload_bytes);
            sender.written = sender.next;
            sender.short_end = sender.next;
        }
        sender
    }

    /// The application writes so much more.
    pub(crate) fn write_more(&mut self, bytes: u64) {
        assert!(!self.is_closed, "nothing follows the end of the stream");
        self.written += bytes;
    }

    /// The stream ends where writing has come to: its end takes a position of its own.
    pub(crate) fn close(&mut self) {
        self.write_more(1);
        self.is_closed = true;
    }

    /// The end of the stream was written before.
    pub(crate) const fn mark_closed(&mut self) {
        self.is_closed = true;
    }

    /// Whether a segment that ends there ends the stream.
    pub(crate) const fn is_end(&self, position: u64) -> bool {
        self.is_closed && position == self.written
    }

    pub(crate) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    pub(crate) const fn written(&self) -> u64 {
        self.written
    }

    /// What the receiver may acknowledge.
    pub(crate) fn sent_end(&self) -> u64 {
        self.next.max(self.persisted_to)
    }

    pub(crate) const fn timeouts(&self) -> u32 {
        self.timeouts
    }

    pub(crate) const fn round_trips(&self) -> &RoundTrips {
        &self.rtt
    }

    /// All that was written is acknowledged.
    pub(crate) const fn is_at_rest(&self) -> bool {
        self.acknowledged == self.written
    }

    /// The congestion window in segments.
    pub(crate) const fn window_segments(&self) -> f64 {
        self.congestion.window
    }

    pub(crate) fn sending(&self, now: Time) -> Sending {
        Sending {
            congestion_window_bytes: self.congestion_window_bytes(),
            window_max_bytes: self.window_max,
            window_limited: self.window_limited(now),
            rtt: self.rtt.smoothed(),
            segment_bytes: self.settings.segment_bytes,
        }
    }

    /// The acknowledgement that comes next tells of a mark of the network's. `true`: the window was
    /// reduced, which it is once in a round trip.
    //= rfc3168 6.1.2
    pub(crate) fn on_congestion_echo(&mut self) -> bool {
        self.is_marked = true;
        let is_news = self.acknowledged >= self.marked_to && matches!(self.phase, Phase::Open);
        if is_news {
            self.reduce();
            self.congestion.window = self.congestion.slow_start_threshold;
            self.marked_to = self.next;
        }
        is_news
    }

    /// Takes note of the window; `true` where the acknowledgement was sent for it.
    //= rfc9293 MUST-34
    pub(super) fn moves_window(&mut self, ack: &Ack) -> bool {
        if ack.next < self.acknowledged {
            return false;
        }
        let window_end = ack.next + ack.window_bytes;
        self.window_max = self.window_max.max(ack.window_bytes);
        if self.persist.is_some() {
            //= rfc9293 MUST-37
            self.timeouts = 0;
        }
        core::mem::replace(&mut self.window_end, window_end) != window_end
    }

    /// RFC 6582, where the receiver has no SACK to say what has arrived: gives how many segments
    /// more have than was known.
    //= rfc6582 3.2
    pub(super) fn heed_duplicates(&mut self, delivered: u32, is_duplicate: bool) -> u32 {
        if self.manners.has_sack {
            return delivered;
        }
        if delivered > 0 {
            let known = self.duplicates.min(delivered - 1);
            self.duplicates -= known;
            match self.phase {
                Phase::Recovery { end, .. } if self.acknowledged < end => self.flight.lose_head(),
                Phase::Recovery { .. } | Phase::Loss { .. } | Phase::Open => self.duplicates = 0,
            }
            return delivered - known;
        }
        if !is_duplicate || self.flight.is_empty() {
            return 0;
        }
        self.duplicates += 1;
        //= rfc5681 3.2
        if self.duplicates == DUPLICATE_THRESHOLD && matches!(self.phase, Phase::Open) {
            self.flight.lose_head();
        }
        1
    }

    /// What is left of the window however small that is, or a byte beyond it: the answer says how
    /// large the window is now. Nobody knows whether that byte is taken, so that it is not in flight.
    //= rfc9293 MUST-36
    pub(super) fn window_probe(&mut self, now: Time) -> Option<Segment> {
        let persist = self.persist.as_mut().filter(|persist| persist.is_due)?;
        persist.is_due = false;
        let is_retransmission = persist.probes > 1;
        let room =
            self.window_end.saturating_sub(self.next).min(self.settings.segment_bytes.into());
        if room > 0 {
            return Some(self.send_new(now, room.min(self.written - self.next)));
        }
        let start = self.next;
        self.persisted_to = self.persisted_to.max(start + 1);
        Some(Segment { start, payload_bytes: 1, sent_at: now, is_retransmission })
    }

    //= rfc9293 MUST-38
    pub(super) fn may_be_short(&self, payload_bytes: u64) -> bool {
        let waits = self.short_end > self.acknowledged;
        let end = self.next + payload_bytes;
        let is_last = end == self.written;
        let is_half_the_window = payload_bytes >= self.window_max / 2;
        match self.manners.short_segments {
            ShortSegments::FillWindow => !waits,
            //= rfc9293 MUST-17
            ShortSegments::Nagle if is_last => !waits || self.is_closed,
            ShortSegments::AtOnce if is_last => true,
            ShortSegments::Nagle | ShortSegments::AtOnce => is_half_the_window,
        }
    }
}

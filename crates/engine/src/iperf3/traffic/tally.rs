//! What one thread counts of a stream while another one looks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fp_model::Time;

/// Written by the thread that sends or receives on the stream, and by no other.
#[derive(Debug, Default)]
pub(super) struct Tally {
    bytes: AtomicU64,
    packets: AtomicU64,
    received_packets: AtomicU64,
    out_of_order: AtomicU64,
    duplicates: AtomicU64,
    jitter_ns: AtomicU64,
    last_at_ns: AtomicU64,
}

/// A stream at one instant, from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// Payload.
    pub(crate) bytes: u64,
    /// Datagrams sent, or the highest number that arrived.
    pub(crate) packets: u64,
    /// Distinct datagrams that arrived.
    pub(crate) received_packets: u64,
    pub(crate) out_of_order: u64,
    pub(crate) duplicates: u64,
    /// As RFC 3550 section 6.4.1 has it.
    pub(crate) jitter: Duration,
    /// When the last byte was taken from the kernel.
    pub(crate) last_at: Time,
}

impl Tally {
    pub(super) fn add_sent(&self, bytes: u64, packets: u64) {
        add(&self.bytes, bytes);
        add(&self.packets, packets);
    }

    pub(super) fn add_received(&self, bytes: u64, now: Time) {
        add(&self.bytes, bytes);
        self.last_at_ns.store(now.as_nanos(), Ordering::Relaxed);
    }

    /// All of a count at once.
    pub(super) fn set(&self, count: &Count) {
        self.bytes.store(count.bytes, Ordering::Relaxed);
        self.packets.store(count.packets, Ordering::Relaxed);
        self.received_packets.store(count.received_packets, Ordering::Relaxed);
        self.out_of_order.store(count.out_of_order, Ordering::Relaxed);
        self.duplicates.store(count.duplicates, Ordering::Relaxed);
        self.jitter_ns.store(count.jitter.as_nanos() as u64, Ordering::Relaxed);
        self.last_at_ns.store(count.last_at.as_nanos(), Ordering::Relaxed);
    }

    pub(super) fn count(&self) -> Count {
        Count {
            bytes: self.bytes.load(Ordering::Relaxed),
            packets: self.packets.load(Ordering::Relaxed),
            received_packets: self.received_packets.load(Ordering::Relaxed),
            out_of_order: self.out_of_order.load(Ordering::Relaxed),
            duplicates: self.duplicates.load(Ordering::Relaxed),
            jitter: Duration::from_nanos(self.jitter_ns.load(Ordering::Relaxed)),
            last_at: Time::from_nanos(self.last_at_ns.load(Ordering::Relaxed)),
        }
    }
}

/// One writer: nothing can come between.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl Count {
    /// What came after `earlier`; the jitter is that of the end.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(earlier.bytes),
            packets: self.packets.saturating_sub(earlier.packets),
            received_packets: self.received_packets.saturating_sub(earlier.received_packets),
            out_of_order: self.out_of_order.saturating_sub(earlier.out_of_order),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            ..*self
        }
    }

    /// Numbers up to the highest that did not arrive.
    pub(crate) const fn lost_packets(&self) -> u64 {
        self.packets.saturating_sub(self.received_packets)
    }
}

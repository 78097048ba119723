//! Keeping count: which numbers were seen, and the series that grows slot by slot.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Sample, Slot};

/// A set of sequence numbers, one bit each.
#[derive(Debug, Default)]
pub(crate) struct Seen(Vec<u64>);

impl Seen {
    /// Whether `number` is new.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let is_new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        is_new
    }
}

/// The closed slots of a flow and the one that fills.
#[derive(Debug, Default)]
pub(crate) struct Series {
    closed: Vec<Sample>,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
    pub(crate) retransmitted_bytes: u64,
    rtt_sum: Duration,
    rtt_count: u32,
}

/// What only TCP has, of a slot that ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpSlot {
    pub(crate) cwnd_bytes: u64,
    pub(crate) active_connections: u32,
}

impl Series {
    pub(crate) fn on_rtt(&mut self, rtt: Duration) {
        self.rtt_sum += rtt;
        self.rtt_count += 1;
    }

    /// `None` of what flows of this kind never have.
    pub(crate) fn close(&mut self, slot: Slot, tcp: Option<TcpSlot>) -> Sample {
        let open = core::mem::take(self);
        let sample = Sample {
            at: slot.start,
            lasts: slot.end - slot.start,
            steady: slot.steady,
            sent_bytes: Some(open.sent_bytes),
            received_bytes: Some(open.received_bytes),
            retransmitted_bytes: tcp.map(|_| open.retransmitted_bytes),
            rtt: open.rtt_sum.checked_div(open.rtt_count),
            cwnd_bytes: tcp.map(|tcp| tcp.cwnd_bytes),
            active_connections: tcp.map(|tcp| tcp.active_connections),
        };
        self.closed = open.closed;
        self.closed.push(sample);
        sample
    }

    pub(crate) fn into_samples(self) -> Vec<Sample> {
        self.closed
    }
}

//! Both ends of one TCP connection, established and one-way, as state machines told the time.
//!
//! Where the standards leave room the ends behave as Linux does, because that is what shapes
//! throughput: the congestion window counts segments, losses are found by time (RACK), a lost tail
//! is probed for, and windows are reduced in proportion. Positions are 64-bit offsets in the
//! stream; set-up and tear-down are not modelled.

mod congestion;
mod flight;
pub mod header;
mod options;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod sequence;

use fp_model::Time;

pub use congestion::Algorithm;
pub use header::{Flags, Header, Ports};
pub use options::{Options, Sacks, Timestamps};
pub use receiver::Receiver;
pub use sender::{Sender, Settings};
pub use sequence::Sequence;

/// The TCP header without options.
pub const TCP_HEADER_BYTES: u32 = 20;
/// The timestamps that every segment carries, padding included: RFC 7323.
pub const TIMESTAMP_OPTION_BYTES: u32 = 12;
/// What the largest window scale can offer: RFC 7323 section 2.3.
pub const WINDOW_BYTES_MAX: u64 = 65_535 << 14;
/// Beside the timestamps a header has room for this many SACK blocks: RFC 2018 section 3.
const SACK_BLOCKS_MAX: usize = 3;

/// Payload on its way from sender to receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the payload begins in the stream.
    pub start: u64,
    pub payload_bytes: u32,
    /// The timestamp option.
    pub sent_at: Time,
    pub is_retransmission: bool,
}

impl Segment {
    pub const fn end(&self) -> u64 {
        self.start + self.payload_bytes as u64
    }

    /// TCP header, options and payload.
    pub const fn segment_bytes(&self) -> u32 {
        TCP_HEADER_BYTES + TIMESTAMP_OPTION_BYTES + self.payload_bytes
    }
}

/// What the receiver tells the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All before this position has arrived.
    pub next: u64,
    pub window_bytes: u64,
    /// The timestamp of the segment that moved `next`, the earliest where it stands for several.
    pub echo: Time,
    pub sacks: SackBlocks,
}

impl Ack {
    /// TCP header and options.
    pub fn segment_bytes(&self) -> u32 {
        let blocks = self.sacks.count as u32;
        // Two bytes of padding, kind, length and two 32-bit positions for each block.
        let sack_bytes = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        TCP_HEADER_BYTES + TIMESTAMP_OPTION_BYTES + sack_bytes
    }
}

/// A stretch of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block {
    pub start: u64,
    pub end: u64,
}

impl Block {
    const fn contains(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Overlaps with the other or lies next to it.
    const fn touches(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// What has arrived beyond a hole, the latest first: RFC 2018. A first block that repeats what had
/// arrived before is a D-SACK, RFC 2883.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [Block; SACK_BLOCKS_MAX],
    count: usize,
    first_is_duplicate: bool,
}

impl SackBlocks {
    fn new(duplicate: Option<Block>, early: impl Iterator<Item = Block>) -> Self {
        let mut sacks = Self { first_is_duplicate: duplicate.is_some(), ..Self::default() };
        for block in duplicate.into_iter().chain(early).take(SACK_BLOCKS_MAX) {
            sacks.blocks[sacks.count] = block;
            sacks.count += 1;
        }
        sacks
    }

    /// Blocks that lie beyond the first hole.
    fn early(&self) -> &[Block] {
        &self.blocks[usize::from(self.first_is_duplicate)..self.count]
    }

    const fn tell_of_duplicate(&self) -> bool {
        self.first_is_duplicate
    }
}

#[cfg(test)]
mod tests;

//! TCP as state machines told the time.
//!
//! A [`Connection`] is one end from handshake to TIME-WAIT, for whoever sends and receives segments.
//! A [`Sender`] and a [`Receiver`] are one direction of an established one, by 64-bit positions in
//! the stream: what a connection with much to do works by, and what the simulator takes alone.
//!
//! Where the standards leave room both behave as Linux does, because that is what shapes throughput:
//! the congestion window counts segments, losses are found by time (RACK), a lost tail is probed
//! for, and windows are reduced in proportion.
//!
//! Scripts of segments (`tests/tcp`) and pairs over bad paths compare connections with the
//! standards; smoltcp (`tests/tcp_smoltcp.rs`) and the kernel (`ports` in the engine's lab tests)
//! with other implementations; `fuzz/` searches for the rest.

mod congestion;
pub mod connection;
mod flight;
pub mod header;
mod isn;
mod options;
mod profile;
mod receiver;
mod recovery;
mod rtt;
mod sender;
mod sequence;

use fp_model::{PacketLayout, Time};

pub use congestion::Algorithm;
pub use connection::Connection;
pub use header::{Flags, Header, Ports};
pub use isn::{Tuple, initial_sequence};
pub use options::{Options, Sacks, Timestamps};
pub use profile::{Extensions, MSS_DEFAULT_IPV4, MSS_DEFAULT_IPV6, Nagle, Profile};
pub use receiver::Receiver;
pub use sender::{Sender, Settings};
pub use sequence::Sequence;

/// The TCP header without options.
pub const TCP_HEADER_BYTES: u32 = PacketLayout::TCP_HEADER_BYTES;
/// The timestamps that every segment carries, padding included: RFC 7323.
pub const TIMESTAMP_OPTION_BYTES: u32 = PacketLayout::TCP_TIMESTAMPS_BYTES;
/// What the largest window scale can offer: RFC 7323 section 2.3.
pub const WINDOW_BYTES_MAX: u64 = 65_535 << 14;
/// A header has room for this many SACK blocks, or for one less beside the timestamps: RFC 2018
/// section 3.
const SACK_BLOCKS_MAX: usize = 4;
const SACK_BLOCKS_BESIDE_TIMESTAMPS_MAX: usize = 3;

/// Payload on its way from sender to receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Where the payload begins in the stream.
    pub start: u64,
    pub payload_bytes: u32,
    /// When the segment was sent, as its timestamp option says.
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
    pub echo: Echo,
    pub sacks: SackBlocks,
}

/// When the segment left that moved `next`, the earliest where it stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    At(Time),
    /// In the tick of a clock that ended then.
    Until(Time),
    /// There are no timestamps.
    Unknown,
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
    fn new(duplicate: Option<Block>, early: impl Iterator<Item = Block>, max: usize) -> Self {
        let mut sacks = Self { first_is_duplicate: duplicate.is_some(), ..Self::default() };
        for block in duplicate.into_iter().chain(early).take(max.min(SACK_BLOCKS_MAX)) {
            sacks.blocks[sacks.count] = block;
            sacks.count += 1;
        }
        sacks
    }

    /// Blocks that lie beyond the first hole.
    fn early(&self) -> &[Block] {
        &self.blocks[usize::from(self.first_is_duplicate)..self.count]
    }

    /// As they were told by a peer who has acknowledged all before `next` and knows of no position
    /// beyond `sent_end`; blocks that cannot be true are passed over.
    //= rfc2018 5
    fn told(blocks: impl Iterator<Item = Block> + Clone, next: u64, sent_end: u64) -> Self {
        let mut all = blocks.clone();
        let duplicate = all.next().filter(|first| {
            let second = all.next();
            first.end <= next || second.is_some_and(|second| second.contains(first))
        });
        let is_true =
            |block: &Block| next < block.start && block.start < block.end && block.end <= sent_end;
        let early = blocks.skip(usize::from(duplicate.is_some())).filter(is_true);
        Self::new(duplicate, early, SACK_BLOCKS_MAX)
    }

    pub(crate) fn as_slice(&self) -> &[Block] {
        &self.blocks[..self.count]
    }

    const fn tell_of_duplicate(&self) -> bool {
        self.first_is_duplicate
    }
}

#[cfg(test)]
mod tests;

//! What the connections carry: bytes that no link on the way can compress.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream;

/// So small that it stays in the processor's cache, so large that a write can hold 64 MB of it.
const BLOCK_BYTES: usize = 64 << 10;
/// `IOV_MAX` of Linux.
const BLOCKS_MAX: usize = 1024;

/// The same block over and over, so that a write of any length needs no memory of its own.
#[derive(Debug)]
pub(crate) struct Payload {
    block: Vec<u8>,
}

impl Payload {
    pub(crate) fn new() -> Self {
        // Marsaglia's xorshift; any seed but zero.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let words = (0..BLOCK_BYTES / 8).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        });
        Self { block: words.flat_map(u64::to_le_bytes).collect() }
    }

    /// Hands up to `bytes` to the kernel in one write; how many it took, 0 if its buffer is full.
    pub(crate) fn write(&self, mut stream: &TcpStream, bytes: usize) -> io::Result<usize> {
        let written = if bytes <= BLOCK_BYTES {
            stream.write(&self.block[..bytes])
        } else {
            stream.write_vectored(&self.slices(bytes))
        };
        match written {
            Err(error) if super::greeting::is_passing(&error) => Ok(0),
            outcome => outcome,
        }
    }

    fn slices(&self, bytes: usize) -> Vec<IoSlice<'_>> {
        let whole = (bytes / BLOCK_BYTES).min(BLOCKS_MAX - 1);
        let rest = &self.block[..bytes % BLOCK_BYTES];
        std::iter::repeat_n(&self.block[..], whole).chain([rest]).map(IoSlice::new).collect()
    }
}

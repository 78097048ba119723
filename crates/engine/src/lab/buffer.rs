//! The bytes of frames on their way, in memory that is used again and again.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

/// Lends buffers and takes them back; belongs to one thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Rc<Spare>);

#[derive(Debug, Default)]
struct Spare {
    small: RefCell<Vec<Vec<u8>>>,
    large: RefCell<Vec<Vec<u8>>>,
}

/// A frame without FCS.
pub(super) struct Buffer {
    bytes: Vec<u8>,
    pool: Pool,
}

/// Frames up to here get a small buffer, so that a queue of acknowledgements stays small.
const SMALL_BYTES: usize = 192;
const LARGE_BYTES: usize = 2048;
/// More than that go back to the allocator.
const MAX_SPARE: usize = 16_384;

impl Pool {
    pub(super) fn copy_of(&self, frame: &[u8]) -> Buffer {
        let capacity = if frame.len() <= SMALL_BYTES { SMALL_BYTES } else { LARGE_BYTES };
        let spare = self.spare(capacity).borrow_mut().pop();
        let mut bytes = spare.unwrap_or_else(|| Vec::with_capacity(capacity.max(frame.len())));
        bytes.extend_from_slice(frame);
        Buffer { bytes, pool: self.clone() }
    }

    fn spare(&self, capacity: usize) -> &RefCell<Vec<Vec<u8>>> {
        if capacity <= SMALL_BYTES { &self.0.small } else { &self.0.large }
    }

    fn take_back(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        let mut spare = self.spare(bytes.capacity()).borrow_mut();
        if spare.len() < MAX_SPARE {
            spare.push(bytes);
        }
    }
}

impl Buffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        self.pool.copy_of(&self.bytes)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.take_back(std::mem::take(&mut self.bytes));
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a frame of {} bytes", self.bytes.len())
    }
}

//! Memory shared with the kernel, unmapped when it is dropped.
#![expect(unsafe_code, reason = "shared memory is reached by pointers")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr::{NonNull, null_mut};

use libc::c_int;

/// A mapping of whole pages, all there from the beginning.
#[derive(Debug)]
pub(super) struct Mapping {
    memory: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone and stays where it is whatever thread owns it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// What `socket` shows at `offset`.
    pub(super) fn of(socket: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        Self::map(socket.as_raw_fd(), libc::MAP_SHARED, offset, bytes)
    }

    /// Memory of our own, all zeros.
    pub(super) fn fresh(bytes: usize) -> io::Result<Self> {
        const NO_FILE: c_int = -1;
        Self::map(NO_FILE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, 0, bytes)
    }

    fn map(file: c_int, flags: c_int, offset: u64, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let memory = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = flags | libc::MAP_POPULATE;
            libc::mmap(null_mut(), bytes, protection, flags, file, offset as libc::off_t)
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, bytes })
    }

    /// Where `len` bytes begin, which are all inside.
    pub(super) fn at(&self, offset: usize, len: usize) -> NonNull<u8> {
        let fits = offset.checked_add(len).is_some_and(|end| end <= self.bytes);
        assert!(fits, "{len} bytes at {offset} are not inside a mapping of {} bytes", self.bytes);
        // SAFETY: the offset is inside the mapping.
        unsafe { self.memory.add(offset) }
    }

    pub(super) const fn len_bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length and nothing borrows from it any more. It
        // cannot fail for a mapping that exists.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes) };
    }
}

//! Waiting for sockets, and waking who waits: `poll` and `eventfd`.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

/// Ends another thread's [`wait`].
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd);

impl Wake {
    /// # Errors
    /// Where the process has no descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?))
    }

    pub(crate) fn ring(&self) {
        // The only failure is a counter that is full: then the waiter is being woken already.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Makes the next [`wait`] sleep again.
    pub(crate) fn hush(&self) {
        // The only failure is that nobody has rung.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Wake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a descriptor is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    Read,
    ReadOrWrite,
    Write,
}

/// Until one of `sources` is ready, is closed, or `timeout` has passed; a signal may end it early.
///
/// # Errors
/// Where the kernel has no memory for it.
pub(crate) fn wait(sources: &[(BorrowedFd<'_>, Interest)], timeout: Duration) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> = sources
        .iter()
        .map(|(source, interest)| PollFd::from_borrowed_fd(*source, flags(*interest)))
        .collect();
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(&mut polled, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

const fn flags(interest: Interest) -> PollFlags {
    match interest {
        Interest::Read => PollFlags::IN,
        Interest::ReadOrWrite => PollFlags::IN.union(PollFlags::OUT),
        Interest::Write => PollFlags::OUT,
    }
}

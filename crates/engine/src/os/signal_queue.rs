//! Signals that ask a program to end, read from a queue instead of suffered.
#![expect(unsafe_code, reason = "signal masks and signal descriptors are not in rustix")]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use libc::{signalfd_siginfo, sigset_t};
use rustix::process::Signal;

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT to this process, for as long as it lives.
#[derive(Debug)]
pub struct SignalQueue(OwnedFd);

/// A signal and where it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedSignal {
    pub signal: Signal,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A key: children in the same process group have got the signal as well.
    Terminal,
    /// Another process: children know nothing of it.
    Process,
}

impl SignalQueue {
    /// Blocks the signals in the current thread and in those that it will spawn; to be called
    /// before there are others.
    pub fn open() -> io::Result<Self> {
        let signals = set_of(&QUEUED);
        // SAFETY: the set is initialised and lives through the call.
        let blocked = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut())
        };
        if blocked != 0 {
            return Err(io::Error::from_raw_os_error(blocked));
        }
        let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
        // SAFETY: the set is initialised and lives through the call.
        match unsafe { libc::signalfd(-1, &raw const signals, flags) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the descriptor is new and nobody else has it.
            fd => Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) })),
        }
    }

    /// The next signal; `None` where there is none yet.
    pub fn take(&self) -> io::Result<Option<QueuedSignal>> {
        let mut bytes = [0; size_of::<signalfd_siginfo>()];
        match rustix::io::read(&self.0, &mut bytes) {
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            read => read?,
        };
        // SAFETY: any bytes are a valid value of this structure of integers.
        let info: signalfd_siginfo = unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) };
        let origin = match info.ssi_code {
            libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE => Origin::Process,
            _ => Origin::Terminal,
        };
        let signal = i32::try_from(info.ssi_signo).ok().and_then(Signal::from_named_raw);
        Ok(signal.map(|signal| QueuedSignal { signal, origin }))
    }
}

impl AsFd for SignalQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Ends the blocking that [`SignalQueue::open`] began for the program alone: a thread of this
/// process without it would be where the kernel delivers the signals, and they would end us all.
pub(crate) fn unblock_in(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe functions are called.
    unsafe { command.pre_exec(unblock_all) };
}

fn unblock_all() -> io::Result<()> {
    let none = set_of(&[]);
    // SAFETY: the set is initialised and lives through the call.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut()) }
    {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

const QUEUED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

fn set_of(signals: &[libc::c_int]) -> sigset_t {
    let mut set = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: initialises the set; it cannot fail for a valid address.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: the line above has initialised it.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: the set is initialised; it cannot fail for a signal that exists.
        unsafe { libc::sigaddset(&raw mut set, *signal) };
    }
    set
}

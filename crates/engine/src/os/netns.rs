//! Network namespaces held by file descriptor, and the user namespace that lets anybody make them.
#![expect(unsafe_code, reason = "leaving a namespace is a raw system call in rustix")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
    unshare_unsafe,
};

/// A network namespace that exists as long as this handle, a thread in it or a socket of it.
#[derive(Debug)]
pub struct NetNs(File);

impl NetNs {
    /// Moves the current thread into a fresh network namespace and returns the handle of it.
    ///
    /// # Errors
    /// `EPERM` without `CAP_SYS_ADMIN` in the user namespace of this process.
    pub fn fresh() -> io::Result<Self> {
        leave(UnshareFlags::NEWNET)?;
        Self::current()
    }

    /// The network namespace of the current thread.
    pub fn current() -> io::Result<Self> {
        File::open("/proc/thread-self/ns/net").map(Self)
    }

    /// Moves the current thread, and the threads and children it will make, into this namespace.
    pub fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

impl AsFd for NetNs {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for NetNs {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Whether this process may make network namespaces and wire them as it is.
pub fn may_make_networks() -> io::Result<bool> {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW;
    Ok(capabilities(None)?.effective.contains(needed))
}

/// Moves the process, which must have a single thread, into a user namespace of its own in which
/// it has every capability and keeps its user and group.
///
/// # Errors
/// `EINVAL` from a second thread; `EPERM`, `ENOSPC` or `EACCES` where the host forbids it.
pub fn enter_own_user_namespace() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    leave(UnshareFlags::NEWUSER)?;
    // Without this the kernel lets nobody map a group.
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    std::fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Moves the current thread into fresh namespaces.
pub(super) fn leave(flags: UnshareFlags) -> io::Result<()> {
    assert!(!flags.contains(UnshareFlags::FILES), "file descriptors stay shared between threads");
    // SAFETY: only FILES could invalidate descriptors that other code holds.
    Ok(unsafe { unshare_unsafe(flags) }?)
}

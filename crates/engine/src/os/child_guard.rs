//! A guard of child processes: none of them outlives it, however this process ends.
#![expect(unsafe_code, reason = "a process that only waits is forked, not executed")]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, WaitOptions, geteuid, waitpid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::netns::leave;

/// Holds the first process of a PID namespace, with which the kernel ends all others in it.
///
/// The thread that makes it can spawn no threads any more, only children.
#[derive(Debug)]
pub struct ChildGuard {
    /// The first process ends when this is closed, by whatever.
    leash: Option<OwnedFd>,
    first: Pid,
}

impl ChildGuard {
    /// Makes the children that the current thread will spawn live in namespaces of their own:
    /// processes, mounts, and `/etc/hosts` with `more_hosts` on top.
    pub fn around_children_of_this_thread(more_hosts: &str) -> io::Result<Self> {
        leave(UnshareFlags::NEWNS)?;
        // What is mounted from here on stays in here.
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        put_on_top_of_hosts(more_hosts)?;
        leave(UnshareFlags::NEWPID)?;
        let guard = Self::fork_first()?;
        pass_capabilities_on()?;
        Ok(guard)
    }

    fn fork_first() -> io::Result<Self> {
        let (ours, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // SAFETY: in the child, which has this thread alone, only system calls follow.
        let pid = match unsafe { libc::fork() } {
            -1 => return Err(io::Error::last_os_error()),
            0 => wait_for_the_end(theirs.as_raw_fd()),
            pid => pid,
        };
        drop(theirs);
        let first = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        // Until it has mounted its own /proc.
        rustix::io::read(&ours, &mut [0])?;
        Ok(Self { leash: Some(ours), first })
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        self.leash = None;
        // The only failure is that somebody else has waited for it.
        let _ = waitpid(Some(self.first), WaitOptions::empty());
    }
}

/// The first process of the namespace: leaves orphans to the kernel and ends with its parent.
fn wait_for_the_end(leash: i32) -> ! {
    // SAFETY: system calls on descriptors and constant strings of this process alone. Those that
    // fail leave the children with a foreign /proc or the process with more than it needs.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
        libc::dup2(leash, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        let proc = c"proc".as_ptr();
        libc::mount(proc, c"/proc".as_ptr(), proc, 0, std::ptr::null());
        let mut byte = 0_u8;
        libc::write(0, (&raw const byte).cast(), 1);
        while libc::read(0, (&raw mut byte).cast(), 1) < 0 {}
        libc::_exit(0)
    }
}

/// The file itself stays as it is: another one is mounted over it.
fn put_on_top_of_hosts(more_hosts: &str) -> io::Result<()> {
    const HOSTS: &str = "/etc/hosts";
    const PLACE: &str = "/tmp";
    const COPY: &str = "/tmp/hosts";
    let hosts = match fs::read_to_string(HOSTS) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        hosts => hosts?,
    };
    mount("tmpfs", PLACE, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, None)?;
    fs::write(COPY, format!("{more_hosts}{hosts}"))?;
    mount_bind(COPY, HOSTS)?;
    // The file lives on under its other name.
    Ok(unmount(PLACE, UnmountFlags::DETACH)?)
}

/// An ordinary user in a namespace of their own may use its network there as root may elsewhere;
/// without this a program would lose that when it is executed.
fn pass_capabilities_on() -> io::Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let passed =
        [CapabilitySet::NET_ADMIN, CapabilitySet::NET_RAW, CapabilitySet::NET_BIND_SERVICE];
    let mut sets = capabilities(None)?;
    for capability in passed {
        sets.inheritable |= capability;
    }
    set_capabilities(None, sets)?;
    for capability in passed {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

//! How promptly the current thread is woken and run.
#![expect(unsafe_code, reason = "scheduling policies are not in rustix")]

use std::io;
use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;

/// Rather than other ordinary threads, though it may never sleep: those still get a hundredth of its
/// processor, and go to another one meanwhile. From a real-time thread that never sleeps the kernel
/// takes the processor away for 50 ms in a second, and what waits for it there waits for a second.
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE` on the host.
pub fn run_rather_than_others() -> io::Result<()> {
    const NICE: libc::c_int = -20;
    // SAFETY: no pointers; to Linux, process zero is the current thread.
    match unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// While this lives, the current thread runs before all ordinary threads, where the host allows it.
#[derive(Debug)]
pub(crate) struct Promptly(());

impl Promptly {
    /// As a sender that sleeps between its frames.
    pub(crate) fn run() -> Self {
        Self::with_priority(10)
    }

    /// As the one who keeps the senders' leases.
    pub(crate) fn run_before_senders() -> Self {
        Self::with_priority(20)
    }

    fn with_priority(priority: i32) -> Self {
        // An ordinary user's thread stays ordinary: it will be late more often, and says so.
        let _ = set_policy(libc::SCHED_FIFO, priority);
        Self(())
    }
}

impl Drop for Promptly {
    fn drop(&mut self) {
        // Giving up a privilege is always allowed.
        let _ = run_as_usual();
    }
}

/// Whether threads of this process may run before all ordinary ones.
pub(crate) fn may_run_before_others() -> io::Result<()> {
    set_policy(libc::SCHED_FIFO, 10)?;
    run_as_usual()
}

/// Like any other thread.
pub fn run_as_usual() -> io::Result<()> {
    set_policy(libc::SCHED_OTHER, 0)
}

/// Timers of the current thread end at their time, not up to 50 µs later.
pub fn wake_on_time() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    // A child must not inherit what was granted to this thread.
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // The kernel's `sched_param` is the priority alone. The C library is not asked, as musl refuses.
    // SAFETY: the priority lives through the call; zero is the current thread.
    let set =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) };
    match set {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

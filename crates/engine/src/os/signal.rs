//! SIGINT and SIGTERM: the first one asks the program to stop, a second one ends it at once.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

use fp_model::Time;

use super::{clock, terminal};
use crate::StopFlag;

/// Stops the program as Ctrl-C does where a terminal passes it on: once asks, twice ends at once.
///
/// # Errors
/// Where the kernel does not let the process signal itself.
pub fn interrupt() -> io::Result<()> {
    Ok(rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT)?)
}

/// Which signal asked the program to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    Interrupt,
    Terminate,
}

static STOP: OnceLock<StopFlag> = OnceLock::new();
static CAUGHT: AtomicI32 = AtomicI32::new(0);
/// When the first signal came.
static SIGNALLED_NS: AtomicU64 = AtomicU64::new(0);

/// The flag that the first SIGINT or SIGTERM sets; every call returns the same one.
///
/// # Errors
/// Where the kernel does not let a handler be installed.
pub fn stop_flag() -> io::Result<StopFlag> {
    let flag = STOP.get_or_init(StopFlag::default).clone();
    install(libc::SIGINT)?;
    install(libc::SIGTERM)?;
    Ok(flag)
}

/// The signal that has set the flag.
pub fn caught() -> Option<Signal> {
    match CAUGHT.load(Ordering::Relaxed) {
        libc::SIGINT => Some(Signal::Interrupt),
        libc::SIGTERM => Some(Signal::Terminate),
        _ => None,
    }
}

/// A signal that comes again so soon is the same one: `timeout` sends it to the process and to its
/// whole group, and so do others. Nobody presses a key again as fast.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Async-signal-safe: atomics, the clock, system calls, and the default action of a signal.
extern "C" fn on_signal(signal: libc::c_int) {
    let now = clock::now();
    match SIGNALLED_NS.compare_exchange(0, now.as_nanos(), Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            CAUGHT.store(signal, Ordering::Relaxed);
            if let Some(stop) = STOP.get() {
                stop.set();
            }
        }
        Err(first) if now.since(Time::from_nanos(first)) > SAME_SIGNAL => end_at_once(signal),
        Err(_) => {}
    }
}

/// Leaves the signal to the kernel, which ends the process.
#[expect(unsafe_code, reason = "no safe crate in use installs handlers")]
fn end_at_once(signal: libc::c_int) {
    terminal::restore();
    // SAFETY: both are async-signal-safe. The signal is blocked while its handler runs and meets its
    // default action as soon as that returns.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

#[expect(unsafe_code, reason = "no safe crate in use installs handlers")]
fn install(signal: libc::c_int) -> io::Result<()> {
    let handler: extern "C" fn(libc::c_int) = on_signal;
    // SAFETY: an all-zero sigaction is a valid value of it: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is initialised and lives through the call, its handler is async-signal-safe.
    match unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

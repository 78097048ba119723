//! A terminal whose whole screen a program takes: how it is left as it was, whatever ends the program.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::stderr;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

/// As it was before the screen was taken.
static BEFORE: OnceLock<Termios> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Attributes off, the cursor shown, back to the ordinary screen: ECMA-48 SGR and xterm's private
/// modes 25 and 1049.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1049l";

/// Keeps how the terminal of stderr is set. From now on [`restore`] sets it so again.
///
/// # Errors
/// Where stderr is no terminal.
pub fn keep() -> io::Result<()> {
    let now = tcgetattr(stderr())?;
    // Whoever takes the screen a second time finds it as the first one left it.
    let _ = BEFORE.set(now);
    IS_TAKEN.store(true, Ordering::Relaxed);
    Ok(())
}

/// Leaves the terminal as it was, if its screen is taken; whether it was.
///
/// Async-signal-safe: atomics and two system calls.
pub fn restore() -> bool {
    if !IS_TAKEN.swap(false, Ordering::Relaxed) {
        return false;
    }
    // A terminal that has gone away needs nothing any more.
    let _ = rustix::io::write(stderr(), LEAVE);
    if let Some(before) = BEFORE.get() {
        let _ = tcsetattr(stderr(), OptionalActions::Now, before);
    }
    true
}

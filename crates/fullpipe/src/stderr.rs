//! Lines on stderr beside a screen that may be taken, and one that the next one replaces.

use std::io::{IsTerminal as _, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::view;

/// Whether the last line is one that the next one replaces.
static IS_PASSING: AtomicBool = AtomicBool::new(false);

/// Back to the start of the line, and nothing to its right.
const CLEAR: &str = "\r\x1b[K";

/// Whether it is a terminal that can be drawn on.
pub(crate) fn is_drawable() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

/// A line on stderr; while the screen is taken, after that.
pub(crate) fn tell(line: &str) {
    if view::keep_line(line) {
        return;
    }
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{}{line}", clearing());
}

/// A serial console knows no size of its own.
const SERIAL_COLUMNS: usize = 80;

/// How wide a terminal is; `None` of what is none.
pub(crate) fn columns(of: impl AsFd) -> Option<usize> {
    let columns = usize::from(rustix::termios::tcgetwinsize(of).ok()?.ws_col);
    Some(if columns == 0 { SERIAL_COLUMNS } else { columns })
}

/// A line on a terminal that the next one replaces, as much of it as fits.
pub(crate) fn tell_in_passing(line: &str) {
    let columns = columns(std::io::stderr()).unwrap_or(SERIAL_COLUMNS).max(2);
    let fits = CLEAR.chars().chain(line.chars().take(columns - 1)).collect::<String>();
    IS_PASSING.store(true, Ordering::Relaxed);
    // As above; at once, so that nobody sees the line gone.
    let _ = std::io::stderr().write_all(fits.as_bytes());
}

/// Takes away a line that would be replaced.
pub(crate) fn clear() {
    let _ = write!(std::io::stderr(), "{}", clearing());
}

fn clearing() -> &'static str {
    if IS_PASSING.swap(false, Ordering::Relaxed) { CLEAR } else { "" }
}

//! Lines on stderr beside a screen that may be taken.

use std::io::Write as _;

use crate::view;

/// A line on stderr; while the screen is taken, after that.
pub(crate) fn tell(line: &str) {
    if view::keep_line(line) {
        return;
    }
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(std::io::stderr(), "{line}");
}

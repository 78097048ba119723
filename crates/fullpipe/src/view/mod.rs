//! The live view of a run on the whole screen of a terminal.
//!
//! Events and keys change the state (`state`), which knows no terminal; `picture` draws it into
//! cells of any size; only `screen` has the terminal. The finished steps come from the method
//! itself, run over the evidence so far (`cli::followed`).

mod curve;
mod picture;
mod screen;
mod state;

pub(crate) use picture::Palette;
pub(crate) use screen::{Screen, is_open, keep_line, on_across, on_steps};

impl Palette {
    /// Without colours where the user wants none: by the option, or by <https://no-color.org>.
    pub(crate) fn wanted(no_color: bool) -> Self {
        let is_unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if no_color || is_unwanted { Self::Plain } else { Self::Colours }
    }
}

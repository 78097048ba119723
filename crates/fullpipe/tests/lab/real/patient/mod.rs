//! Programs and their ends, by limits of time and not by what is measured: several run side by side.

mod broken;
mod cable;
mod lab;
#[cfg(feature = "tui")]
mod screen;
mod serve;
mod stress_stopped;
mod unreachable;

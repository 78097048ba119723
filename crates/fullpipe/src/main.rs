//! One binary, one file per role.

#![forbid(unsafe_code)]

mod addresses;
mod cli;
mod exit;
mod flows;
mod metrics;
mod network;
mod plan;
mod services;
mod stderr;
mod time_left;
mod values;
#[cfg(feature = "tui")]
mod view;
#[cfg(not(feature = "tui"))]
#[path = "view_nothing.rs"]
mod view;
mod yaml;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

//! One binary, one file per role.

#![forbid(unsafe_code)]

mod cli;
mod flows;
mod network;
mod plan;
mod services;
mod yaml;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}

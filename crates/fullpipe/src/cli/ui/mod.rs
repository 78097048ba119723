//! `fullpipe ui`: the web interface on loopback.

mod forms;
mod order;

use std::process::{Command, Stdio};

use anyhow::anyhow;
use fp_engine::os::{clock, signal};
use fp_server::web::{Network, Program, Site};

use super::measure::rfc3339;
use super::{data, document, keep};
use crate::exit::{Exit, Failure};
use crate::network;
use crate::stderr::tell;

/// Shows the web interface: plan, run, watch, explore and report in a browser
///
/// The address that it prints lets one browser of this host in, and it then prints the next one. No
/// other host reaches it: from elsewhere, forward the port (`ssh -L 8349:127.0.0.1:8349 HOST`). Runs
/// that are under way when it ends are asked to end, and what they measured is kept.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this port of the loopback; 0 for any
    #[arg(long, value_name = "PORT", default_value_t = 8349)]
    port: u16,
    /// Do not open a browser
    #[arg(long)]
    no_browser: bool,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let stop = signal::stop_flag()
        .map_err(|error| Failure::not_run(anyhow!("cannot catch signals: {error}")))?;
    let site = Site::bind(args.port, announce).map_err(|error| not_bound(args.port, &error))?;
    let address = site.address();
    document::print(&format!("{address}\n"))?;
    if !args.no_browser {
        open_a_browser(&address);
    }
    let program = program().map_err(Failure::bad_input)?;
    site.serve(program, || stop.is_set())
        .map_err(|error| Failure::not_run(anyhow!("the web interface ended: {error}")))?;
    Ok(Exit::Passed)
}

fn not_bound(port: u16, error: &std::io::Error) -> Failure {
    let remedy = match error.kind() {
        std::io::ErrorKind::AddrInUse => "something listens there: choose another with --port",
        std::io::ErrorKind::PermissionDenied => "ports below 1024 are root's: choose another",
        _ => "choose another port with --port",
    };
    Failure::not_run(anyhow!("cannot listen on port {port} of the loopback: {error}: {remedy}"))
}

fn announce(address: &str) {
    tell(&format!("for another browser: {address}"));
}

/// Where there is a desktop.
fn open_a_browser(address: &str) {
    let has_desktop =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !has_desktop {
        return;
    }
    let mut command = Command::new("xdg-open");
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // The address stands on the screen for whoever has no such program.
    let _ = command.spawn();
}

fn program() -> anyhow::Result<Program> {
    let networks = network::list().map(|(name, description)| {
        let yaml = network::source(name).map_err(|failure| failure.error)?;
        let path = network::outline(&yaml).map_err(|error| anyhow!("{name}: {error}"))?;
        Ok(Network { name: name.to_owned(), description, yaml, path })
    });
    let host = fp_engine::control::host_facts();
    Ok(Program {
        version: host.version,
        host: host.name,
        history: data::folder()?,
        forms: forms::forms(),
        networks: networks.collect::<anyhow::Result<_>>()?,
        read_network: network::outline,
        check: order::check,
        repeats: |first, second| keep::repeats(first, second, 10).unwrap_or_default(),
        now: || rfc3339(clock::wall()),
    })
}

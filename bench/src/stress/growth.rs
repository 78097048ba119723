//! What opening a connection takes when there are few of them and when there are very many.

use std::io::Write as _;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use fp_engine::frame_io::{FrameIo, MemoryPort};
use fp_engine::lab::Privileges;
use fp_engine::os::memory::available_bytes;
use fp_model::Family;
use fp_net::swarm::{Role, Shard};

use super::super::pair::{packet_port, xdp_port};
use super::own::{open_all, steadily_opened_per_second};
use super::{at_once, evenly, lay_pair};

const CONNECTIONS: [u32; 5] = [10_000, 100_000, 1_000_000, 10_000_000, 24_000_000];
/// To begin with where it is not known how fast a port is.
const SLOWEST: u32 = 20_000;
/// For the rings of the ports and everybody else.
const SPARED_BYTES: u64 = 512 << 20;

/// In memory all at once. Through the faster kind of packet port as fast as it has been seen to lose
/// none: beyond, the figure would be that of the second after which a lost SYN is sent again.
pub(super) fn run() -> anyhow::Result<()> {
    grow("memory", None)?;
    match faster_port()? {
        Some((port, rate)) => grow(port, Some(rate)),
        None => Ok(writeln!(std::io::stdout(), "no port opens {SLOWEST} connections/s")?),
    }
}

/// And its rate.
fn faster_port() -> anyhow::Result<Option<(&'static str, u32)>> {
    let pair = lay_pair()?;
    let packet_ports = || Ok([packet_port(&pair.near)?, packet_port(&pair.far)?]);
    let xdp_ports = || Ok([xdp_port(&pair.near)?, xdp_port(&pair.far)?]);
    let by_packet_sockets = steadily_opened_per_second(packet_ports, SLOWEST)?;
    let by_xdp = match xdp_ports().map(drop) {
        Ok(()) => steadily_opened_per_second(xdp_ports, SLOWEST)?,
        Err(error) => {
            writeln!(std::io::stdout(), "AF_XDP: not measured: {error:#}")?;
            None
        }
    };
    let rates = [("packet", by_packet_sockets), ("xdp", by_xdp)];
    let rates = rates.into_iter().filter_map(|(port, rate)| Some((port, rate?)));
    Ok(rates.max_by_key(|(_, rate)| *rate))
}

/// Each in a process of its own, in which no memory of the one before is left.
fn grow(port: &str, rate: Option<u32>) -> anyhow::Result<()> {
    for connections in CONNECTIONS {
        let (needed, available) = (bytes_needed(connections)?, available_bytes()?);
        if needed + SPARED_BYTES > available {
            let [needed, available] = [needed, available].map(|bytes| bytes >> 20);
            return Ok(writeln!(
                std::io::stdout(),
                "{port}: not measured: {connections} connections take {needed} of {available} MiB"
            )?);
        }
        let rate = rate.map(|rate| rate.to_string());
        let mut itself = Command::new(std::env::current_exe()?);
        itself.args(["stress-growth", port, &connections.to_string()]).args(rate);
        let status = itself.status()?;
        ensure!(status.success(), "{connections} connections were not opened");
    }
    Ok(())
}

/// By both ends.
fn bytes_needed(connections: u32) -> anyhow::Result<u64> {
    let load = at_once(connections);
    let of = |role| Shard::bytes_needed(&load, Family::Ipv4, role);
    Ok(of(Role::Client)? + of(Role::Server)?)
}

/// Opens so many connections, at a rate or at once, and prints what it took.
pub(crate) fn open_through(
    port: &str,
    connections: &str,
    rate: Option<&str>,
) -> anyhow::Result<()> {
    let connections = connections.parse().context("no number of connections")?;
    let rate = rate.map(str::parse).transpose().context("no rate")?;
    Privileges::prepare()?;
    let pair = lay_pair()?;
    match port {
        "memory" => print(port, connections, rate, MemoryPort::pair()),
        "packet" => {
            print(port, connections, rate, [packet_port(&pair.near)?, packet_port(&pair.far)?])
        }
        "xdp" => print(port, connections, rate, [xdp_port(&pair.near)?, xdp_port(&pair.far)?]),
        _ => bail!("there is no port '{port}'"),
    }
}

fn print<P: FrameIo + Send>(
    port: &str,
    connections: u32,
    rate: Option<u32>,
    ports: [P; 2],
) -> anyhow::Result<()> {
    let load = rate.map_or_else(|| at_once(connections), |rate| evenly(connections, rate));
    let asked = rate.map_or_else(|| "at once".into(), |rate| format!("at {rate} a second"));
    let outcome = open_all(ports, &load)?;
    let each = |of_all: f64| of_all / f64::from(connections);
    writeln!(
        std::io::stdout(),
        "{port}: {connections} connections, asked for {asked}: {:.0} opened/s, {:.1} bytes each an \
         end, {:.2} µs of a processor each for both ends, {} SYN sent again, {} failed",
        f64::from(connections) / outcome.took.as_secs_f64(),
        each(outcome.resident_bytes as f64 / 2.0),
        each(outcome.processor_time.as_secs_f64() * 1e6),
        outcome.resent_syn(),
        outcome.client.failed.total()
    )?;
    Ok(())
}

//! Connections of our own through one kind of packet port, at both ends.

use std::io::Write as _;
use std::time::Duration;

use anyhow::ensure;
use fp_engine::frame_io::FrameIo;
use fp_engine::os::clock;
use fp_model::{Behaviour, ConnectionsLoad, Family};
use fp_net::checksum::Peer;
use fp_net::packet::Link;
use fp_net::swarm::{Counters, Role, Shard};

use super::super::median_of;
use super::ends::{Outcome, resident_bytes, run_until};
use super::{
    BULK_LASTS, FEW, SPEAKING, SPEAKING_LASTS, SPOKEN_BYTES, at_once, evenly, load, setting,
};

const OPENED: u32 = 1_000_000;
/// Holds 32 Gbit/s for a millisecond.
const WINDOW_BYTES: u32 = 4_000_000;

/// Of one end, for connections that are open and idle.
pub(super) fn memory() -> anyhow::Result<()> {
    let load = at_once(OPENED);
    let planned = Shard::bytes_needed(&load, Family::Ipv4, Role::Client)?;
    let before = resident_bytes()?;
    let shard = Shard::new(setting(Role::Client, load, Link::default(), Peer::Network))?;
    let taken = resident_bytes()?.saturating_sub(before);
    drop(shard);
    let each = |bytes: u64| bytes as f64 / f64::from(OPENED);
    let mut out = std::io::stdout();
    writeln!(
        out,
        "a connection takes {:.1} bytes an end, {:.1} planned",
        each(taken),
        each(planned)
    )?;
    Ok(())
}

pub(super) fn measure<P: FrameIo + Send>(
    what: &str,
    open: impl Fn() -> anyhow::Result<[P; 2]>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if let Err(error) = open() {
        return Ok(writeln!(out, "{what}: not measured: {error:#}")?);
    }
    let opened = median_of(|| opened_per_second(open()?))?;
    writeln!(out, "{what}: {opened:.0} connections/s opened, {OPENED} asked for at once")?;
    let slowest = (opened / 4.0) as u32;
    match steadily_opened_per_second(&open, slowest)? {
        Some(rate) => writeln!(out, "{what}: {rate} connections/s, asked for evenly")?,
        None => writeln!(out, "{what}: less than {slowest} connections/s, asked for evenly")?,
    }
    let spoken = median_of(|| transactions_per_second(open()?))?;
    writeln!(
        out,
        "{what}: {spoken:.0} transactions/s of {SPOKEN_BYTES} bytes each way, on {SPEAKING}"
    )?;
    for connections in FEW {
        let gbps = median_of(|| bulk_gbps(open()?, connections))?;
        writeln!(out, "{what}: {gbps:.2} Gbit/s of payload, on {connections}")?;
    }
    Ok(())
}

/// From the first question for a connection to the last answer.
fn opened_per_second<P: FrameIo + Send>(ports: [P; 2]) -> anyhow::Result<f64> {
    let outcome = open_all(ports, &at_once(OPENED))?;
    let failed = outcome.client.failed.total();
    if failed > 0 {
        writeln!(std::io::stdout(), "  {failed} were never answered, and others took their place")?;
    }
    if outcome.resent_syn() > 0 {
        let resent = outcome.resent_syn();
        writeln!(std::io::stdout(), "  {resent} were asked for or answered more than once")?;
    }
    Ok(f64::from(OPENED) / outcome.took.as_secs_f64())
}

pub(super) fn open_all<P: FrameIo + Send>(
    ports: [P; 2],
    load: &ConnectionsLoad,
) -> anyhow::Result<Outcome> {
    let wanted = load.connections_peak();
    run_until(ports, load, |counters: &Counters| counters.active == wanted)
}

/// The highest rate at which all are open when they are due and hardly any is asked for twice, of
/// rates each of which is a sixth above the one before.
pub(super) fn steadily_opened_per_second<P: FrameIo + Send>(
    open: impl Fn() -> anyhow::Result<[P; 2]>,
    slowest: u32,
) -> anyhow::Result<Option<u32>> {
    let (mut highest, mut rate) = (None, slowest);
    // A second try, because somebody else may have had the processor in the first one.
    while is_kept_up_with(open()?, rate)? || is_kept_up_with(open()?, rate)? {
        highest = Some(rate);
        rate += rate / 6;
    }
    Ok(highest)
}

/// Who opens a fortieth less than is asked for is as late as that at the end.
fn is_kept_up_with<P: FrameIo + Send>(ports: [P; 2], rate: u32) -> anyhow::Result<bool> {
    const LASTS_SECONDS: u32 = 2;
    const LATE_MAX: Duration = Duration::from_millis(50);
    let connections = rate * LASTS_SECONDS;
    let outcome = open_all(ports, &evenly(connections, rate))?;
    let is_in_time = outcome.took <= Duration::from_secs(LASTS_SECONDS.into()) + LATE_MAX;
    Ok(is_in_time && outcome.resent_syn() <= u64::from(connections / 1000))
}

fn transactions_per_second<P: FrameIo + Send>(ports: [P; 2]) -> anyhow::Result<f64> {
    let behaviour = Behaviour::Transaction {
        request_bytes: SPOKEN_BYTES,
        response_bytes: SPOKEN_BYTES,
        think: Duration::ZERO,
    };
    let load = load(SPEAKING, Duration::ZERO, behaviour);
    let outcome = run_for(SPEAKING_LASTS, ports, &load)?;
    ensure!(outcome.client.corrupt_payload_bytes == 0, "{:?}", outcome.client);
    Ok(outcome.client.transactions as f64 / outcome.took.as_secs_f64())
}

/// Payload that arrived, from the first question for a connection on.
fn bulk_gbps<P: FrameIo + Send>(ports: [P; 2], connections: u32) -> anyhow::Result<f64> {
    let load = ConnectionsLoad {
        window_bytes: WINDOW_BYTES,
        mss_bytes: 1460,
        ..load(connections, Duration::ZERO, Behaviour::Upload { rate: None })
    };
    let Outcome { client, server, took, .. } = run_for(BULK_LASTS, ports, &load)?;
    ensure!(server.corrupt_payload_bytes == 0, "{server:?}");
    let resent = client.retransmissions.timeout + client.retransmissions.fast;
    if resent > 0 {
        writeln!(std::io::stdout(), "  {resent} segments were sent again")?;
    }
    Ok(server.received_bytes as f64 * 8.0 / took.as_secs_f64() / 1e9)
}

fn run_for<P: FrameIo + Send>(
    lasts: Duration,
    ports: [P; 2],
    load: &ConnectionsLoad,
) -> anyhow::Result<Outcome> {
    let over = clock::now() + lasts;
    run_until(ports, load, |_| clock::now() >= over)
}

impl Outcome {
    pub(super) const fn resent_syn(&self) -> u64 {
        self.client.retransmissions.syn + self.server.retransmissions.syn
    }
}

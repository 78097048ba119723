//! How fast connections of our own are opened and spoken to, through each kind of packet port, one
//! core at each end, and what memory they take.

use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use fp_engine::frame_io::{FrameIo, MemoryPort};
use fp_engine::lab::Grounds;
use fp_engine::os::clock;
use fp_engine::swarm::Driver;
use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
    ConnectionsStage, Dscp, Family, FramePorts, PortRange,
};
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress, VlanTags};
use fp_net::swarm::{Counters, Role, Setting, Shard};

use super::median_of;
use super::pair::{CLIENTS, Pair, SERVERS, packet_port, pin, xdp_port};

const OPENED: u32 = 1_000_000;
/// At the lowest rate; each next one is a sixth higher.
const SLOWEST: u32 = 60_000;
const OPENED_EVENLY: u32 = 500_000;
/// What speaks without a pause.
const SPEAKING: u32 = 10_000;
const SPEAKING_LASTS: Duration = Duration::from_secs(2);
/// Few connections with a window each that holds 32 Gbit/s for a millisecond.
const FEW: [u32; 2] = [1, 4];
const WINDOW_BYTES: u32 = 4_000_000;
const BULK_LASTS: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run() -> anyhow::Result<()> {
    Grounds::prepare()?;
    memory()?;
    let pair = Pair::lay().context("cannot lay a veth pair")?;
    measure("in memory", || Ok(MemoryPort::pair()))?;
    measure("packet sockets", || Ok([packet_port(&pair.near)?, packet_port(&pair.far)?]))?;
    measure("AF_XDP", || Ok([xdp_port(&pair.near)?, xdp_port(&pair.far)?]))
}

/// Of one end, for connections that are open and idle.
fn memory() -> anyhow::Result<()> {
    let load = load(OPENED, Duration::ZERO, Behaviour::Hold);
    let planned = Shard::bytes_needed(&load, Family::Ipv4, Role::Client)?;
    let before = resident_bytes()?;
    let shard = Shard::new(setting(Role::Client, load, Link::default()))?;
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

fn resident_bytes() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    let kib: u64 = line.split_whitespace().next().context("no number")?.parse()?;
    Ok(kib * 1024)
}

fn measure<P: FrameIo + Send>(
    what: &str,
    open: impl Fn() -> anyhow::Result<[P; 2]>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if let Err(error) = open() {
        return Ok(writeln!(out, "{what}: not measured: {error:#}")?);
    }
    let opened = median_of(|| opened_per_second(open()?))?;
    writeln!(out, "{what}: {opened:.0} connections/s opened, {OPENED} asked for at once")?;
    match steadily_opened_per_second(&open)? {
        Some(rate) => writeln!(out, "{what}: {rate} connections/s, asked for evenly")?,
        None => writeln!(out, "{what}: less than {SLOWEST} connections/s, asked for evenly")?,
    }
    let spoken = median_of(|| transactions_per_second(open()?))?;
    writeln!(out, "{what}: {spoken:.0} transactions/s of 100 bytes each way, on {SPEAKING}")?;
    for connections in FEW {
        let gbps = median_of(|| bulk_gbps(open()?, connections))?;
        writeln!(out, "{what}: {gbps:.2} Gbit/s of payload, on {connections}")?;
    }
    Ok(())
}

/// From the first question for a connection to the last answer.
fn opened_per_second<P: FrameIo + Send>(ports: [P; 2]) -> anyhow::Result<f64> {
    let is_open = |counters: &Counters| counters.active == OPENED;
    let began = clock::now();
    let (client, server) =
        run_until(ports, &load(OPENED, Duration::ZERO, Behaviour::Hold), is_open)?;
    let took = clock::now().since(began);
    let failed = client.failed.total();
    if failed > 0 {
        writeln!(std::io::stdout(), "  {failed} were never answered, and others took their place")?;
    }
    let resent = client.retransmissions.syn + server.retransmissions.syn;
    if resent > 0 {
        writeln!(std::io::stdout(), "  {resent} were asked for or answered more than once")?;
    }
    Ok(f64::from(OPENED) / took.as_secs_f64())
}

/// The highest rate at which all are open when they are due and hardly any is asked for twice.
fn steadily_opened_per_second<P: FrameIo + Send>(
    open: impl Fn() -> anyhow::Result<[P; 2]>,
) -> anyhow::Result<Option<u32>> {
    let (mut highest, mut rate) = (None, SLOWEST);
    while is_kept_up_with(open()?, rate)? {
        highest = Some(rate);
        rate += rate / 6;
    }
    Ok(highest)
}

fn is_kept_up_with<P: FrameIo + Send>(ports: [P; 2], rate: u32) -> anyhow::Result<bool> {
    /// The memory of both ends is taken meanwhile.
    const LATE_MAX: Duration = Duration::from_millis(200);
    let is_open = |counters: &Counters| counters.active == OPENED_EVENLY;
    let lasts = Duration::from_secs_f64(f64::from(OPENED_EVENLY) / f64::from(rate));
    let load = load(OPENED_EVENLY, lasts, Behaviour::Hold);
    let began = clock::now();
    let (client, server) = run_until(ports, &load, is_open)?;
    let resent = client.retransmissions.syn + server.retransmissions.syn;
    let is_in_time = clock::now().since(began) <= lasts + LATE_MAX;
    Ok(is_in_time && resent <= u64::from(OPENED_EVENLY / 1000))
}

fn transactions_per_second<P: FrameIo + Send>(ports: [P; 2]) -> anyhow::Result<f64> {
    let behaviour =
        Behaviour::Transaction { request_bytes: 100, response_bytes: 100, think: Duration::ZERO };
    let over = clock::now() + SPEAKING_LASTS;
    let (client, _) =
        run_until(ports, &load(SPEAKING, Duration::ZERO, behaviour), |_| clock::now() >= over)?;
    ensure!(client.corrupt_payload_bytes == 0, "{client:?}");
    Ok(client.transactions as f64 / SPEAKING_LASTS.as_secs_f64())
}

/// Payload that arrived, from the first question for a connection on.
fn bulk_gbps<P: FrameIo + Send>(ports: [P; 2], connections: u32) -> anyhow::Result<f64> {
    let load = ConnectionsLoad {
        window_bytes: WINDOW_BYTES,
        mss_bytes: 1460,
        ..load(connections, Duration::ZERO, Behaviour::Upload { rate: None })
    };
    let over = clock::now() + BULK_LASTS;
    let (client, server) = run_until(ports, &load, |_| clock::now() >= over)?;
    ensure!(server.corrupt_payload_bytes == 0, "{server:?}");
    let resent = client.retransmissions.timeout + client.retransmissions.fast;
    if resent > 0 {
        writeln!(std::io::stdout(), "  {resent} segments were sent again")?;
    }
    Ok(server.received_bytes as f64 * 8.0 / BULK_LASTS.as_secs_f64() / 1e9)
}

/// What both ends have counted when the client's end has counted enough.
fn run_until<P: FrameIo + Send>(
    [near, far]: [P; 2],
    load: &ConnectionsLoad,
    is_enough: impl Fn(&Counters) -> bool,
) -> anyhow::Result<(Counters, Counters)> {
    let (near_mac, far_mac) = (MacAddress(near.mac()), MacAddress(far.mac()));
    let link = |source, destination| Link { source, destination, tags: VlanTags::NONE };
    let shard = |role, link| Shard::new(setting(role, load.clone(), link));
    let mut client = Driver::new(near, shard(Role::Client, link(near_mac, far_mac))?);
    let mut server = Driver::new(far, shard(Role::Server, link(far_mac, near_mac))?);
    client.begin_at(clock::now());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| -> anyhow::Result<Counters> {
            pin(1)?;
            while !is_over.load(Ordering::Relaxed) {
                server.step(clock::now() + Duration::from_millis(10))?;
            }
            Ok(*server.shard().counters())
        });
        let client = drive(&mut client, is_enough);
        is_over.store(true, Ordering::Relaxed);
        let server = serving.join().map_err(|_| anyhow!("the server's end panicked"))??;
        Ok((client?, server))
    })
}

fn drive<P: FrameIo>(
    client: &mut Driver<P>,
    is_enough: impl Fn(&Counters) -> bool,
) -> anyhow::Result<Counters> {
    pin(0)?;
    let deadline = clock::now() + PATIENCE;
    while !is_enough(client.shard().counters()) {
        ensure!(clock::now() < deadline, "not enough in time: {:?}", client.shard().counters());
        client.step(clock::now() + Duration::from_millis(10))?;
    }
    Ok(*client.shard().counters())
}

fn setting(role: Role, load: ConnectionsLoad, link: Link) -> Setting {
    Setting {
        role,
        load,
        family: Family::Ipv4,
        dscp: Dscp::BEST_EFFORT,
        link,
        peer: Peer::Network,
        seed: 1,
        secret: 2,
        start: clock::now(),
    }
}

/// So many, one after the other within a time.
fn load(connections: u32, lasts: Duration, behaviour: Behaviour) -> ConnectionsLoad {
    let range = |network: [u8; 4], prefix_bits, count| AddressRange {
        network: network.into(),
        prefix_bits,
        first: 1,
        count,
    };
    ConnectionsLoad {
        stages: vec![ConnectionsStage { lasts, connections }],
        setup_rate_max: None,
        mix: vec![ConnectionsShare { weight: 1, behaviour }],
        lifetime: None,
        close: Close::Fin,
        addresses: ConnectionAddresses {
            clients: range(CLIENTS, 17, 64),
            servers: range(SERVERS, 16, 8),
            client_ports: PortRange { first: 1024, last: 65_535 },
            server_ports: PortRange { first: 80, last: 80 },
            translated: false,
        },
        mss_bytes: 1448,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

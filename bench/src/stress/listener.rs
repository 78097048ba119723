//! A client of our own before the kernel's listener.

use std::fs;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::Context as _;
use fp_engine::frame_io::FrameIo;
use fp_engine::os::NetNs;
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use fp_engine::swarm::Driver;
use fp_model::ConnectionsLoad;
use fp_net::checksum::Peer;
use fp_net::swarm::{Counters, Role, Shard};

use super::super::pair::{CLIENTS, Pair, packet_port, xdp_port};
use super::super::{RUNS, median_of};
use super::ends::{drive, link};
use super::server::{Answer, ServerProcess, raise_descriptor_limit};
use super::{CLIENT_ADDRESSES, at_once, evenly, lay_pair, setting};

const CONNECTIONS: u32 = 100_000;
const RATES: [u32; 2] = [100_000, 200_000];

pub(super) fn run() -> anyhow::Result<()> {
    measure("packet sockets to a kernel's listener", packet_port)?;
    measure("AF_XDP to a kernel's listener", xdp_port)
}

fn measure<P: FrameIo>(
    what: &str,
    open: impl Fn(&NetNs) -> anyhow::Result<P>,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if let Err(error) = open(&lay_pair()?.near) {
        return Ok(writeln!(out, "{what}: not measured: {error:#}")?);
    }
    for rate in RATES {
        let errors = report(what, || open_all(&open, &evenly(CONNECTIONS, rate)))?;
        writeln!(out, "  {CONNECTIONS} asked for at {rate} a second; {errors}")?;
    }
    let errors = report(what, || open_all(&open, &at_once(CONNECTIONS)))?;
    Ok(writeln!(out, "  {CONNECTIONS} asked for at once; {errors}")?)
}

/// Gives what went wrong in all runs together.
fn report(what: &str, mut run: impl FnMut() -> anyhow::Result<Opened>) -> anyhow::Result<String> {
    let (mut failed, mut resent, mut unknown) = (0, 0, 0);
    let per_second = median_of(|| {
        let Opened { client, took, known } = run()?;
        failed += client.failed.total();
        resent += client.retransmissions.syn;
        unknown += CONNECTIONS.saturating_sub(known);
        Ok(f64::from(CONNECTIONS) / took.as_secs_f64())
    })?;
    writeln!(std::io::stdout(), "{what}: {per_second:.0} connections/s opened")?;
    Ok(format!(
        "{failed} failed, {resent} SYN sent again, {unknown} unknown to the kernel, in {RUNS} runs"
    ))
}

struct Opened {
    client: Counters,
    took: Duration,
    /// To the kernel.
    known: u32,
}

fn open_all<P: FrameIo>(
    open: impl Fn(&NetNs) -> anyhow::Result<P>,
    load: &ConnectionsLoad,
) -> anyhow::Result<Opened> {
    let pair = lay_pair()?;
    let _servers = pair.serve_by_kernel()?;
    let port = open(&pair.near)?;
    let (near, far) = (port.mac(), pair.far_mac()?);
    pair.name_clients(near)?;
    let setting = setting(Role::Client, load.clone(), link(near, far), Peer::LocalKernel);
    let mut driver = Driver::new(port, Shard::new(setting)?);
    let began = clock::now();
    let client = drive(&mut driver, load, |counters| counters.active == CONNECTIONS)?;
    let took = clock::now().since(began);
    // One of the sockets listens.
    let known = pair.sockets_of_far_end()? - 1;
    driver.abort(clock::now() + Duration::from_secs(5))?;
    Ok(Opened { client, took, known })
}

impl Pair {
    /// By as many processes as their file descriptors ask for, of one listener.
    fn serve_by_kernel(&self) -> anyhow::Result<Vec<ServerProcess>> {
        let listener = self.far_listener()?;
        let processes = (CONNECTIONS as usize).div_ceil(raise_descriptor_limit()?);
        (0..processes).map(|_| ServerProcess::start(listener.try_clone()?, Answer::Echo)).collect()
    }

    fn far_mac(&self) -> anyhow::Result<[u8; 6]> {
        self.far.enter()?;
        Ok(Netlink::open()?.interface("eth0")?.mac)
    }

    /// Has the far end send what is for the clients of a load to the port.
    fn name_clients(&self, port: [u8; 6]) -> anyhow::Result<()> {
        self.far.enter()?;
        let links = Netlink::open()?;
        let index = links.interface("eth0")?.index;
        let network = u32::from_be_bytes(CLIENTS);
        // The last address of the network, so that its others are on the link.
        links.add_address(index, Ipv4Addr::from_bits(network + 0x7ffe).into(), 17)?;
        for host in 1..=CLIENT_ADDRESSES {
            links.add_neighbour(index, Ipv4Addr::from_bits(network + host).into(), port)?;
        }
        Ok(())
    }

    /// Those of TCP.
    fn sockets_of_far_end(&self) -> anyhow::Result<u32> {
        self.far.enter()?;
        let text = fs::read_to_string("/proc/thread-self/net/sockstat")?;
        let line = text.lines().find_map(|line| line.strip_prefix("TCP: inuse "));
        let sockets = line.and_then(|line| line.split(' ').next()).context("no sockets of TCP")?;
        Ok(sockets.parse()?)
    }
}

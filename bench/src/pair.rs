//! A plain pair of network namespaces to measure across, and iperf3 in one of them.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use fp_engine::frame_io::{PacketPort, Prefix, Share, XdpPort};
use fp_engine::os::NetNs;
use fp_engine::os::ethtool::switch_offloads_off;
use fp_engine::os::netlink::{Mac, Netlink, VethEnd};
use fp_model::Rate;
use rustix::thread::{CpuSet, sched_setaffinity};

const NEAR: Mac = [2, 0, 0, 0, 0, 1];
const FAR: Mac = [2, 0, 0, 0, 0, 2];
/// The block that RFC 2544 reserves for tests of networks.
pub(super) const NEAR_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 1));
pub(super) const FAR_IP: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 18, 0, 2));

/// Of the blocks that RFC 2544 reserves for tests of networks; the hosts' own are others.
pub(super) const CLIENTS: [u8; 4] = [198, 18, 128, 0];
pub(super) const SERVERS: [u8; 4] = [198, 19, 0, 0];

/// Two network namespaces and the cable between them; the kernel's default offloads are on.
pub(super) struct Pair {
    pub(super) near: NetNs,
    pub(super) far: NetNs,
}

impl Pair {
    pub(super) fn lay() -> anyhow::Result<Self> {
        let near = NetNs::fresh()?;
        let near_links = Netlink::open()?;
        let far = NetNs::fresh()?;
        let far_links = Netlink::open()?;
        let end = |mac| VethEnd { name: "eth0", mac, mtu: 1500 };
        far_links.add_veth(&end(FAR), &end(NEAR), &near)?;
        let ends = [(&near_links, NEAR_IP, FAR_IP, FAR), (&far_links, FAR_IP, NEAR_IP, NEAR)];
        for (links, address, peer, peer_mac) in ends {
            links.set_up(links.interface("lo")?.index)?;
            let index = links.interface("eth0")?.index;
            links.add_address(index, address, 24)?;
            links.set_up(index)?;
            links.add_neighbour(index, peer, peer_mac)?;
        }
        Ok(Self { near, far })
    }

    /// As most people call it: copying at both ends.
    pub(super) fn iperf3(&self, connections: u32) -> anyhow::Result<Rate> {
        self.far.enter()?;
        let _server = Iperf3Server::start()?;
        self.iperf3_client(connections)
    }

    /// Payload received per second, as iperf3 reports it.
    pub(super) fn iperf3_client(&self, connections: u32) -> anyhow::Result<Rate> {
        self.near.enter()?;
        let client = Command::new("iperf3")
            .args(["--client", &FAR_IP.to_string(), "--port", Iperf3Server::PORT, "--json"])
            .args(["--time", "2", "--parallel", &connections.to_string()])
            .args(["--congestion", "cubic"])
            .output()
            .context("cannot run iperf3: install it")?;
        let report: serde_json::Value = serde_json::from_slice(&client.stdout)?;
        let bps = report["end"]["sum_received"]["bits_per_second"].as_f64();
        bps.map(|bps| Rate::bps(bps as u64)).context("iperf3 reports no rate")
    }

    /// Has the kernel cut everything into frames before it sends it over the cable, as it would
    /// leave a real interface, and begin with single segments.
    pub(super) fn cut_into_frames(&self) -> anyhow::Result<()> {
        self.switch_offloads_off()?;
        for end in [&self.near, &self.far] {
            end.enter()?;
            let links = Netlink::open()?;
            links.send_single_segments(links.interface("eth0")?.index)?;
        }
        Ok(())
    }

    /// Has the kernel make checksums itself, and neither send nor receive frames longer than the
    /// interface's.
    pub(super) fn switch_offloads_off(&self) -> anyhow::Result<()> {
        for end in [&self.near, &self.far] {
            end.enter()?;
            switch_offloads_off("eth0")?;
        }
        Ok(())
    }
}

/// Ends with this value.
pub(super) struct Iperf3Server(Child);

impl Iperf3Server {
    pub(super) const PORT: &str = "5201";

    pub(super) fn start() -> anyhow::Result<Self> {
        let mut server = Command::new("iperf3")
            .args(["--server", "--one-off", "--forceflush", "--port", Self::PORT])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot run iperf3: install it")?;
        let output = server.stdout.take().context("iperf3 has no output")?;
        let server = Self(server);
        let mut lines = BufReader::new(output).lines();
        while let Some(line) = lines.next().transpose()? {
            if line.contains("listening") {
                // The rest of what it says is short enough for the pipe to hold.
                return Ok(server);
            }
        }
        anyhow::bail!("iperf3 ended before it listened")
    }
}

impl Drop for Iperf3Server {
    fn drop(&mut self) {
        // It has ended already unless the client failed, which is reported.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// For the frames to [`CLIENTS`] and [`SERVERS`], as the one below.
pub(super) fn packet_port(end: &NetNs) -> anyhow::Result<PacketPort> {
    end.enter()?;
    let interface = Netlink::open()?.interface("eth0")?;
    Ok(PacketPort::open(&interface, &prefixes()?, Share::ALL)?)
}

pub(super) fn xdp_port(end: &NetNs) -> anyhow::Result<XdpPort> {
    end.enter()?;
    let interface = Netlink::open()?.interface("eth0")?;
    XdpPort::open_all(&interface, &prefixes()?)?.pop().context("an interface without queue")
}

fn prefixes() -> anyhow::Result<Vec<Prefix>> {
    [(CLIENTS, 17), (SERVERS, 16)]
        .map(|(address, len)| Prefix::new(address.into(), len).context("no prefix"))
        .into_iter()
        .collect()
}

/// Has the current thread stay on one processor.
pub(super) fn pin(processor: usize) -> anyhow::Result<()> {
    let mut only = CpuSet::new();
    only.set(processor);
    sched_setaffinity(None, &only).context("this takes two processors")
}

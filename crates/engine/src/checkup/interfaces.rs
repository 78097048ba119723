//! The interfaces by which a far end may be reached, and what they do to frames.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use fp_model::Rate;

use crate::os::{ethtool, interfaces as os_interfaces, netlink::Netlink};

/// An interface that is up and has an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceFacts {
    pub name: String,
    pub mtu_bytes: u32,
    /// `None` where it has none, as loopback and tunnels, or does not say.
    pub speed: Option<Rate>,
    /// Empty where it does not say.
    pub driver: String,
    /// Those that are on and change which frames are on the wire, or when they are seen.
    pub offloads: Vec<String>,
}

/// By the names that ethtool(8) shows.
const OFFLOADS: [&str; 10] = [
    "tx-generic-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-udp-gro-forwarding",
    "rx-lro",
    "tx-gso-list",
];

/// Those of this network namespace.
///
/// # Errors
/// Where the kernel does not list them.
pub fn interfaces() -> io::Result<Vec<InterfaceFacts>> {
    let names: BTreeSet<String> =
        os_interfaces::addresses()?.into_iter().map(|held| held.interface).collect();
    let netlink = Netlink::open()?;
    names.into_iter().map(|name| facts(&netlink, name)).collect()
}

fn facts(netlink: &Netlink, name: String) -> io::Result<InterfaceFacts> {
    let mtu_bytes = netlink.interface(&name)?.mtu_bytes;
    // What is not said is not known: interfaces without a cable or a driver answer with an error.
    let speed = fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok();
    let speed = speed.and_then(|text| text.trim().parse().ok()).filter(|mbps| *mbps > 0);
    let mut offloads = ethtool::features_in_use(&name).unwrap_or_default();
    offloads.retain(|offload| OFFLOADS.contains(&offload.as_str()));
    Ok(InterfaceFacts {
        mtu_bytes,
        speed: speed.map(Rate::mbps),
        driver: ethtool::driver(&name).unwrap_or_default(),
        offloads,
        name,
    })
}

//! The namespaces of an emulated network and the cables between them.
//!
//! ```text
//!  namespace near          namespace in the middle           namespace far
//!  ┌────────────┐          ┌────────────────────────┐          ┌────────────┐
//!  │       eth0 ├──────────┤ near   forwarder   far ├──────────┤ eth0       │
//!  └────────────┘          └────────────────────────┘          └────────────┘
//! ```
//! A path may have a gateway in the near end's place, with the near end behind it:
//! [`super::gateway`]. Nothing has a name on the host: all of it ends with the descriptors that
//! hold it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use fp_model::Family;
use fp_net::path::GatewaySpec;

use super::LabError;
use super::gateway::Gateway;
use super::packet::ETHERNET_HEADER_BYTES;
use super::too_big::Router;
use crate::os::ethtool::switch_offloads_off;
use crate::os::netlink::{Interface, Mac, Netlink, VethEnd};
use crate::os::{NetNs, clock};

/// The network namespace of one end of the path.
#[derive(Clone, Debug)]
pub struct Namespace {
    network: Arc<NetNs>,
    name: &'static str,
    families: Families,
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
}

impl Namespace {
    /// Moves the current thread, and what it will spawn, to this end of the path.
    pub fn enter(&self) -> io::Result<()> {
        self.network.enter()
    }

    /// `near` or `far`.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn network(&self) -> &NetNs {
        &self.network
    }

    pub fn address(&self, family: Family) -> IpAddr {
        match family {
            Family::Ipv4 => self.ipv4.into(),
            Family::Ipv6 => self.ipv6.into(),
        }
    }

    /// The lines of a hosts file by which both ends find each other.
    pub(super) fn hosts(&self) -> String {
        let ends = [("near", NEAR_IPV4, NEAR_IPV6), ("far", FAR_IPV4, FAR_IPV6)]
            .map(|end| if end.0 == self.name { (self.name, self.ipv4, self.ipv6) } else { end });
        let lines = ends.into_iter().flat_map(|(name, ipv4, ipv6)| {
            let has = |family| self.families.contain(family);
            let ipv4 = has(Family::Ipv4).then(|| format!("{ipv4} {name}\n"));
            let ipv6 = has(Family::Ipv6).then(|| format!("{ipv6} {name}\n"));
            [ipv4, ipv6].into_iter().flatten()
        });
        lines.collect()
    }
}

/// Which address families the ends of a path have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Families {
    #[default]
    Both,
    Only(Family),
}

impl Families {
    /// What is said of IPv4 and of IPv6, as far as the choice goes.
    pub(super) fn with<T>(self, of: [T; 2]) -> impl Iterator<Item = (Family, T)> {
        let families = [Family::Ipv4, Family::Ipv6].into_iter().zip(of);
        families.filter(move |(family, _)| self.contain(*family))
    }

    pub const fn contain(self, family: Family) -> bool {
        match self {
            Self::Both => true,
            Self::Only(only) => matches!(
                (only, family),
                (Family::Ipv4, Family::Ipv4) | (Family::Ipv6, Family::Ipv6)
            ),
        }
    }
}

/// Two ends and what lies between them, for the thread that made it.
#[derive(Debug)]
pub(super) struct Wiring {
    pub(super) near: Cable,
    pub(super) far: Cable,
}

/// From an end of the path to the middle.
#[derive(Debug)]
pub(super) struct Cable {
    pub(super) end: Namespace,
    pub(super) end_links: Netlink,
    middle_links: Arc<Netlink>,
    /// The interface in the middle.
    pub(super) port: Interface,
    pub(super) mtu: u32,
    /// What the end of the cable is, where it is not the end of the path.
    pub(super) gateway: Option<Gateway>,
}

/// The block that RFC 2544 reserves for tests of networks.
const NEAR_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const FAR_IPV4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// The block that RFC 5180 reserves for the same.
const NEAR_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1);
const FAR_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2);
pub(super) const ROUTER: Router = Router {
    ipv4: Ipv4Addr::new(198, 18, 0, 254),
    ipv6: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0xfe),
};

/// Locally administered; the last byte tells the end of the path from the port in the middle.
const NEAR_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x01];
const FAR_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x02];
const NEAR_PORT_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x11];
const FAR_PORT_MAC: Mac = [0x02, 0x66, 0x70, 0, 0, 0x12];

pub(super) const END_INTERFACE: &str = "eth0";

impl Wiring {
    /// Makes fresh namespaces, wires them and leaves the current thread in the middle.
    pub(super) fn lay(
        families: Families,
        mtu: u32,
        gateway: Option<GatewaySpec>,
    ) -> Result<Self, LabError> {
        let families = families.on_this_host()?;
        let near = Namespace::fresh("near", families, NEAR_IPV4, NEAR_IPV6)?;
        let near_links = Netlink::open().map_err(LabError::wiring("open netlink near"))?;
        let far = Namespace::fresh("far", families, FAR_IPV4, FAR_IPV6)?;
        let far_links = Netlink::open().map_err(LabError::wiring("open netlink far"))?;
        let middle = NetNs::fresh().map_err(LabError::wiring("make a network namespace"))?;
        let links = Netlink::open()
            .map(Arc::new)
            .map_err(LabError::wiring("open netlink in the middle"))?;

        let near_macs = Macs { end: NEAR_MAC, port: NEAR_PORT_MAC };
        let far_macs = Macs { end: FAR_MAC, port: FAR_PORT_MAC };
        let mut near = Cable::lay(near, near_links, &links, near_macs, families, mtu)
            .map_err(LabError::wiring("lay the cable to the near end"))?;
        let far = Cable::lay(far, far_links, &links, far_macs, families, mtu)
            .map_err(LabError::wiring("lay the cable to the far end"))?;
        near.configure(families, &far.end, FAR_MAC)
            .map_err(LabError::wiring("configure the near end"))?;
        far.configure(families, &near.end, NEAR_MAC)
            .map_err(LabError::wiring("configure the far end"))?;
        near.gateway =
            gateway.map(|spec| Gateway::lay(spec, &near, &far.end, families)).transpose()?;
        middle.enter().map_err(LabError::wiring("go back to the middle"))?;
        Ok(Self { near, far })
    }
}

impl Families {
    /// What is left of the choice on a host that was booted without IPv6.
    fn on_this_host(self) -> Result<Self, LabError> {
        let tried = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0));
        let lacks_ipv6 = tried.is_err_and(|error| error.raw_os_error() == Some(libc::EAFNOSUPPORT));
        match self {
            Self::Both if lacks_ipv6 => Ok(Self::Only(Family::Ipv4)),
            Self::Only(Family::Ipv6) if lacks_ipv6 => Err(LabError::NoIpv6),
            Self::Both | Self::Only(_) => Ok(self),
        }
    }
}

impl Namespace {
    /// A new namespace, which the current thread is in afterwards.
    pub(super) fn fresh(
        name: &'static str,
        families: Families,
        ipv4: Ipv4Addr,
        ipv6: Ipv6Addr,
    ) -> Result<Self, LabError> {
        let network = NetNs::fresh().map_err(LabError::wiring("make a network namespace"))?;
        Ok(Self { network: Arc::new(network), name, families, ipv4, ipv6 })
    }
}

#[derive(Clone, Copy)]
struct Macs {
    end: Mac,
    port: Mac,
}

impl Cable {
    fn lay(
        end: Namespace,
        end_links: Netlink,
        middle_links: &Arc<Netlink>,
        macs: Macs,
        families: Families,
        mtu: u32,
    ) -> io::Result<Self> {
        let here = VethEnd { name: end.name, mac: macs.port, mtu };
        let there = VethEnd { name: END_INTERFACE, mac: macs.end, mtu };
        middle_links.add_veth(&here, &there, &end.network)?;
        let port = middle_links.interface(end.name)?;
        if families.contain(Family::Ipv6) {
            middle_links.forgo_link_local_address(port.index)?;
        }
        middle_links.set_up(port.index)?;
        Ok(Self {
            end,
            end_links,
            middle_links: Arc::clone(middle_links),
            port,
            mtu,
            gateway: None,
        })
    }

    /// Brings the end of the cable up; the current thread is there afterwards.
    fn configure(&self, families: Families, other: &Namespace, other_mac: Mac) -> io::Result<()> {
        self.end.enter()?;
        switch_offloads_off(END_INTERFACE)?;
        let links = &self.end_links;
        links.set_up(links.interface("lo")?.index)?;
        let eth0 = links.interface(END_INTERFACE)?.index;
        links.send_single_segments(eth0)?;
        if families.contain(Family::Ipv6) {
            links.forgo_link_local_address(eth0)?;
        }
        links.set_up(eth0)?;
        for (family, prefix_len) in [(Family::Ipv4, 24), (Family::Ipv6, 64)] {
            if families.contain(family) {
                links.add_address(eth0, self.end.address(family), prefix_len)?;
                links.add_neighbour(eth0, other.address(family), other_mac)?;
                links.add_neighbour(eth0, ROUTER.address(family), other_mac)?;
            }
        }
        wait_until_running(links)
    }

    /// Without FCS.
    pub(super) const fn max_frame_bytes(&self) -> usize {
        const VLAN_TAG_BYTES: usize = 4;
        ETHERNET_HEADER_BYTES + VLAN_TAG_BYTES + self.mtu as usize
    }

    /// Frames that the kernel has dropped on this cable, in the direction of the middle and back.
    pub(super) fn dropped(&self) -> io::Result<CableDrops> {
        let behind = match &self.gateway {
            Some(gateway) => gateway.dropped(&self.end_links)?,
            None => CableDrops::default(),
        };
        let to_middle = self.end_links.interface(END_INTERFACE)?.tx_dropped;
        let to_end = self.middle_links.interface(self.end.name)?.tx_dropped;
        Ok(CableDrops { to_middle: to_middle + behind.to_middle, to_end: to_end + behind.to_end })
    }

    /// The end of the path.
    pub(super) fn last(&self) -> &Namespace {
        self.gateway.as_ref().map_or(&self.end, |gateway| &gateway.inside)
    }
}

/// The kernel starts an interface in the background, some milliseconds after it was told to.
pub(super) fn wait_until_running(links: &Netlink) -> io::Result<()> {
    let deadline = clock::now() + Duration::from_secs(2);
    while !links.interface(END_INTERFACE)?.is_running {
        if clock::now() > deadline {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the interface does not start"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CableDrops {
    pub(super) to_middle: u64,
    pub(super) to_end: u64,
}

//! Where frames to an address have to go first, by the kernel's own answer.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use super::clock;
use super::netlink::{Interface, Mac, Neighbour, Netlink, Route};

/// The first step on the way to an address.
#[derive(Clone, Copy, Debug)]
pub struct NextHop {
    /// The interface that frames leave by; its MAC address is their source.
    pub interface: Interface,
    /// The address of this host that the kernel would send from.
    pub source: IpAddr,
    /// Who forwards; `None` where the address itself is on the link.
    pub gateway: Option<IpAddr>,
    /// Of whom is asked for: the gateway's or the address's own.
    pub mac: Mac,
    /// Whether the way is one that all unknown addresses take.
    pub by_default_route: bool,
}

/// Why there is no such step.
#[derive(Debug, thiserror::Error)]
pub enum NoNextHop {
    #[error("the kernel has no way to {to} ({error}): add a route, or see whether the link is up")]
    NoRoute { to: IpAddr, error: io::Error },
    #[error("{0} is an address of this host itself: name the other one's")]
    Ourselves(IpAddr),
    #[error("{0} is no address of one host: name the far end's own")]
    NotUnicast(IpAddr),
    #[error("the way to {0} leaves by an interface without Ethernet frames: use the kernel's TCP")]
    NotEthernet(IpAddr),
    #[error("{neighbour} does not say which MAC address it has: see whether it is there and up")]
    Silent { neighbour: IpAddr },
    #[error("cannot ask the kernel for the way to {to}: {error}")]
    Kernel { to: IpAddr, error: io::Error },
}

impl NextHop {
    /// Of the current thread's network namespace. Where the kernel does not know the neighbour yet
    /// it is made to ask, by an empty datagram to the discard port of `to`; silence takes it three seconds.
    ///
    /// # Errors
    /// Where frames made by hand cannot go there.
    pub fn towards(to: IpAddr) -> Result<Self, NoNextHop> {
        let kernel = |error| NoNextHop::Kernel { to, error };
        let links = Netlink::open().map_err(kernel)?;
        let route = links.route(to).map_err(|error| match error.raw_os_error() {
            Some(
                libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EACCES | libc::EINVAL | libc::ESRCH,
            ) => NoNextHop::NoRoute { to, error },
            _ => NoNextHop::Kernel { to, error },
        })?;
        match route.kind {
            libc::RTN_UNICAST => {}
            libc::RTN_LOCAL => return Err(NoNextHop::Ourselves(to)),
            _ => return Err(NoNextHop::NotUnicast(to)),
        }
        let interface = links.interface_at(route.interface_index).map_err(kernel)?;
        if !interface.is_ethernet {
            return Err(NoNextHop::NotEthernet(to));
        }
        let by_default_route = is_default(to, links.matching_prefix_len(to).map_err(kernel)?);
        let neighbour = route.gateway.unwrap_or(to);
        let mac = mac_of(&links, &route, neighbour, to).map_err(kernel)?;
        Ok(Self {
            interface,
            source: route.source.unwrap_or(unspecified(to)),
            gateway: route.gateway,
            mac: mac.ok_or(NoNextHop::Silent { neighbour })?,
            by_default_route,
        })
    }
}

/// Tunnels that want all traffic put two routes to half of it in the place of one to all, and an IPv6
/// host may have one to all that is global.
const fn is_default(to: IpAddr, prefix_len: u8) -> bool {
    match to {
        IpAddr::V4(_) => prefix_len <= 1,
        IpAddr::V6(_) => prefix_len <= 3,
    }
}

fn mac_of(
    links: &Netlink,
    route: &Route,
    neighbour: IpAddr,
    to: IpAddr,
) -> io::Result<Option<Mac>> {
    /// The kernel asks three times, a second apart, unless it is told otherwise.
    const PATIENCE: Duration = Duration::from_secs(5);
    const PAUSE: Duration = Duration::from_millis(2);
    let known = || links.neighbour(route.interface_index, neighbour);
    if let Some(mac) = known()?.and_then(usable) {
        return Ok(Some(mac));
    }
    provoke(to)?;
    let deadline = clock::now() + PATIENCE;
    while clock::now() < deadline {
        match known()? {
            Some(given_up) if given_up.state & libc::NUD_FAILED != 0 => break,
            other => {
                if let Some(mac) = other.and_then(usable) {
                    return Ok(Some(mac));
                }
            }
        }
        clock::sleep_until(clock::now() + PAUSE);
    }
    Ok(None)
}

fn usable(neighbour: Neighbour) -> Option<Mac> {
    const USABLE: u16 = libc::NUD_REACHABLE
        | libc::NUD_STALE
        | libc::NUD_DELAY
        | libc::NUD_PROBE
        | libc::NUD_NOARP
        | libc::NUD_PERMANENT;
    neighbour.mac.filter(|_| neighbour.state & USABLE != 0)
}

/// Has the kernel find out who its neighbour on the way is.
fn provoke(to: IpAddr) -> io::Result<()> {
    const DISCARD: u16 = 9;
    let socket = UdpSocket::bind((unspecified(to), 0))?;
    match socket.send_to(&[], (to, DISCARD)) {
        // A firewall of this host may forbid the datagram after the neighbour has been asked for.
        Err(error) if error.raw_os_error() != Some(libc::EPERM) => Err(error),
        _ => Ok(()),
    }
}

const fn unspecified(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

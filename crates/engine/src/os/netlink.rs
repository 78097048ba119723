//! The few words of rtnetlink that wire a network: pairs, addresses, neighbours, links up.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

use super::NetNs;

pub type Mac = [u8; 6];

/// One end of a pair of virtual Ethernet interfaces.
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    pub name: &'a str,
    pub mac: Mac,
    pub mtu: u32,
}

/// An interface as the kernel sees it.
#[derive(Clone, Copy, Debug)]
pub struct Interface {
    pub index: i32,
    /// Up, with the other end up.
    pub is_running: bool,
    /// Whether its frames are Ethernet's.
    pub is_ethernet: bool,
    /// Its own address; zeros where it has none of this length.
    pub mac: Mac,
    /// The largest IP packet that it takes.
    pub mtu_bytes: u32,
    /// Whether an XDP program sees what it receives before the host does.
    pub has_xdp_program: bool,
    /// Frames that the interface was given and did not pass on.
    pub tx_dropped: u64,
}

impl Interface {
    /// Without FCS and tags.
    pub const fn max_frame_bytes(&self) -> usize {
        const ETHERNET_HEADER_BYTES: usize = 14;
        ETHERNET_HEADER_BYTES + self.mtu_bytes as usize
    }

    /// From an answer to `RTM_GETLINK`.
    fn of(reply: &[u8]) -> io::Result<Self> {
        const IFF_RUNNING: u32 = 0x40;
        // After the netlink header struct ifinfomsg, after this the attributes.
        let kind = u16::from_ne_bytes(array_at(reply, 16 + 2)?);
        let index = i32::from_ne_bytes(array_at(reply, 16 + 4)?);
        let is_running = u32::from_ne_bytes(array_at(reply, 16 + 8)?) & IFF_RUNNING != 0;
        let attribute = |kind| attribute_of(reply, 16 + 16, kind);
        let stats = attribute(IFLA_STATS64)
            .ok_or_else(|| io::Error::other("the kernel tells no interface statistics"))?;
        // struct rtnl_link_stats64: eight bytes each, tx_dropped is the eighth.
        let tx_dropped = u64::from_ne_bytes(array_at(stats, 7 * 8)?);
        let xdp = attribute(IFLA_XDP).and_then(|xdp| attribute_of(xdp, 0, IFLA_XDP_ATTACHED));
        Ok(Self {
            index,
            is_running,
            is_ethernet: kind == libc::ARPHRD_ETHER,
            mac: attribute(IFLA_ADDRESS).and_then(|mac| mac.try_into().ok()).unwrap_or_default(),
            mtu_bytes: u32::from_ne_bytes(array_at(attribute(IFLA_MTU).unwrap_or_default(), 0)?),
            has_xdp_program: xdp.is_some_and(|attached| attached != [0]),
            tx_dropped,
        })
    }
}

/// The kernel's answer to which way it would send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    /// `RTN_UNICAST`, `RTN_LOCAL` and so on.
    pub(super) kind: u8,
    pub(super) interface_index: i32,
    pub(super) source: Option<IpAddr>,
    pub(super) gateway: Option<IpAddr>,
}

/// What the kernel knows of who is on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbour {
    /// Bits of `NUD_REACHABLE` and so on.
    pub(super) state: u16,
    pub(super) mac: Option<Mac>,
}

/// A conversation with the kernel about one network namespace: the one in which it was opened.
#[derive(Debug)]
pub struct Netlink(OwnedFd);

impl Netlink {
    /// For the network namespace of the current thread.
    pub fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC;
        Ok(Self(socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?))
    }

    /// Makes a pair: `here` in this namespace, `there` in another one. Both are down.
    pub fn add_veth(&self, here: &VethEnd, there: &VethEnd, namespace: &NetNs) -> io::Result<()> {
        let namespace = namespace.as_raw_fd().to_ne_bytes();
        let message = Message::change(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)
            .bytes(&ifinfomsg(0, 0))
            .veth_end(here)
            .nest(IFLA_LINKINFO, |info| {
                info.attribute(IFLA_INFO_KIND, b"veth").nest(IFLA_INFO_DATA, |veth| {
                    veth.nest(VETH_INFO_PEER, |peer| {
                        peer.bytes(&ifinfomsg(0, 0))
                            .veth_end(there)
                            .attribute(IFLA_NET_NS_FD, &namespace)
                    })
                })
            });
        self.ask(message).map(drop)
    }

    pub fn interface(&self, name: &str) -> io::Result<Interface> {
        let message = Message::question(RTM_GETLINK)
            .bytes(&ifinfomsg(0, 0))
            .attribute(IFLA_IFNAME, &terminated(name));
        Interface::of(&self.ask(message)?)
    }

    pub fn interface_at(&self, index: i32) -> io::Result<Interface> {
        let message = Message::question(RTM_GETLINK).bytes(&ifinfomsg(index, 0));
        Interface::of(&self.ask(message)?)
    }

    pub fn set_up(&self, index: i32) -> io::Result<()> {
        const IFF_UP: u32 = 1;
        self.ask(Message::change(RTM_NEWLINK, 0).bytes(&ifinfomsg(index, IFF_UP))).map(drop)
    }

    /// Has the kernel's TCP send every segment by itself. With room for several it waits until the
    /// window lets it send a third of itself at once, and so never fills a small one.
    pub fn send_single_segments(&self, index: i32) -> io::Result<()> {
        let one = 1_u32.to_ne_bytes();
        let request = Message::change(RTM_NEWLINK, 0).bytes(&ifinfomsg(index, 0));
        self.ask(request.attribute(IFLA_GSO_MAX_SEGS, &one)).map(drop)
    }

    /// The interface makes up no link-local IPv6 address, so the kernel solicits no routers on it.
    pub fn forgo_link_local_address(&self, index: i32) -> io::Result<()> {
        const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
        let message =
            Message::change(RTM_NEWLINK, 0).bytes(&ifinfomsg(index, 0)).nest(IFLA_AF_SPEC, |of| {
                of.nest(AF_INET6.into(), |ipv6| {
                    ipv6.attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE])
                })
            });
        self.ask(message).map(drop)
    }

    /// An address that can be used at once: nobody is asked whether it is taken.
    pub fn add_address(&self, index: i32, address: IpAddr, prefix_len: u8) -> io::Result<()> {
        const IFA_F_NODAD: u8 = 2;
        let bytes = octets(address);
        let mut header = vec![family(address), prefix_len, IFA_F_NODAD, 0];
        header.extend(index.to_ne_bytes());
        let message = Message::change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL)
            .bytes(&header)
            .attribute(IFA_LOCAL, &bytes)
            .attribute(IFA_ADDRESS, &bytes);
        self.ask(message).map(drop)
    }

    /// A neighbour that is known for good: ARP and neighbour discovery are never needed for it.
    pub fn add_neighbour(&self, index: i32, address: IpAddr, mac: Mac) -> io::Result<()> {
        const NUD_PERMANENT: u16 = 0x80;
        let mut header = vec![family(address), 0, 0, 0];
        header.extend(index.to_ne_bytes());
        header.extend(NUD_PERMANENT.to_ne_bytes());
        header.extend([0, 0]);
        let message = Message::change(RTM_NEWNEIGH, NLM_F_CREATE)
            .bytes(&header)
            .attribute(NDA_DST, &octets(address))
            .attribute(NDA_LLADDR, &mac);
        self.ask(message).map(drop)
    }

    /// Has packets to other networks go by way of a neighbour.
    pub fn add_route(&self, to: IpAddr, prefix_len: u8, gateway: IpAddr) -> io::Result<()> {
        let header = rtmsg(to, prefix_len, libc::RT_TABLE_MAIN, libc::RTN_UNICAST, 0);
        let message = Message::change(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL)
            .bytes(&header)
            .attribute(RTA_DST, &octets(to))
            .attribute(RTA_GATEWAY, &octets(gateway));
        self.ask(message).map(drop)
    }

    /// Which way the kernel would send a packet from this host.
    pub(super) fn route(&self, to: IpAddr) -> io::Result<Route> {
        let reply = self.ask_for_route(to, 0)?;
        let attribute = |kind| attribute_of(&reply, 16 + 12, kind);
        let interface = attribute(RTA_OIF)
            .ok_or_else(|| io::Error::other("the kernel names no interface for the route"))?;
        Ok(Route {
            kind: array_at::<1>(&reply, 16 + 7)?[0],
            interface_index: i32::from_ne_bytes(array_at(interface, 0)?),
            source: attribute(RTA_PREFSRC).and_then(address),
            // A gateway of the other family comes with two bytes that say which one.
            gateway: attribute(RTA_GATEWAY)
                .or_else(|| attribute(RTA_VIA)?.get(2..))
                .and_then(address),
        })
    }

    /// How many bits of an address the routing table looked at to find the way: 0 is the default.
    pub(super) fn matching_prefix_len(&self, to: IpAddr) -> io::Result<u8> {
        const RTM_F_FIB_MATCH: u32 = 0x2000;
        let reply = self.ask_for_route(to, RTM_F_FIB_MATCH)?;
        Ok(array_at::<1>(&reply, 16 + 1)?[0])
    }

    fn ask_for_route(&self, to: IpAddr, flags: u32) -> io::Result<Vec<u8>> {
        let whole = (octets(to).len() * 8) as u8;
        let message = Message::question(RTM_GETROUTE)
            .bytes(&rtmsg(to, whole, libc::RT_TABLE_UNSPEC, libc::RTN_UNSPEC, flags))
            .attribute(RTA_DST, &octets(to));
        self.ask(message)
    }

    /// `None` where the kernel has never asked for it.
    pub(super) fn neighbour(&self, index: i32, of: IpAddr) -> io::Result<Option<Neighbour>> {
        let mut header = vec![family(of), 0, 0, 0];
        header.extend(index.to_ne_bytes());
        header.extend([0; 4]);
        let message =
            Message::question(RTM_GETNEIGH).bytes(&header).attribute(NDA_DST, &octets(of));
        let reply = match self.ask(message) {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(None),
            other => other?,
        };
        // After the netlink header struct ndmsg.
        let state = u16::from_ne_bytes(array_at(&reply, 16 + 8)?);
        let mac = attribute_of(&reply, 16 + 12, NDA_LLADDR).and_then(|mac| mac.try_into().ok());
        Ok(Some(Neighbour { state, mac }))
    }

    /// Sends one request and returns the kernel's answer, which for a change is only its success.
    fn ask(&self, message: Message) -> io::Result<Vec<u8>> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.0, &message.finished(), SendFlags::empty(), &kernel)?;
        let mut reply = vec![0; 32_768];
        let (len, _) = recv(&self.0, &mut reply[..], RecvFlags::empty())?;
        reply.truncate(len);
        if u16::from_ne_bytes(array_at(&reply, 4)?) != NLMSG_ERROR {
            return Ok(reply);
        }
        match i32::from_ne_bytes(array_at(&reply, 16)?) {
            0 => Ok(reply),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }
}

pub(super) const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
pub(super) const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
pub(super) const NLM_F_CREATE: u16 = 0x400;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const RTM_NEWNEIGH: u16 = 28;
const RTM_GETNEIGH: u16 = 30;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const VETH_INFO_PEER: u16 = 1;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_VIA: u16 = 18;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// A netlink message while it is written: header, body, attributes, everything on four bytes.
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Answered by whether it was done.
    pub(super) fn change(kind: u16, flags: u16) -> Self {
        Self::request(kind, flags | NLM_F_ACK)
    }

    /// Answered by what was asked for.
    fn question(kind: u16) -> Self {
        Self::request(kind, 0)
    }

    pub(super) fn request(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        Self(bytes)
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((value.len() + 4) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.bytes(value)
    }

    pub(super) fn nest(self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
        let start = self.0.len();
        let mut nested = inside(self.attribute(kind, &[]));
        let len = (nested.0.len() - start) as u16;
        nested.0[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        nested
    }

    fn veth_end(self, end: &VethEnd) -> Self {
        self.attribute(IFLA_IFNAME, &terminated(end.name))
            .attribute(IFLA_ADDRESS, &end.mac)
            .attribute(IFLA_MTU, &end.mtu.to_ne_bytes())
    }

    pub(super) fn finished(mut self) -> Vec<u8> {
        let len = self.0.len() as u32;
        self.0[..4].copy_from_slice(&len.to_ne_bytes());
        self.0
    }
}

/// `struct ifinfomsg`.
fn ifinfomsg(index: i32, flags: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[4..8].copy_from_slice(&index.to_ne_bytes());
    bytes[8..12].copy_from_slice(&flags.to_ne_bytes());
    // Change only these flags.
    bytes[12..16].copy_from_slice(&flags.to_ne_bytes());
    bytes
}

/// `struct rtmsg`.
fn rtmsg(to: IpAddr, prefix_len: u8, table: u8, kind: u8, flags: u32) -> Vec<u8> {
    const BY_AN_ADMINISTRATOR: u8 = 4;
    let (no_source, any_tos, anywhere) = (0, 0, 0);
    let header =
        [family(to), prefix_len, no_source, any_tos, table, BY_AN_ADMINISTRATOR, anywhere, kind];
    [&header[..], &flags.to_ne_bytes()].concat()
}

pub(super) fn terminated(name: &str) -> Vec<u8> {
    [name.as_bytes(), &[0]].concat()
}

fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => AF_INET,
        IpAddr::V6(_) => AF_INET6,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// By its length.
fn address(octets: &[u8]) -> Option<IpAddr> {
    let ipv4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    ipv4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let cut_short = || io::Error::other("the kernel's netlink answer is cut short");
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or_else(cut_short)
}

/// The value of the first attribute of a kind among those that begin at `from`.
fn attribute_of(message: &[u8], from: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(from..)?;
    loop {
        let len = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        const FLAGS: u16 = 0xc000;
        let found = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?) & !FLAGS;
        if found == kind {
            return rest.get(4..len);
        }
        // A length below the attribute's own header would never get on.
        rest = rest.get(len.max(4).next_multiple_of(4)..)?;
    }
}

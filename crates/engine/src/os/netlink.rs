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
    /// Frames that the interface was given and did not pass on.
    pub tx_dropped: u64,
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
        const IFF_RUNNING: u32 = 0x40;
        let message = Message::question(RTM_GETLINK)
            .bytes(&ifinfomsg(0, 0))
            .attribute(IFLA_IFNAME, &terminated(name));
        let reply = self.ask(message)?;
        // After the netlink header struct ifinfomsg, after this the attributes.
        let index = i32::from_ne_bytes(array_at(&reply, 16 + 4)?);
        let is_running = u32::from_ne_bytes(array_at(&reply, 16 + 8)?) & IFF_RUNNING != 0;
        let stats = attribute_of(&reply, 16 + 16, IFLA_STATS64)
            .ok_or_else(|| io::Error::other("the kernel tells no interface statistics"))?;
        // struct rtnl_link_stats64: eight bytes each, tx_dropped is the eighth.
        let tx_dropped = u64::from_ne_bytes(array_at(stats, 7 * 8)?);
        Ok(Interface { index, is_running, tx_dropped })
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

const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;

const RTM_NEWLINK: u16 = 16;
const RTM_GETLINK: u16 = 18;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWNEIGH: u16 = 28;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const VETH_INFO_PEER: u16 = 1;

const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;

const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;

/// A netlink message while it is written: header, body, attributes, everything on four bytes.
struct Message(Vec<u8>);

impl Message {
    /// Answered by whether it was done.
    fn change(kind: u16, flags: u16) -> Self {
        Self::request(kind, flags | NLM_F_ACK)
    }

    /// Answered by what was asked for.
    fn question(kind: u16) -> Self {
        Self::request(kind, 0)
    }

    fn request(kind: u16, flags: u16) -> Self {
        let mut bytes = vec![0; 16];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&(flags | NLM_F_REQUEST).to_ne_bytes());
        Self(bytes)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn attribute(mut self, kind: u16, value: &[u8]) -> Self {
        self.0.extend(((value.len() + 4) as u16).to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.bytes(value)
    }

    fn nest(self, kind: u16, inside: impl FnOnce(Self) -> Self) -> Self {
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

    fn finished(mut self) -> Vec<u8> {
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

fn terminated(name: &str) -> Vec<u8> {
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

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> io::Result<[u8; N]> {
    let cut_short = || io::Error::other("the kernel's netlink answer is cut short");
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().ok_or_else(cut_short)
}

/// The value of the first attribute of a kind among those that begin at `from`.
fn attribute_of(message: &[u8], from: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(from..)?;
    loop {
        let len = usize::from(u16::from_ne_bytes(*rest.first_chunk()?));
        let found = u16::from_ne_bytes(*rest.get(2..)?.first_chunk()?);
        if found == kind {
            return rest.get(4..len);
        }
        // A length below the attribute's own header would never get on.
        rest = rest.get(len.max(4).next_multiple_of(4)..)?;
    }
}

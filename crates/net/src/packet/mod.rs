//! Whole frames of TCP over IPv4 and IPv6, written to and read from bytes, and answers to those who
//! ask for the owner of an address.

mod ethernet;
mod neighbour;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::{Addresses, Peer, Protocol, checksum, header_checksum, is_tcp_intact};
use crate::tcp::{Header, Ports};

pub use ethernet::{Link, MacAddress, VlanTags};
pub use neighbour::Question;

use ethernet::EtherType;

/// RFC 1700 recommends 64 hops.
pub const HOP_LIMIT: u8 = 64;
const IPV4_HEADER_BYTES: usize = 20;
const IPV6_HEADER_BYTES: usize = 40;
/// Don't fragment: RFC 791. What is never fragmented needs no identification: RFC 6864 section 4.1.
const DONT_FRAGMENT: u8 = 0x40;
const TCP: u8 = Protocol::Tcp as u8;
const ICMPV6: u8 = Protocol::Icmpv6 as u8;

/// A frame that was read.
#[derive(Clone, Copy, Debug)]
pub enum Frame<'a> {
    Tcp(Segment<'a>),
    /// Somebody wants to know whose an address is.
    Question(Question),
}

/// A TCP segment and all that stands around it.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    pub envelope: Envelope,
    pub ports: Ports,
    pub header: Header,
    pub payload: &'a [u8],
}

/// What stands around a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub link: Link,
    pub addresses: Addresses,
    /// DSCP and ECN.
    pub traffic_class: u8,
    pub hop_limit: u8,
}

/// Why a frame was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It carries something else, a part of a packet, or nothing that makes sense.
    Foreign,
    /// It is not as it was sent.
    Spoilt,
}

impl<'a> Frame<'a> {
    /// Without the frame check sequence; what follows the packet is padding.
    ///
    /// # Errors
    /// What it is instead of a segment or a question.
    pub fn read(frame: &'a [u8], peer: Peer) -> Result<Self, Unread> {
        let (link, ether_type, packet) = Link::read(frame).ok_or(Unread::Foreign)?;
        match ether_type {
            EtherType::Ipv4 => read_ipv4(link, packet, peer).map(Self::Tcp),
            EtherType::Arp => Question::read_arp(link, packet).map(Self::Question),
            EtherType::Ipv6 => read_ipv6(link, packet, peer),
        }
    }
}

fn read_ipv4(link: Link, packet: &[u8], peer: Peer) -> Result<Segment<'_>, Unread> {
    let fixed: &[u8; IPV4_HEADER_BYTES] = packet.first_chunk().ok_or(Unread::Foreign)?;
    let header_bytes = usize::from(fixed[0] & 0xf) * 4;
    let packet_bytes = usize::from(u16::from_be_bytes([fixed[2], fixed[3]]));
    let header = packet.get(..header_bytes).ok_or(Unread::Foreign)?;
    if fixed[0] >> 4 != 4 || header_bytes < IPV4_HEADER_BYTES {
        return Err(Unread::Foreign);
    }
    if header_checksum(header) != 0 {
        return Err(Unread::Spoilt);
    }
    let segment = packet.get(header_bytes..packet_bytes).ok_or(Unread::Foreign)?;
    let is_fragment = u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0;
    if is_fragment || fixed[9] != TCP {
        return Err(Unread::Foreign);
    }
    let address = |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]);
    let addresses = Addresses::V4 { source: address(12), destination: address(16) };
    let envelope = Envelope { link, addresses, traffic_class: fixed[1], hop_limit: fixed[8] };
    read_tcp(envelope, segment, peer)
}

/// Packets with extension headers are not read: nobody here asked for any.
fn read_ipv6(link: Link, packet: &[u8], peer: Peer) -> Result<Frame<'_>, Unread> {
    let (fixed, rest) = packet.split_first_chunk::<IPV6_HEADER_BYTES>().ok_or(Unread::Foreign)?;
    let payload_bytes = usize::from(u16::from_be_bytes([fixed[4], fixed[5]]));
    let payload = rest.get(..payload_bytes).ok_or(Unread::Foreign)?;
    if fixed[0] >> 4 != 6 {
        return Err(Unread::Foreign);
    }
    let address = |at: usize| {
        let mut octets = [0; 16];
        octets.copy_from_slice(&fixed[at..at + 16]);
        Ipv6Addr::from(octets)
    };
    let addresses = Addresses::V6 { source: address(8), destination: address(24) };
    let traffic_class = fixed[0] << 4 | fixed[1] >> 4;
    let envelope = Envelope { link, addresses, traffic_class, hop_limit: fixed[7] };
    match fixed[6] {
        TCP => read_tcp(envelope, payload, peer).map(Frame::Tcp),
        ICMPV6 => Question::read_solicitation(&envelope, payload).map(Frame::Question),
        _ => Err(Unread::Foreign),
    }
}

fn read_tcp(envelope: Envelope, segment: &[u8], peer: Peer) -> Result<Segment<'_>, Unread> {
    if !is_tcp_intact(&envelope.addresses, segment, peer) {
        return Err(Unread::Spoilt);
    }
    let read = Header::read(segment).map_err(|_malformed| Unread::Foreign)?;
    let payload = &segment[read.header_bytes..];
    Ok(Segment { envelope, ports: read.ports, header: read.header, payload })
}

impl Envelope {
    /// Of Ethernet and IP.
    pub const fn headers_bytes(&self) -> usize {
        let ip = match self.addresses {
            Addresses::V4 { .. } => IPV4_HEADER_BYTES,
            Addresses::V6 { .. } => IPV6_HEADER_BYTES,
        };
        self.link.header_bytes() + ip
    }

    /// Writes a whole frame, whose payload `fill` writes, and gives its length.
    ///
    /// # Panics
    /// Where `frame` has no room for it, or the packet would be longer than IP can tell.
    pub fn write(
        &self,
        ports: Ports,
        header: &Header,
        payload_bytes: usize,
        fill: impl FnOnce(&mut [u8]),
        frame: &mut [u8],
    ) -> usize {
        let (headers, rest) = frame.split_at_mut(self.headers_bytes());
        let header_bytes = header.write(ports, rest);
        let segment = &mut rest[..header_bytes + payload_bytes];
        fill(&mut segment[header_bytes..]);
        let sum = checksum(&self.addresses, Protocol::Tcp, segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        let segment_bytes = segment.len();
        self.write_ip(TCP, segment_bytes, headers);
        self.headers_bytes() + segment_bytes
    }

    /// Writes all that comes before `payload_bytes` of a protocol.
    fn write_ip(&self, protocol: u8, payload_bytes: usize, headers: &mut [u8]) {
        match self.addresses {
            Addresses::V4 { source, destination } => {
                let ip = self.link.write(EtherType::Ipv4, headers);
                ip.fill(0);
                ip[0] = 0x45;
                ip[1] = self.traffic_class;
                ip[2..4].copy_from_slice(&length(IPV4_HEADER_BYTES + payload_bytes));
                ip[6] = DONT_FRAGMENT;
                ip[8] = self.hop_limit;
                ip[9] = protocol;
                ip[12..16].copy_from_slice(&source.octets());
                ip[16..20].copy_from_slice(&destination.octets());
                let sum = header_checksum(ip);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
            }
            Addresses::V6 { source, destination } => {
                let ip = self.link.write(EtherType::Ipv6, headers);
                ip[0] = 0x60 | self.traffic_class >> 4;
                ip[1] = self.traffic_class << 4;
                ip[2..4].fill(0);
                ip[4..6].copy_from_slice(&length(payload_bytes));
                ip[6] = protocol;
                ip[7] = self.hop_limit;
                ip[8..24].copy_from_slice(&source.octets());
                ip[24..40].copy_from_slice(&destination.octets());
            }
        }
    }
}

fn length(bytes: usize) -> [u8; 2] {
    let Ok(bytes) = u16::try_from(bytes) else { panic!("IP cannot tell of {bytes} bytes") };
    bytes.to_be_bytes()
}

impl Addresses {
    pub const fn source(&self) -> IpAddr {
        match *self {
            Self::V4 { source, .. } => IpAddr::V4(source),
            Self::V6 { source, .. } => IpAddr::V6(source),
        }
    }

    pub const fn destination(&self) -> IpAddr {
        match *self {
            Self::V4 { destination, .. } => IpAddr::V4(destination),
            Self::V6 { destination, .. } => IpAddr::V6(destination),
        }
    }
}

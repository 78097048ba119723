//! Who has an address: ARP (RFC 826) and IPv6 neighbour discovery (RFC 4861).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::ethernet::{EtherType, Link, MacAddress};
use super::{Envelope, ICMPV6, IPV6_HEADER_BYTES, Unread};
use crate::checksum::{Addresses, Protocol, checksum, is_intact};

/// Somebody asks for the owner of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    pub link: Link,
    pub asker: IpAddr,
    pub target: IpAddr,
}

const ARP_BYTES: usize = 28;
/// Ethernet and IPv4, and the lengths of their addresses.
const ARP_KIND: [u8; 6] = [0, 1, 0x08, 0, 6, 4];
const ARP_REQUEST: [u8; 2] = [0, 1];
const ARP_REPLY: [u8; 2] = [0, 2];
const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
/// The message up to its options, and the one option that goes along.
const DISCOVERY_BYTES: usize = 24;
const MESSAGE_BYTES: usize = DISCOVERY_BYTES + 8;
const SOURCE_LINK_ADDRESS: u8 = 1;
const TARGET_LINK_ADDRESS: u8 = 2;
/// That was asked for, and is to be believed before older answers.
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;
/// RFC 4861 section 7.1: a message from this link alone has it.
const HOP_LIMIT: u8 = 255;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES_LINK: MacAddress = MacAddress([0x33, 0x33, 0, 0, 0, 1]);

impl Question {
    /// The longest question or answer, tags included.
    pub const FRAME_BYTES_MAX: usize = 22 + IPV6_HEADER_BYTES + MESSAGE_BYTES;

    pub(super) fn read_arp(link: Link, packet: &[u8]) -> Result<Self, Unread> {
        let arp: &[u8; ARP_BYTES] = packet.first_chunk().ok_or(Unread::Foreign)?;
        if arp[..6] != ARP_KIND || arp[6..8] != ARP_REQUEST {
            return Err(Unread::Foreign);
        }
        let address = |at: usize| Ipv4Addr::new(arp[at], arp[at + 1], arp[at + 2], arp[at + 3]);
        let (asker, target) = (address(14), address(24));
        // Who names its own address announces it.
        if asker == target {
            return Err(Unread::Foreign);
        }
        Ok(Self { link, asker: asker.into(), target: target.into() })
    }

    pub(super) fn read_solicitation(envelope: &Envelope, message: &[u8]) -> Result<Self, Unread> {
        let fixed: &[u8; DISCOVERY_BYTES] = message.first_chunk().ok_or(Unread::Foreign)?;
        if fixed[0] != SOLICITATION || fixed[1] != 0 || envelope.hop_limit != HOP_LIMIT {
            return Err(Unread::Foreign);
        }
        if !is_intact(&envelope.addresses, Protocol::Icmpv6, message) {
            return Err(Unread::Spoilt);
        }
        let mut target = [0; 16];
        target.copy_from_slice(&fixed[8..24]);
        let (asker, target) = (envelope.addresses.source(), Ipv6Addr::from(target));
        if target.is_multicast() {
            return Err(Unread::Foreign);
        }
        Ok(Self { link: envelope.link, asker, target: target.into() })
    }

    /// Writes the question, `link.source` being where the answer is to go, and gives its length.
    ///
    /// # Panics
    /// Where `frame` is shorter than [`Self::FRAME_BYTES_MAX`], or the two addresses are not of one
    /// family.
    pub fn write(&self, frame: &mut [u8]) -> usize {
        match (self.asker, self.target) {
            (IpAddr::V4(asker), IpAddr::V4(target)) => {
                let link = Link { destination: MacAddress::BROADCAST, ..self.link };
                let ends = [(self.link.source, asker), (MacAddress::default(), target)];
                write_arp(&link, ARP_REQUEST, ends, frame)
            }
            (IpAddr::V6(asker), IpAddr::V6(target)) => {
                let [.., a, b, c] = target.octets();
                let group = u16::from_be_bytes([0xff, a]);
                let low = u16::from_be_bytes([b, c]);
                let destination = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, group, low);
                let link =
                    Link { destination: MacAddress([0x33, 0x33, 0xff, a, b, c]), ..self.link };
                let option = (SOURCE_LINK_ADDRESS, self.link.source);
                let addresses = Addresses::V6 { source: asker, destination };
                write_discovery(&link, addresses, (SOLICITATION, 0, target), option, frame)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                panic!("{} and {} are not of one family", self.asker, self.target)
            }
        }
    }

    /// Writes that the address is `owner`'s, and gives the length of the frame.
    ///
    /// # Panics
    /// As [`Self::write`].
    pub fn answer(&self, owner: MacAddress, frame: &mut [u8]) -> usize {
        let back = self.link.back_from(owner);
        match (self.asker, self.target) {
            (IpAddr::V4(asker), IpAddr::V4(target)) => {
                let ends = [(owner, target), (self.link.source, asker)];
                write_arp(&back, ARP_REPLY, ends, frame)
            }
            (IpAddr::V6(asker), IpAddr::V6(target)) => {
                let option = (TARGET_LINK_ADDRESS, owner);
                let (link, destination, flags) = if asker.is_unspecified() {
                    (Link { destination: ALL_NODES_LINK, ..back }, ALL_NODES, OVERRIDE)
                } else {
                    (back, asker, SOLICITED | OVERRIDE)
                };
                let addresses = Addresses::V6 { source: target, destination };
                write_discovery(&link, addresses, (ADVERTISEMENT, flags, target), option, frame)
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => {
                panic!("{} and {} are not of one family", self.asker, self.target)
            }
        }
    }
}

fn write_arp(
    link: &Link,
    operation: [u8; 2],
    [(sender_link, sender), (target_link, target)]: [(MacAddress, Ipv4Addr); 2],
    frame: &mut [u8],
) -> usize {
    let arp = link.write(EtherType::Arp, frame);
    arp[..6].copy_from_slice(&ARP_KIND);
    arp[6..8].copy_from_slice(&operation);
    arp[8..14].copy_from_slice(&sender_link.0);
    arp[14..18].copy_from_slice(&sender.octets());
    arp[18..24].copy_from_slice(&target_link.0);
    arp[24..28].copy_from_slice(&target.octets());
    link.header_bytes() + ARP_BYTES
}

fn write_discovery(
    link: &Link,
    addresses: Addresses,
    (kind, flags, target): (u8, u8, Ipv6Addr),
    (option, address): (u8, MacAddress),
    frame: &mut [u8],
) -> usize {
    let envelope = Envelope { link: *link, addresses, traffic_class: 0, hop_limit: HOP_LIMIT };
    let (headers, rest) = frame.split_at_mut(envelope.headers_bytes());
    let message = &mut rest[..MESSAGE_BYTES];
    message.fill(0);
    message[0] = kind;
    message[4] = flags;
    message[8..24].copy_from_slice(&target.octets());
    message[24..26].copy_from_slice(&[option, 1]);
    message[26..32].copy_from_slice(&address.0);
    let sum = checksum(&addresses, Protocol::Icmpv6, message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    envelope.write_ip(ICMPV6, MESSAGE_BYTES, headers);
    envelope.headers_bytes() + MESSAGE_BYTES
}

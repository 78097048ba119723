//! What a router answers to a packet that does not fit the next link.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fp_model::Family;

use super::packet::{ETHERNET_HEADER_BYTES, checksum};

/// The addresses of the emulated router.
#[derive(Clone, Copy, Debug)]
pub(super) struct Router {
    pub(super) ipv4: Ipv4Addr,
    pub(super) ipv6: Ipv6Addr,
}

impl Router {
    pub(super) fn address(&self, family: Family) -> IpAddr {
        match family {
            Family::Ipv4 => self.ipv4.into(),
            Family::Ipv6 => self.ipv6.into(),
        }
    }

    /// The frame that goes back to the sender: ICMP "fragmentation needed" with the next hop's MTU
    /// of RFC 1191 or ICMPv6 "packet too big" of RFC 4443. A router would fragment an IPv4 packet
    /// that allows it; this one never does.
    pub(super) fn too_big(&self, frame: &[u8], mtu: u32) -> Vec<u8> {
        let (header, packet) = frame.split_at(ETHERNET_HEADER_BYTES);
        let (destination, source) = header[..12].split_at(6);
        let answer = match packet[0] >> 4 {
            4 => self.fragmentation_needed(packet, mtu),
            _ => self.packet_too_big(packet, mtu),
        };
        [source, destination, &header[12..14], &answer].concat()
    }

    fn fragmentation_needed(&self, packet: &[u8], mtu: u32) -> Vec<u8> {
        // RFC 1812 4.3.2.3: as much of the packet as fits, without going beyond 576 bytes.
        let quote = &packet[..packet.len().min(576 - 20 - 8)];
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX).to_be_bytes();
        let mut icmp = [&[3, 4, 0, 0, 0, 0], &mtu[..], quote].concat();
        let sum = checksum(&[&icmp]);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());

        let len = ((20 + icmp.len()) as u16).to_be_bytes();
        let mut header = [0x45, 0xc0, len[0], len[1], 0, 0, 0, 0, HOP_LIMIT, ICMP, 0, 0]
            .into_iter()
            .chain(self.ipv4.octets())
            .chain(packet[12..16].iter().copied())
            .collect::<Vec<u8>>();
        let sum = checksum(&[&header]);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        [header, icmp].concat()
    }

    fn packet_too_big(&self, packet: &[u8], mtu: u32) -> Vec<u8> {
        // RFC 4443 3.2: as much of the packet as fits into the minimum MTU.
        let quote = &packet[..packet.len().min(1280 - 40 - 8)];
        let mut icmp = [&[2, 0, 0, 0][..], &mtu.to_be_bytes(), quote].concat();
        let addresses = [&self.ipv6.octets()[..], &packet[8..24]].concat();
        let len = (icmp.len() as u16).to_be_bytes();
        let pseudo_header = [&addresses[..], &[0, 0, len[0], len[1], 0, 0, 0, ICMPV6]].concat();
        let sum = checksum(&[&pseudo_header, &icmp]);
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());

        let header = [0x6c, 0, 0, 0, len[0], len[1], ICMPV6, HOP_LIMIT];
        [&header, &addresses[..], &icmp].concat()
    }
}

const HOP_LIMIT: u8 = 64;
const ICMP: u8 = 1;
const ICMPV6: u8 = 58;

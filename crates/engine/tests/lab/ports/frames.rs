//! Frames made by hand, from the standards' tables.

use std::net::IpAddr;

use fp_engine::os::netlink::Mac;
use fp_model::Family;

use super::cable::MACS;

pub(super) const ARP: u16 = 0x0806;
pub(super) const VLAN: u16 = 0x8100;

/// From the near end to the far end.
pub(super) fn ethernet(to: Mac, kind: u16, packet: &[u8]) -> Vec<u8> {
    [&to[..], &MACS[0], &kind.to_be_bytes(), packet].concat()
}

/// A packet to an address, with so many bytes in all that are told apart by `fill`.
pub(super) fn packet(to: IpAddr, next_header: u8, bytes: usize, fill: u8) -> Vec<u8> {
    let mut packet = vec![fill; bytes];
    match to {
        IpAddr::V4(to) => {
            packet[..10].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, next_header]);
            packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
            packet[16..20].copy_from_slice(&to.octets());
        }
        IpAddr::V6(to) => {
            packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 0, next_header, 64]);
            packet[4..6].copy_from_slice(&(bytes as u16 - 40).to_be_bytes());
            packet[24..40].copy_from_slice(&to.octets());
        }
    }
    packet
}

pub(super) fn ip(to: IpAddr, bytes: usize, fill: u8) -> Vec<u8> {
    const UDP: u8 = 17;
    ethernet(MACS[1], ethernet_type(to), &packet(to, UDP, bytes, fill))
}

/// A segment without payload.
pub(super) fn tcp(to: IpAddr, source_port: u16, destination_port: u16) -> Vec<u8> {
    const TCP: u8 = 6;
    let header_bytes = if to.is_ipv4() { 20 } else { 40 };
    let mut packet = packet(to, TCP, header_bytes + 20, 0);
    packet[header_bytes..header_bytes + 2].copy_from_slice(&source_port.to_be_bytes());
    packet[header_bytes + 2..header_bytes + 4].copy_from_slice(&destination_port.to_be_bytes());
    ethernet(MACS[1], ethernet_type(to), &packet)
}

/// Who has this address: RFC 826, RFC 4861 section 4.3 to the solicited-node group.
pub(super) fn question(target: IpAddr) -> Vec<u8> {
    match target {
        IpAddr::V4(target) => {
            let mut request = vec![0, 1, 8, 0, 6, 4, 0, 1];
            request.extend(MACS[0]);
            request.extend([192, 0, 2, 1]);
            request.extend([0; 6]);
            request.extend(target.octets());
            ethernet([0xff; 6], ARP, &request)
        }
        IpAddr::V6(target) => {
            const ICMPV6: u8 = 58;
            let mut group = [0; 16];
            group[..2].copy_from_slice(&[0xff, 0x02]);
            group[11..13].copy_from_slice(&[1, 0xff]);
            group[13..].copy_from_slice(&target.octets()[13..]);
            let mut solicitation = packet(group.into(), ICMPV6, 40 + 24, 0);
            solicitation[40] = 135;
            solicitation[48..].copy_from_slice(&target.octets());
            let [a, b, c] = [13, 14, 15].map(|at| target.octets()[at]);
            ethernet([0x33, 0x33, 0xff, a, b, c], 0x86dd, &solicitation)
        }
    }
}

pub(super) fn ethernet_type(to: IpAddr) -> u16 {
    if to.is_ipv4() { 0x0800 } else { 0x86dd }
}

/// The `host`th address of the block that a port of the tests is for, and its neighbour's.
pub(super) fn own(family: Family, host: u16) -> IpAddr {
    match family {
        Family::Ipv4 => [198, 19, (host >> 8) as u8, host as u8].into(),
        Family::Ipv6 => [0x2001, 2, 0, 1, 0, 0, 0, host].into(),
    }
}

pub(super) fn foreign(family: Family, host: u16) -> IpAddr {
    match family {
        Family::Ipv4 => [198, 18, (host >> 8) as u8, host as u8].into(),
        Family::Ipv6 => [0x2001, 2, 0, 0, 0, 0, 0, host].into(),
    }
}

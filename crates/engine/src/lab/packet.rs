//! The little that the lab reads and writes in the frames it carries.

use fp_model::Dscp;

/// Destination, source and type.
pub(super) const ETHERNET_HEADER_BYTES: usize = 14;

/// The code point of a packet that crosses the path; `None` for what ends at a link: everything
/// but IP (ARP), and IP to a multicast group of the link (neighbour discovery, group membership).
pub(super) fn dscp_if_routed(frame: &[u8]) -> Option<Dscp> {
    let packet = frame.get(ETHERNET_HEADER_BYTES..)?;
    match frame[12..14] {
        [0x08, 0x00] => {
            let to_link = packet.get(16..20)?.starts_with(&[224, 0, 0]);
            (!to_link).then(|| Dscp::of_traffic_class(packet[1]))
        }
        [0x86, 0xdd] => {
            let to_link = packet.get(24..40)?.starts_with(&[0xff, 0x02]);
            (!to_link).then(|| Dscp::of_traffic_class(packet[0] << 4 | packet[1] >> 4))
        }
        _ => None,
    }
}

/// Length on the wire: with FCS, and padded to what Ethernet carries at least.
pub(super) fn wire_bytes(frame: &[u8]) -> u32 {
    const FCS_BYTES: u32 = 4;
    const MIN_BYTES: u32 = 64;
    // A frame comes out of a ring slot of some kilobytes.
    (frame.len() as u32 + FCS_BYTES).max(MIN_BYTES)
}

/// Gives a routed packet another code point; ECN stays as it is.
pub(super) fn remark(frame: &mut [u8], dscp: Dscp) {
    let packet = &mut frame[ETHERNET_HEADER_BYTES..];
    if packet[0] >> 4 == 4 {
        let before = u16::from_be_bytes([packet[0], packet[1]]);
        packet[1] = dscp.traffic_class() | packet[1] & 0b11;
        let after = u16::from_be_bytes([packet[0], packet[1]]);
        let checksum = u16::from_be_bytes([packet[10], packet[11]]);
        packet[10..12].copy_from_slice(&updated_checksum(checksum, before, after).to_be_bytes());
    } else {
        packet[0] = packet[0] & 0xf0 | dscp.traffic_class() >> 4;
        packet[1] = dscp.traffic_class() << 4 | packet[1] & 0x3f;
    }
}

/// Turns over the last bit of the packet, which every transport's checksum covers.
pub(super) fn corrupt(frame: &mut [u8]) {
    let packet_bytes = packet_len(frame);
    if let Some(last) = frame.get_mut(ETHERNET_HEADER_BYTES + packet_bytes - 1) {
        *last ^= 1;
    }
}

/// The length that the IP header states: what follows in the frame is padding.
fn packet_len(frame: &[u8]) -> usize {
    let packet = &frame[ETHERNET_HEADER_BYTES..];
    let stated = if packet[0] >> 4 == 4 {
        usize::from(u16::from_be_bytes([packet[2], packet[3]]))
    } else {
        40 + usize::from(u16::from_be_bytes([packet[4], packet[5]]))
    };
    stated.clamp(20, packet.len())
}

/// A checksum after one word under it has changed, RFC 1624 equation 3.
fn updated_checksum(checksum: u16, before: u16, after: u16) -> u16 {
    !folded(u32::from(!checksum) + u32::from(!before) + u32::from(after))
}

/// The Internet checksum of `parts` one after the other, of which only the last may be odd.
pub(super) fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum = words.map(|word| match *word {
        [high, low] => u32::from(u16::from_be_bytes([high, low])),
        [high] => u32::from(high) << 8,
        _ => 0,
    });
    !folded(sum.sum())
}

fn folded(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The IPv4 header that RFC 1071's arithmetic is usually shown with; its checksum is b861.
    const IPV4: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    fn ethernet(ethertype: [u8; 2], packet: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &ethertype, packet].concat()
    }

    fn ipv6(destination_start: [u8; 2]) -> Vec<u8> {
        let mut packet = vec![0; 40];
        // Version 6, traffic class 0xbb (DSCP 46 and ECN 3), flow label 0xccddd.
        packet[..4].copy_from_slice(&[0x6b, 0xbc, 0xcd, 0xdd]);
        packet[24..26].copy_from_slice(&destination_start);
        ethernet([0x86, 0xdd], &packet)
    }

    #[test]
    fn a_correct_header_sums_to_zero() {
        assert_eq!(checksum(&[&IPV4]), 0);
    }

    #[test]
    fn remarking_keeps_the_ipv4_header_correct_and_ecn_as_it_is() {
        let mut frame = ethernet([8, 0], &IPV4);
        for code_point in 0..64 {
            frame[15] |= 0b10;
            let header = &mut frame[14..34];
            header[10..12].copy_from_slice(&[0, 0]);
            let fresh = checksum(&[header]);
            header[10..12].copy_from_slice(&fresh.to_be_bytes());
            remark(&mut frame, Dscp::new(code_point).unwrap());
            assert_eq!(dscp_if_routed(&frame), Dscp::new(code_point));
            assert_eq!(frame[15] & 0b11, 0b10);
            assert_eq!(checksum(&[&frame[14..34]]), 0);
        }
    }

    #[test]
    fn remarking_ipv6_keeps_version_ecn_and_flow_label() {
        let mut frame = ipv6([0x20, 0x01]);
        assert_eq!(dscp_if_routed(&frame), Dscp::new(46));
        remark(&mut frame, Dscp::new(10).unwrap());
        assert_eq!(dscp_if_routed(&frame), Dscp::new(10));
        // DSCP 10 with ECN 3 is the traffic class 0x2b.
        assert_eq!(frame[14..18], [0x62, 0xbc, 0xcd, 0xdd]);
    }

    #[test]
    fn what_belongs_to_a_link_does_not_cross_the_path() {
        assert_eq!(dscp_if_routed(&ethernet([0x08, 0x06], &[0; 28])), None, "ARP");
        assert_eq!(dscp_if_routed(&ipv6([0xff, 0x02])), None, "link-local multicast");
        let mut membership = IPV4;
        membership[16..20].copy_from_slice(&[224, 0, 0, 22]);
        assert_eq!(dscp_if_routed(&ethernet([8, 0], &membership)), None, "IGMP");
        assert_eq!(dscp_if_routed(&ethernet([8, 0], &IPV4)), Some(Dscp::BEST_EFFORT));
        assert_eq!(dscp_if_routed(&[0; 20]), None, "cut short");
    }

    #[test]
    fn corruption_hits_the_packet_and_not_the_padding() {
        let mut packet = [&IPV4[..], &[0; 26]].concat();
        packet[2..4].copy_from_slice(&30_u16.to_be_bytes());
        let mut frame = ethernet([8, 0], &packet);
        corrupt(&mut frame);
        let changed: Vec<usize> =
            (0..packet.len()).filter(|i| frame[14 + i] != packet[*i]).collect();
        assert_eq!(changed, [29]);
    }
}

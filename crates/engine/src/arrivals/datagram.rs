//! Reads and verifies a UDP datagram in an IP packet, as a kernel does for its sockets.

/// What an IP packet of a flow turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packet<'a> {
    Datagram {
        payload: &'a [u8],
        traffic_class: u8,
    },
    /// A checksum or a length is wrong.
    Spoilt,
    /// There is more of it than was captured: this host has merged it from several.
    Merged {
        payload_bytes: usize,
    },
}

/// What is known of a transport checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    Verified,
    ToVerify,
}

/// `packet` begins with an IPv4 header without options, or with an IPv6 header, before UDP.
pub(crate) fn read(packet: &[u8], checksum: Checksum) -> Packet<'_> {
    match packet.first().map(|byte| byte >> 4) {
        Some(4) => read_ipv4(packet, checksum),
        Some(6) => read_ipv6(packet, checksum),
        _ => None,
    }
    .unwrap_or(Packet::Spoilt)
}

const UDP_HEADER_BYTES: usize = 8;
const UDP: u64 = 17;

/// `None` where it is spoilt, as below.
fn read_ipv4(packet: &[u8], checksum: Checksum) -> Option<Packet<'_>> {
    let (header, rest) = packet.split_first_chunk::<20>()?;
    if !sum(header).is_multiple_of(0xffff) {
        return None;
    }
    let udp_bytes = usize::from(u16::from_be_bytes([header[2], header[3]])).checked_sub(20)?;
    let traffic_class = header[1];
    read_udp(rest, udp_bytes, sum(&header[12..]), traffic_class, checksum)
}

fn read_ipv6(packet: &[u8], checksum: Checksum) -> Option<Packet<'_>> {
    let (header, rest) = packet.split_first_chunk::<40>()?;
    let udp_bytes = usize::from(u16::from_be_bytes([header[4], header[5]]));
    let traffic_class = header[0] << 4 | header[1] >> 4;
    read_udp(rest, udp_bytes, sum(&header[8..]), traffic_class, checksum)
}

/// RFC 768, with the addresses' part of the pseudo header already summed up.
fn read_udp(
    captured: &[u8],
    udp_bytes: usize,
    addresses_sum: u64,
    traffic_class: u8,
    checksum: Checksum,
) -> Option<Packet<'_>> {
    let payload_bytes = udp_bytes.checked_sub(UDP_HEADER_BYTES)?;
    if captured.len() < udp_bytes {
        return Some(Packet::Merged { payload_bytes });
    }
    let udp = &captured[..udp_bytes];
    let is_without_checksum = udp[6..8] == [0, 0];
    if usize::from(u16::from_be_bytes([udp[4], udp[5]])) != udp_bytes {
        return None;
    }
    if checksum == Checksum::ToVerify && !is_without_checksum {
        let length_and_protocol = udp_bytes as u64 + UDP;
        let total = addresses_sum + u64::from((length_and_protocol as u16).to_be()) + sum(udp);
        if !total.is_multiple_of(0xffff) {
            return None;
        }
    }
    Some(Packet::Datagram { payload: &udp[UDP_HEADER_BYTES..], traffic_class })
}

/// The sum of the 16-bit words as they lie in memory; its remainder by 0xffff is the same however
/// wide the words are that are added.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_ne_bytes(last))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The Internet checksum of RFC 1071, word by word.
    fn checksum(bytes: &[u8]) -> u16 {
        let words = bytes
            .chunks(2)
            .map(|word| u32::from_be_bytes([0, 0, word[0], *word.get(1).unwrap_or(&0)]));
        let sum = words.fold(0, |sum: u32, word| {
            let sum = sum + word;
            (sum & 0xffff) + (sum >> 16)
        });
        !(sum as u16)
    }

    /// A packet with DSCP 46, with both checksums; the first byte of UDP is at the second figure.
    fn packet(version: u8, payload: &[u8]) -> (Vec<u8>, usize) {
        let udp_bytes = (8 + payload.len()) as u16;
        let mut udp = vec![0xc0, 0x01, 0xc0, 0x02];
        udp.extend(udp_bytes.to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(payload);
        let addresses: &[u8] =
            if version == 4 { &[198, 18, 0, 1, 198, 18, 0, 2] } else { &[7; 32] };
        let pseudo = [addresses, &[0, 17], &udp_bytes.to_be_bytes(), &udp].concat();
        // Zero would say that there is none.
        let udp_checksum = match checksum(&pseudo) {
            0 => 0xffff,
            sum => sum,
        };
        udp[6..8].copy_from_slice(&udp_checksum.to_be_bytes());
        let mut header = match version {
            4 => vec![0x45, 0xb8, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0],
            _ => vec![0x6b, 0x80, 0, 0, 0, 0, 17, 64],
        };
        header.extend(addresses);
        if version == 4 {
            header[2..4].copy_from_slice(&(20 + udp_bytes).to_be_bytes());
            let header_checksum = checksum(&header);
            header[10..12].copy_from_slice(&header_checksum.to_be_bytes());
        } else {
            header[4..6].copy_from_slice(&udp_bytes.to_be_bytes());
        }
        let udp_at = header.len();
        (header.into_iter().chain(udp).collect(), udp_at)
    }

    proptest! {
        #[test]
        fn a_sound_packet_gives_its_payload_and_a_bit_turned_over_is_noticed(
            version in prop_oneof![Just(4_u8), Just(6)],
            payload in prop::collection::vec(any::<u8>(), 0..100),
            padding in 0_usize..20,
            turned in any::<prop::sample::Index>(),
        ) {
            let (mut packet, udp_at) = packet(version, &payload);
            let (turnable, bytes) = (if version == 4 { 0 } else { 8 }, packet.len());
            packet.resize(bytes + padding, 0xee);
            // DSCP 46 and no ECN.
            let traffic_class = 0xb8;
            for known in [Checksum::Verified, Checksum::ToVerify] {
                prop_assert_eq!(read(&packet, known), Packet::Datagram { payload: &payload, traffic_class });
            }
            let bit = turned.index((bytes - turnable) * 8);
            packet[turnable + bit / 8] ^= 1 << (bit % 8);
            // Of IPv4 the kernel verifies the header itself; a checksum of zero says nothing.
            let is_silent = packet[udp_at + 6..udp_at + 8] == [0, 0];
            let is_datagram = matches!(read(&packet, Checksum::ToVerify), Packet::Datagram { .. });
            prop_assert!(!is_datagram || is_silent);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            read(&bytes, Checksum::ToVerify);
        }
    }

    #[test]
    fn a_packet_that_was_captured_in_part_is_a_merged_one() {
        for version in [4, 6] {
            let (packet, _) = packet(version, &[0; 1000]);
            let merged = Packet::Merged { payload_bytes: 1000 };
            assert_eq!(read(&packet[..500], Checksum::ToVerify), merged);
        }
    }
}

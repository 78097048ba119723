//! The internet checksum (RFC 1071) of IPv4, and of TCP, UDP and ICMPv6 with their addresses.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Between whom a segment travels: its checksum covers this too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    V4 { source: Ipv4Addr, destination: Ipv4Addr },
    V6 { source: Ipv6Addr, destination: Ipv6Addr },
}

/// What may stand in the checksum of what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Network,
    /// A kernel on the same host leaves the sum to an interface that never computes it: the field
    /// then holds the pseudo header's part alone.
    LocalKernel,
}

/// The protocol numbers of what carries such a checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Tcp = 6,
    Udp = 17,
    Icmpv6 = 58,
}

impl Addresses {
    /// `None` where the two addresses are not of one family.
    pub const fn new(source: IpAddr, destination: IpAddr) -> Option<Self> {
        match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => Some(Self::V4 { source, destination }),
            (IpAddr::V6(source), IpAddr::V6(destination)) => Some(Self::V6 { source, destination }),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => None,
        }
    }

    /// Of the pseudo header: addresses, protocol and length.
    fn sum(&self, protocol: Protocol, segment_bytes: usize) -> u64 {
        let addresses = match self {
            Self::V4 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
            Self::V6 { source, destination } => sum(&source.octets()) + sum(&destination.octets()),
        };
        addresses + protocol as u64 + segment_bytes as u64
    }
}

/// What belongs in the checksum of a segment in which that field is zero.
//= rfc9293 MUST-2
pub fn checksum(addresses: &Addresses, protocol: Protocol, segment: &[u8]) -> u16 {
    let folded = !fold(addresses.sum(protocol, segment.len()) + sum(segment));
    match (protocol, folded) {
        // In UDP zero stands for none.
        (Protocol::Udp, 0) => u16::MAX,
        (Protocol::Tcp | Protocol::Udp | Protocol::Icmpv6, _) => folded,
    }
}

/// Whether a TCP segment arrived as it was sent. One without room for a checksum did not.
//= rfc9293 MUST-3
pub fn is_tcp_intact(addresses: &Addresses, segment: &[u8], peer: Peer) -> bool {
    let Some(field) = segment.get(16..18) else { return false };
    let pseudo = addresses.sum(Protocol::Tcp, segment.len());
    let is_partial = u16::from_be_bytes([field[0], field[1]]) == fold(pseudo);
    peer == Peer::LocalKernel && is_partial || fold(pseudo + sum(segment)) == u16::MAX
}

/// Whether a segment arrived as it was sent.
pub(crate) fn is_intact(addresses: &Addresses, protocol: Protocol, segment: &[u8]) -> bool {
    fold(addresses.sum(protocol, segment.len()) + sum(segment)) == u16::MAX
}

/// What belongs in the checksum of an IPv4 header in which that field is zero; of a header that
/// arrived as it was sent it is zero. RFC 791 section 3.1.
pub(crate) fn header_checksum(header: &[u8]) -> u16 {
    !fold(sum(header))
}

/// Of 32-bit words: folded, it is that of 16-bit words.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(4);
    let mut last = [0; 4];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    let word =
        |bytes: &[u8]| u64::from(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    word(&last) + words.map(word).sum::<u64>()
}

const fn fold(mut sum: u64) -> u16 {
    while sum > u16::MAX as u64 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const V4: Addresses = Addresses::V4 {
        source: Ipv4Addr::new(192, 0, 2, 1),
        destination: Ipv4Addr::new(198, 51, 100, 7),
    };
    const V6: Addresses = Addresses::V6 {
        source: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2),
    };

    /// The words of RFC 1071 section 3: 0001 f203 f4f5 f6f7 add up to 2ddf0, folded ddf2.
    #[test]
    fn the_sum_is_that_of_the_rfcs_example() {
        assert_eq!(fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
    }

    /// By hand, 16-bit words: c000 + 0201 + c633 + 6407 of addresses, 6 and 20 bytes, and a header
    /// whose words are 1 to 8, then 0 and 10: 1ec3b + 1a + 2e = 1ec83, folded ec84.
    #[test]
    fn a_header_has_the_checksum_reckoned_by_hand() {
        let words: [u16; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 0, 10];
        let header: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(checksum(&V4, Protocol::Tcp, &header), !0xec84);
    }

    #[test]
    fn a_partial_sum_is_right_from_a_local_kernel_alone() {
        let mut segment = [7; 24];
        let pseudo = fold(V4.sum(Protocol::Tcp, segment.len()));
        segment[16..18].copy_from_slice(&pseudo.to_be_bytes());
        assert!(is_tcp_intact(&V4, &segment, Peer::LocalKernel));
        assert!(!is_tcp_intact(&V4, &segment, Peer::Network));
    }

    //= rfc9293 MUST-2
    //= rfc9293 MUST-3
    proptest! {
        #[test]
        fn what_was_summed_is_intact_and_any_flipped_bit_shows(
            mut segment in vec(any::<u8>(), 20..200),
            bit in any::<proptest::sample::Index>(),
            is_v6 in any::<bool>(),
        ) {
            let addresses = if is_v6 { V6 } else { V4 };
            segment[16..18].fill(0);
            let sum = checksum(&addresses, Protocol::Tcp, &segment);
            segment[16..18].copy_from_slice(&sum.to_be_bytes());
            prop_assert!(is_tcp_intact(&addresses, &segment, Peer::Network));
            let bit = bit.index(segment.len() * 8);
            segment[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(!is_tcp_intact(&addresses, &segment, Peer::Network));
        }
    }
}

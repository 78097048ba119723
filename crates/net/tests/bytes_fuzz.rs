//! Whatever bytes arrive are read or refused, and what is read can be written and reads the same.

#[path = "fuzz/frame.rs"]
mod frame;
#[path = "fuzz/header.rs"]
mod header;

use fp_net::checksum::Peer;
use frame::{check_frame, mend};
use header::check_header;
use proptest::collection::vec;
use proptest::prelude::*;

/// What a frame begins with, so that most are of some kind.
fn any_start() -> impl Strategy<Value = Vec<u8>> {
    let ipv4 = |bytes: u8| vec![0x08, 0x00, 0x45, 0, 0, bytes, 0, 0, 0x40, 0, 64, 6];
    let ipv6 = |kind: u8, bytes: u8| vec![0x86, 0xdd, 0x60, 0, 0, 0, 0, bytes, kind, 255];
    prop_oneof![
        (40_u8..100).prop_map(ipv4),
        (20_u8..80).prop_map(move |bytes| ipv6(6, bytes)),
        (24_u8..40).prop_map(move |bytes| ipv6(58, bytes)),
        Just(vec![0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]),
        vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_a_header_that_reads_the_same_again_or_none(
        bytes in vec(any::<u8>(), 0..80),
    ) {
        check_header(&bytes);
    }

    #[test]
    fn any_bytes_are_a_frame_that_reads_the_same_again_or_none(
        addresses in any::<[u8; 12]>(),
        tags in vec(any::<[u8; 2]>(), 0..4),
        start in any_start(),
        rest in vec(any::<u8>(), 0..140),
        is_mended: bool,
    ) {
        let tags = tags.iter().flat_map(|[a, b]| [0x81, 0x00, *a, *b]);
        let mut frame: Vec<u8> = addresses.into_iter().chain(tags).chain(start).collect();
        frame.extend(rest);
        if is_mended {
            mend(&mut frame);
        }
        for peer in [Peer::Network, Peer::LocalKernel] {
            check_frame(&frame, peer);
        }
    }
}

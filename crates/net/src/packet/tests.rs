//! Frames against bytes written by hand.

use alloc::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::tcp::{Flags, Sequence};

const NEAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const FAR: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);
const LINK: Link = Link { source: NEAR, destination: FAR, tags: NO_TAGS };
const NO_TAGS: VlanTags = VlanTags::NONE;
const PORTS: Ports = Ports { source: 1024, destination: 80 };

const fn v4() -> Addresses {
    Addresses::V4 {
        source: Ipv4Addr::new(198, 18, 0, 1),
        destination: Ipv4Addr::new(198, 19, 0, 1),
    }
}

const fn v6() -> Addresses {
    Addresses::V6 {
        source: Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1),
        destination: Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 1),
    }
}

fn written(envelope: &Envelope, header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut frame = [0xaa; 200];
    let fill = |to: &mut [u8]| to.copy_from_slice(payload);
    let length = envelope.write(PORTS, header, payload.len(), fill, &mut frame);
    frame[..length].to_vec()
}

fn header() -> Header {
    Header {
        sequence: Sequence::new(1),
        acknowledgement: Sequence::new(2),
        flags: Flags::ACK,
        window: 0x1000,
        ..Header::default()
    }
}

/// Sums of 16-bit words by hand. IP: 4528 + 002a + 4000 + 4006 + c612 + 0001 + c613 + 0001 =
/// 2517f, folded 5181, inverted ae7e. TCP: of addresses c612 + 0001 + c613 + 0001 = 18c27, 6 and
/// 22 bytes 1c, of the header 0400 + 0050 + 0001 + 0002 + 5010 + 1000 = 6463, payload 6869: in all
/// 18c27 + 1c + 6463 + 6869 = 2590f, folded 5911, inverted a6ee.
#[test]
fn a_segment_over_ipv4_is_written_as_reckoned_by_hand() {
    let envelope =
        Envelope { link: LINK, addresses: v4(), traffic_class: 0x28, hop_limit: HOP_LIMIT };
    #[rustfmt::skip]
    let want = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
        0x45, 0x28, 0x00, 0x2a, 0, 0, 0x40, 0, 64, 6, 0xae, 0x7e, 198, 18, 0, 1, 198, 19, 0, 1,
        0x04, 0x00, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0x10, 0x00, 0xa6, 0xee, 0, 0,
        b'h', b'i',
    ];
    assert_eq!(written(&envelope, &header(), b"hi"), want);
}

/// The sum of the pseudo header: 2001 + 2 + 1 and 2001 + 2 + 1 + 1 = 4009, 6 and 20 bytes 1a, the
/// header 6463: a486, inverted 5b79.
#[test]
fn a_segment_over_ipv6_with_a_tag_is_written_as_reckoned_by_hand() {
    let tags = NO_TAGS.with(0x8100, 0x0064).unwrap();
    let link = Link { tags, ..LINK };
    let envelope = Envelope { link, addresses: v6(), traffic_class: 0xb8, hop_limit: 64 };
    #[rustfmt::skip]
    let want = [
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0x00, 0x64, 0x86, 0xdd,
        0x6b, 0x80, 0, 0, 0, 20, 6, 64,
        0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        0x20, 0x01, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
        0x04, 0x00, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 0x10, 0x00, 0x5b, 0x79, 0, 0,
    ];
    assert_eq!(written(&envelope, &header(), b""), want);
}

/// RFC 826: who asks knows its own addresses and the one that it asks for.
#[test]
fn an_arp_request_is_answered_as_the_rfc_draws_it() {
    let question =
        Question { link: LINK, asker: [198, 18, 0, 1].into(), target: [198, 19, 0, 1].into() };
    let mut frame = [0; Question::FRAME_BYTES_MAX];
    let length = question.write(&mut frame);
    #[rustfmt::skip]
    let request = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 0x08, 0x06,
        0, 1, 0x08, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 198, 18, 0, 1, 0, 0, 0, 0, 0, 0, 198, 19, 0, 1,
    ];
    assert_eq!(frame[..length], request);
    let Ok(Frame::Question(read)) = Frame::read(&request, Peer::Network) else { panic!("unread") };
    assert_eq!((read.asker, read.target), (question.asker, question.target));
    let length = read.answer(FAR, &mut frame);
    #[rustfmt::skip]
    let reply = [
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x06,
        0, 1, 0x08, 0, 6, 4, 0, 2, 2, 0, 0, 0, 0, 2, 198, 19, 0, 1, 2, 0, 0, 0, 0, 1, 198, 18, 0, 1,
    ];
    assert_eq!(frame[..length], reply);
    assert_eq!(Frame::read(&reply, Peer::Network).unwrap_err(), Unread::Foreign);
}

/// RFC 4861 sections 4.3 and 4.4, with the multicast address and link address of the group.
#[test]
fn a_neighbour_solicitation_is_answered_as_the_rfc_draws_it() {
    let (asker, target) = (v6().source(), v6().destination());
    let question = Question { link: LINK, asker, target };
    let mut frame = [0; Question::FRAME_BYTES_MAX];
    let length = question.write(&mut frame);
    assert_eq!(length, 14 + 40 + 32);
    assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0, 0, 1]);
    // To ff02::1:ff00:1, with 255 hops.
    assert_eq!(frame[20..22], [58, 255]);
    assert_eq!(frame[38..54], [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0, 0, 1]);
    assert_eq!(frame[54..56], [135, 0]);
    assert_eq!(frame[78..86], [1, 1, 2, 0, 0, 0, 0, 1]);
    let Ok(Frame::Question(read)) = Frame::read(&frame[..length], Peer::Network) else {
        panic!("unread")
    };
    let mut answer = [0; Question::FRAME_BYTES_MAX];
    let length = read.answer(FAR, &mut answer);
    // By hand: the pseudo header 2001 + 2 + 1 + 1 and 2001 + 2 + 1 = 4009, 58 and 32 bytes 5a; the
    // message 8800 + 6000 + 2001 + 2 + 1 + 1 + 0201 + 0200 + 0 + 2 = 10c08: 14c6b, folded 4c6c.
    let sum = (!0x4c6c_u16).to_be_bytes();
    #[rustfmt::skip]
    let want = [
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, 58, 255,
        0x20, 0x01, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
        0x20, 0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
        136, 0, sum[0], sum[1], 0x60, 0, 0, 0,
        0x20, 0x01, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 2, 0, 0, 0, 0, 2,
    ];
    assert_eq!(answer[..length], want);
    frame[21] = 254;
    assert_eq!(Frame::read(&frame, Peer::Network).unwrap_err(), Unread::Foreign);
}

#[test]
fn fragments_and_other_protocols_are_foreign_and_padding_is_passed_over() {
    let envelope = Envelope { link: LINK, addresses: v4(), traffic_class: 0, hop_limit: 64 };
    let whole = written(&envelope, &header(), b"");
    let mut padded = whole.clone();
    padded.resize(60, 0x55);
    let Ok(Frame::Tcp(segment)) = Frame::read(&padded, Peer::Network) else { panic!("unread") };
    assert!(segment.payload.is_empty() && segment.envelope == envelope);
    // More fragments, an offset, UDP: with the checksum that belongs to it.
    for (at, byte) in [(20, 0x20), (21, 1), (23, 17)] {
        let mut other = whole.clone();
        other[at] = byte;
        other[24..26].fill(0);
        let sum = header_checksum(&other[14..34]);
        other[24..26].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Frame::read(&other, Peer::Network).unwrap_err(), Unread::Foreign);
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_again_and_a_flipped_bit_is_not(
        payload in vec(any::<u8>(), 0..60),
        traffic_class: u8,
        sequence: u32,
        is_v6: bool,
        tags in 0_u16..3,
        bit in any::<prop::sample::Index>(),
    ) {
        let addresses = if is_v6 { v6() } else { v4() };
        let tags = (0..tags).fold(NO_TAGS, |tags, tag| tags.with(0x88a8, tag).unwrap());
        let link = Link { tags, ..LINK };
        let envelope = Envelope { link, addresses, traffic_class, hop_limit: 3 };
        let header = Header { sequence: Sequence::new(sequence), ..header() };
        let mut frame = written(&envelope, &header, &payload);
        let Ok(Frame::Tcp(read)) = Frame::read(&frame, Peer::Network) else { panic!("unread") };
        prop_assert_eq!((read.envelope, read.ports, read.header), (envelope, PORTS, header));
        prop_assert_eq!(read.payload, payload);
        // Addresses and all behind them are covered by checksums.
        let covered = envelope.headers_bytes() - if is_v6 { 32 } else { 8 };
        let bit = covered * 8 + bit.index((frame.len() - covered) * 8);
        frame[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Frame::read(&frame, Peer::Network).unwrap_err(), Unread::Spoilt);
    }
}

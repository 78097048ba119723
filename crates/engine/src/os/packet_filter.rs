//! Classic BPF programs that say which packets a socket receives.

use std::net::{IpAddr, SocketAddr};

use socket2::SockFilter;

/// Nothing at all.
pub(crate) fn nothing() -> [SockFilter; 1] {
    [verdict(0)]
}

/// The UDP datagrams from `peer` to `local`, of one family, that were sent to this host; for a
/// socket that receives from the IP header on.
pub(super) fn flow(local: SocketAddr, peer: SocketAddr) -> Vec<SockFilter> {
    let to_this_host = Test { load: LOAD_WORD, at: PACKET_TYPE, mask: u32::MAX, equals: 0 };
    datagrams(to_this_host, 0, peer, local)
}

/// The UDP datagrams from `local` to `peer`, of one family, as they leave this host; for a socket
/// that receives whole frames.
pub(super) fn own_flow(local: SocketAddr, peer: SocketAddr) -> Vec<SockFilter> {
    const LEAVES: u32 = libc::PACKET_OUTGOING as u32;
    let leaves = Test { load: LOAD_WORD, at: PACKET_TYPE, mask: u32::MAX, equals: LEAVES };
    datagrams(leaves, NETWORK_HEADER, local, peer)
}

/// Those whose IP header, with nothing between it and UDP, begins at `ip`.
fn datagrams(way: Test, ip: u32, from: SocketAddr, to: SocketAddr) -> Vec<SockFilter> {
    const WHOLE_PACKET: u32 = u32::MAX;
    let tests = match (from.ip(), to.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let addresses =
                [(ip + 12, source.to_bits()), (ip + 16, destination.to_bits())].map(word);
            // Version 4 with 20 bytes of header; UDP; no fragment.
            let header = [
                Test::byte(ip, 0xff, 0x45),
                Test::byte(ip + 9, 0xff, UDP),
                Test::half(ip + 6, 0x3fff, 0),
            ];
            [&header[..], &addresses, &[word((ip + 20, ports(from, to)))]].concat()
        }
        (source, destination) => {
            // Version 6; UDP right behind the header.
            let header = [Test::byte(ip, 0xf0, 0x60), Test::byte(ip + 6, 0xff, UDP)];
            let addresses = words(ip + 8, source).into_iter().chain(words(ip + 24, destination));
            let ports = word((ip + 40, ports(from, to)));
            header.into_iter().chain(addresses).chain([ports]).collect()
        }
    };
    program(&[&[way][..], &tests].concat(), WHOLE_PACKET)
}

const UDP: u32 = 17;
/// Where the kernel shows for whom a packet was: 0 is this host.
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
/// Where the kernel shows a packet from its IP header on, whatever is before that.
const NETWORK_HEADER: u32 = libc::SKF_NET_OFF as u32;

const LOAD_WORD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const LOAD_HALF: u32 = libc::BPF_LD | libc::BPF_H | libc::BPF_ABS;
const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// What part of a packet must be.
#[derive(Clone, Copy)]
struct Test {
    load: u32,
    at: u32,
    mask: u32,
    equals: u32,
}

impl Test {
    const fn byte(at: u32, mask: u32, equals: u32) -> Self {
        Self { load: LOAD_BYTE, at, mask, equals }
    }

    const fn half(at: u32, mask: u32, equals: u32) -> Self {
        Self { load: LOAD_HALF, at, mask, equals }
    }
}

const fn word((at, equals): (u32, u32)) -> Test {
    Test { load: LOAD_WORD, at, mask: u32::MAX, equals }
}

/// The four words of an IPv6 address.
fn words(at: u32, address: IpAddr) -> [Test; 4] {
    let bits = match address {
        IpAddr::V6(address) => address.to_bits(),
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
    };
    [0, 1, 2, 3].map(|place| word((at + 4 * place, (bits >> (96 - 32 * place)) as u32)))
}

/// Source and destination port as they stand one after the other.
fn ports(from: SocketAddr, to: SocketAddr) -> u32 {
    u32::from(from.port()) << 16 | u32::from(to.port())
}

/// Receives `bytes` of a packet that passes all tests, and nothing of another one.
fn program(tests: &[Test], bytes: u32) -> Vec<SockFilter> {
    const STEPS: usize = 3;
    let mut steps = Vec::with_capacity(STEPS * tests.len() + 2);
    for (place, test) in tests.iter().enumerate() {
        // Over the tests that follow and over the verdict for those that pass.
        let to_the_end = STEPS * (tests.len() - 1 - place) + 1;
        assert!(to_the_end <= u8::MAX.into(), "a jump goes over 255 steps at most");
        steps.push(SockFilter::new(test.load as u16, 0, 0, test.at));
        steps.push(SockFilter::new(AND as u16, 0, 0, test.mask));
        steps.push(SockFilter::new(JUMP_IF_EQUAL as u16, 0, to_the_end as u8, test.equals));
    }
    steps.extend([verdict(bytes), verdict(0)]);
    steps
}

fn verdict(bytes: u32) -> SockFilter {
    SockFilter::new(RETURN as u16, 0, 0, bytes)
}

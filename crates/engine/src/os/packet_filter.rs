//! Classic BPF programs that say which packets a socket receives.

use std::net::{IpAddr, SocketAddr};

use socket2::SockFilter;

use super::frame_filter::{FrameFilter, Part, Passes, Rule, Test, Verdict, Width};

/// Nothing at all.
pub(crate) fn nothing() -> [SockFilter; 1] {
    [verdict(0)]
}

/// What a packet port is for; for a socket that receives whole frames.
pub(super) fn frames(filter: &FrameFilter) -> Vec<SockFilter> {
    // The kernel takes a tag off the frame before the socket sees it.
    let tagged = Test::word(VLAN_TAG_IS_THERE, u32::MAX, 1);
    let others = Rule { tests: vec![tagged], verdict: Verdict::Leave };
    program(&[&[others][..], filter.rules()].concat())
}

/// The UDP datagrams from `peer` to `local`, of one family, that were sent to this host; for a
/// socket that receives from the IP header on.
pub(super) fn flow(local: SocketAddr, peer: SocketAddr) -> Vec<SockFilter> {
    const THIS_HOST: u32 = libc::PACKET_HOST as u32;
    let to_this_host = word((PACKET_TYPE, THIS_HOST));
    datagrams(to_this_host, 0, peer, local)
}

/// The UDP datagrams from `local` to `peer`, of one family, as they leave this host; for a socket
/// that receives whole frames.
pub(super) fn own_flow(local: SocketAddr, peer: SocketAddr) -> Vec<SockFilter> {
    const LEAVES: u32 = libc::PACKET_OUTGOING as u32;
    let leaves = word((PACKET_TYPE, LEAVES));
    datagrams(leaves, NETWORK_HEADER, local, peer)
}

/// Those whose IP header, with nothing between it and UDP, begins at `ip`.
fn datagrams(way: Test, ip: u32, from: SocketAddr, to: SocketAddr) -> Vec<SockFilter> {
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
    program(&[Rule::take([&[way][..], &tests].concat())])
}

const UDP: u32 = 17;
/// Where the kernel shows for whom a packet was: 0 is this host.
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;
/// Where the kernel shows whether a frame had a VLAN tag.
const VLAN_TAG_IS_THERE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT) as u32;
/// Where the kernel shows a packet from its IP header on, whatever is before that.
const NETWORK_HEADER: u32 = libc::SKF_NET_OFF as u32;

const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const REMAINDER: u32 = libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K;
const LESS: u32 = libc::BPF_ALU | libc::BPF_SUB | libc::BPF_K;
const JUMP_IF_GREATER: u32 = libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K;
const JUMP_IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

const fn word((at, equals): (u32, u32)) -> Test {
    Test::word(at, u32::MAX, equals)
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

/// Receives the packets that the rules take.
fn program(rules: &[Rule]) -> Vec<SockFilter> {
    const WHOLE_PACKET: u32 = u32::MAX;
    let mut steps = Vec::new();
    for rule in rules {
        steps.extend(conjunction(&rule.tests));
        steps.push(match rule.verdict {
            Verdict::Take => verdict(WHOLE_PACKET),
            Verdict::Leave => verdict(0),
        });
    }
    steps.push(verdict(0));
    assert!(steps.len() <= libc::BPF_MAXINSNS as usize, "the kernel takes 4096 steps at most");
    steps
}

/// Goes over the one step that follows where a test is not passed.
fn conjunction(tests: &[Test]) -> Vec<SockFilter> {
    const STEPS: usize = 3;
    let mut steps = Vec::with_capacity(STEPS * tests.len());
    for (place, test) in tests.iter().enumerate() {
        // Over the tests that follow and over the verdict for those that pass.
        let to_the_end = STEPS * (tests.len() - 1 - place) + 1;
        assert!(to_the_end <= u8::MAX.into(), "a jump goes over 255 steps at most");
        let width = match test.width {
            Width::Byte => libc::BPF_B,
            Width::Half => libc::BPF_H,
            Width::Word => libc::BPF_W,
        };
        let load = libc::BPF_LD | width | libc::BPF_ABS;
        let (operation, operand) = match test.part {
            Part::Masked(mask) => (AND, mask),
            Part::RemainderOf(divisor) => (REMAINDER, divisor),
            Part::Beyond(least) => (LESS, least),
        };
        let to_the_end = to_the_end as u8;
        steps.push(SockFilter::new(load as u16, 0, 0, test.at));
        steps.push(SockFilter::new(operation as u16, 0, 0, operand));
        steps.push(match test.passes {
            Passes::Equal(value) => SockFilter::new(JUMP_IF_EQUAL as u16, 0, to_the_end, value),
            Passes::UpTo(most) => SockFilter::new(JUMP_IF_GREATER as u16, to_the_end, 0, most),
        });
    }
    steps
}

fn verdict(bytes: u32) -> SockFilter {
    SockFilter::new(RETURN as u16, 0, 0, bytes)
}

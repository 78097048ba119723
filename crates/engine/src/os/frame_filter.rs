//! Which frames a packet port is for, as rules of which both kinds of BPF program are made.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU16;

use fp_model::PortRange;

/// The addresses whose first bits are those of one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// `None` where the family has no prefix of so many bits. Bits of `address` beyond them are
    /// forgotten.
    pub fn new(address: IpAddr, len: u8) -> Option<Self> {
        let address = match address {
            IpAddr::V4(address) if len <= 32 => {
                IpAddr::from((address.to_bits() & ipv4_mask(len)).to_be_bytes())
            }
            IpAddr::V6(address) if len <= 128 => {
                Ipv6Addr::from_bits(address.to_bits() & ipv6_mask(len)).into()
            }
            IpAddr::V4(_) | IpAddr::V6(_) => return None,
        };
        Some(Self { address, len })
    }

    /// Of one address alone.
    pub const fn of(address: IpAddr) -> Self {
        let len = match address {
            IpAddr::V4(_) => 32,
            IpAddr::V6(_) => 128,
        };
        Self { address, len }
    }

    /// Its first so many bits, if it has more.
    #[must_use]
    pub fn shortened(self, len: u8) -> Self {
        Self::new(self.address, len.min(self.len)).unwrap_or(self)
    }

    pub const fn address(&self) -> IpAddr {
        self.address
    }

    pub const fn len_bits(&self) -> u8 {
        self.len
    }

    /// Whether one of the two has the other.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(other.address) || other.contains(self.address)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        Self::new(address, self.len) == Some(*self)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

const fn ipv4_mask(len: u8) -> u32 {
    match u32::MAX.checked_shl(32 - len as u32) {
        Some(mask) => mask,
        None => 0,
    }
}

const fn ipv6_mask(len: u8) -> u128 {
    match u128::MAX.checked_shl(128 - len as u32) {
        Some(mask) => mask,
        None => 0,
    }
}

/// Which of several ports on one interface a TCP segment belongs to, by the client's port number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    clients: Clients,
    client: ClientIs,
    /// What has no port number.
    takes_others: bool,
}

/// The client port numbers of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clients {
    All,
    /// Those of which this is left when they are divided by `of`.
    Remainder {
        place: u16,
        of: u16,
    },
    Between {
        first: u16,
        last: u16,
    },
}

/// Where the client's port number stands in the segments that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientIs {
    Source,
    Destination,
}

impl Share {
    /// Of a port that has its interface for itself.
    pub const ALL: Self =
        Self { clients: Clients::All, client: ClientIs::Source, takes_others: true };

    /// The shares of so many ports: each has the client ports that leave its place when they are
    /// divided by their number.
    pub fn of_each(ports: NonZeroU16, client: ClientIs) -> impl Iterator<Item = Self> {
        let of = ports.get();
        (0..of).map(move |place| {
            let clients = if of == 1 { Clients::All } else { Clients::Remainder { place, of } };
            Self { clients, client, takes_others: place == 0 }
        })
    }

    /// The filters of as many sockets as there are ranges: each takes one range of client ports.
    pub fn of_ranges(
        ranges: impl IntoIterator<Item = PortRange>,
        client: ClientIs,
    ) -> impl Iterator<Item = Self> {
        ranges.into_iter().enumerate().map(move |(place, PortRange { first, last })| Self {
            clients: Clients::Between { first, last },
            client,
            takes_others: place == 0,
        })
    }
}

/// The untagged IP packets to some prefixes, and the ARP messages and neighbour solicitations that
/// ask for their addresses.
///
/// What is not a plain TCP segment (other protocols, fragments, header options before TCP, ARP)
/// has no port number to be shared by: the first share has it.
#[derive(Clone, Debug)]
pub(crate) struct FrameFilter {
    rules: Vec<Rule>,
}

impl FrameFilter {
    /// The most prefixes that a filter takes: each is looked for in every frame.
    pub(crate) const PREFIXES_MAX: usize = 16;

    pub(crate) fn new(prefixes: &[Prefix], share: Share) -> Self {
        assert!(prefixes.len() <= Self::PREFIXES_MAX, "a port is for 16 prefixes at most");
        let mut rules = Vec::new();
        if share.clients != Clients::All {
            rules.extend(prefixes.iter().map(|prefix| Rule::take(segments(prefix, share))));
            let plain = [PLAIN_IPV4.to_vec(), PLAIN_IPV6.to_vec()];
            rules.extend(plain.map(Rule::leave));
        }
        if share.takes_others {
            rules.extend(prefixes.iter().map(|prefix| Rule::take(packets(prefix))));
            rules.extend(prefixes.iter().map(|prefix| Rule::take(questions(prefix))));
        }
        Self { rules }
    }

    /// The first rule all of whose tests a frame passes decides; without one it is not taken.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

/// What to do with a packet that passes all tests.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) tests: Vec<Test>,
    pub(super) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Take,
    Leave,
}

impl Rule {
    pub(super) const fn take(tests: Vec<Test>) -> Self {
        Self { tests, verdict: Verdict::Take }
    }

    const fn leave(tests: Vec<Test>) -> Self {
        Self { tests, verdict: Verdict::Leave }
    }
}

/// What part of a packet must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) width: Width,
    pub(super) at: u32,
    pub(super) part: Part,
    pub(super) passes: Passes,
}

/// Numbers of one, two and four bytes, the most significant first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    Byte,
    Half,
    Word,
}

impl Width {
    pub(super) const fn bytes(self) -> u32 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Word => 4,
        }
    }
}

/// What of a number is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Masked(u32),
    RemainderOf(u32),
    /// How far it is beyond this; a number that is less is very far beyond.
    Beyond(u32),
}

/// What a part of a frame must be for it to pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum Passes {
    Equal(u32),
    UpTo(u32),
}

impl Test {
    pub(super) const fn byte(at: u32, mask: u32, equals: u32) -> Self {
        Self { width: Width::Byte, at, part: Part::Masked(mask), passes: Passes::Equal(equals) }
    }

    pub(super) const fn half(at: u32, mask: u32, equals: u32) -> Self {
        Self { width: Width::Half, at, part: Part::Masked(mask), passes: Passes::Equal(equals) }
    }

    pub(super) const fn word(at: u32, mask: u32, equals: u32) -> Self {
        Self { width: Width::Word, at, part: Part::Masked(mask), passes: Passes::Equal(equals) }
    }
}

/// Where the IP header begins in an untagged Ethernet frame.
const IP: u32 = 14;
const IS_IPV4: Test = Test::half(12, 0xffff, libc::ETH_P_IP as u32);
const IS_IPV6: Test = Test::half(12, 0xffff, libc::ETH_P_IPV6 as u32);
const IS_ARP: Test = Test::half(12, 0xffff, libc::ETH_P_ARP as u32);
const TCP: u32 = libc::IPPROTO_TCP as u32;

/// 20 bytes of header; TCP; no fragment.
const PLAIN_IPV4: [Test; 4] = [
    IS_IPV4,
    Test::byte(IP, 0xff, 0x45),
    Test::byte(IP + 9, 0xff, TCP),
    Test::half(IP + 6, 0x3fff, 0),
];
/// TCP right behind the header.
const PLAIN_IPV6: [Test; 2] = [IS_IPV6, Test::byte(IP + 6, 0xff, TCP)];

/// The plain TCP segments to a prefix that belong to a share.
fn segments(prefix: &Prefix, share: Share) -> Vec<Test> {
    let (plain, tcp) = match prefix.address {
        IpAddr::V4(_) => (&PLAIN_IPV4[..], IP + 20),
        IpAddr::V6(_) => (&PLAIN_IPV6[..], IP + 40),
    };
    let at = match share.client {
        ClientIs::Source => tcp,
        ClientIs::Destination => tcp + 2,
    };
    let belongs = match share.clients {
        Clients::All => None,
        Clients::Remainder { place, of } => {
            Some((Part::RemainderOf(of.into()), Passes::Equal(place.into())))
        }
        Clients::Between { first, last } => {
            Some((Part::Beyond(first.into()), Passes::UpTo(last.saturating_sub(first).into())))
        }
    };
    let belongs = belongs.map(|(part, passes)| Test { width: Width::Half, at, part, passes });
    [plain, &destination(prefix), belongs.as_slice()].concat()
}

fn packets(prefix: &Prefix) -> Vec<Test> {
    let family = match prefix.address {
        IpAddr::V4(_) => IS_IPV4,
        IpAddr::V6(_) => IS_IPV6,
    };
    [&[family][..], &destination(prefix)].concat()
}

fn destination(prefix: &Prefix) -> Vec<Test> {
    match prefix.address {
        IpAddr::V4(_) => inside(prefix, IP + 16),
        IpAddr::V6(_) => inside(prefix, IP + 24),
    }
}

/// Who has an address of the prefix: the target of ARP (RFC 826) and of neighbour solicitation (RFC
/// 4861 section 4.3), which goes to a group that many addresses share.
fn questions(prefix: &Prefix) -> Vec<Test> {
    const NEIGHBOUR_SOLICITATION: u32 = 135;
    match prefix.address {
        IpAddr::V4(_) => [&[IS_ARP][..], &inside(prefix, IP + 24)].concat(),
        IpAddr::V6(_) => {
            let icmp = Test::byte(IP + 6, 0xff, libc::IPPROTO_ICMPV6 as u32);
            let kind = Test::byte(IP + 40, 0xff, NEIGHBOUR_SOLICITATION);
            [&[IS_IPV6, icmp, kind][..], &inside(prefix, IP + 48)].concat()
        }
    }
}

/// Whether the address that stands at `at` is one of the prefix.
fn inside(prefix: &Prefix, at: u32) -> Vec<Test> {
    match prefix.address {
        IpAddr::V4(address) => vec![Test::word(at, ipv4_mask(prefix.len), address.to_bits())],
        IpAddr::V6(address) => {
            let word = |bits: u128, place: u32| (bits >> (96 - 32 * place)) as u32;
            let (mask, bits) = (ipv6_mask(prefix.len), address.to_bits());
            // The last words first: those of two prefixes of one plan differ there.
            let words = (0..4).rev().filter(|place| word(mask, *place) != 0);
            words.map(|i| Test::word(at + 4 * i, word(mask, i), word(bits, i))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_the_addresses_that_begin_like_it() {
        let prefix = |text: &str, len| Prefix::new(text.parse().unwrap(), len).unwrap();
        let sixteen = prefix("198.18.77.1", 16);
        assert_eq!(sixteen.to_string(), "198.18.0.0/16");
        assert!(sixteen.contains("198.18.255.255".parse().unwrap()));
        assert!(!sixteen.contains("198.19.0.0".parse().unwrap()));
        assert!(!sixteen.contains("2001:2::1".parse().unwrap()));
        assert!(prefix("198.18.0.1", 32).contains("198.18.0.1".parse().unwrap()));
        assert!(prefix("0.0.0.0", 0).contains("255.255.255.255".parse().unwrap()));
        assert!(prefix("2001:2::7", 127).contains("2001:2::6".parse().unwrap()));
        assert!(prefix("::", 0).contains("ff02::1".parse().unwrap()));
    }

    #[test]
    fn no_family_has_longer_prefixes_than_addresses() {
        assert_eq!(Prefix::new("198.18.0.0".parse().unwrap(), 33), None);
        assert_eq!(Prefix::new("2001:2::".parse().unwrap(), 129), None);
    }
}

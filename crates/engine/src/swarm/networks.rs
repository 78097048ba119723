//! Where a far end lets near ends have addresses for connections.
//!
//! A far end answers only for the networks of `serve --allow-connections`, and for each address in
//! one flow at a time.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use fp_model::AddressRange;

use super::opening::covering;
use crate::frame_io::Prefix;

/// Networks whose addresses a far end answers for, and sends to, as near ends ask it to.
///
/// Whoever may choose addresses freely could take those of other hosts on the far end's link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionNetworks(Vec<Prefix>);

/// Why a text names no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no network: write it as 198.18.0.0/15 or 2001:2::/48")]
pub struct NotANetwork(String);

impl ConnectionNetworks {
    /// Near ends have no connections here.
    pub const NONE: Self = Self(Vec::new());

    /// The networks that are set apart for tests: RFC 2544 appendix C.2.2 and RFC 5180 section 8.
    pub fn for_benchmarks() -> Self {
        let networks = [
            (IpAddr::V4(Ipv4Addr::new(198, 18, 0, 0)), 15),
            (IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 0)), 48),
        ];
        Self(networks.into_iter().filter_map(|(network, len)| Prefix::new(network, len)).collect())
    }

    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn hold(&self, range: &AddressRange) -> bool {
        let range = covering(range);
        let holds = |network: &Prefix| {
            network.len_bits() <= range.len_bits() && network.contains(range.address())
        };
        self.0.iter().any(holds)
    }
}

impl FromStr for ConnectionNetworks {
    type Err = NotANetwork;

    /// Networks with commas between them.
    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        text.split(',').map(network).collect::<Result<_, _>>().map(Self)
    }
}

fn network(text: &str) -> Result<Prefix, NotANetwork> {
    let read = || {
        let (address, len) = text.trim().split_once('/')?;
        Prefix::new(address.parse().ok()?, len.parse().ok()?)
    };
    read().ok_or_else(|| NotANetwork(text.to_owned()))
}

impl fmt::Display for ConnectionNetworks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks: Vec<String> = self.0.iter().map(Prefix::to_string).collect();
        f.write_str(&networks.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(network: &str, prefix_bits: u8, first: u32, count: u32) -> AddressRange {
        AddressRange { network: network.parse().unwrap(), prefix_bits, first, count }
    }

    #[test]
    fn addresses_are_held_that_are_all_in_one_network() {
        let networks: ConnectionNetworks = "198.18.0.0/15, 2001:2::/48".parse().unwrap();
        assert_eq!(networks, ConnectionNetworks::for_benchmarks());
        assert_eq!(networks.to_string(), "198.18.0.0/15, 2001:2::/48");
        assert!(networks.hold(&range("198.19.0.0", 16, 1, 65_534)));
        assert!(networks.hold(&range("2001:2:0:1::", 64, 1, 9)));
        assert!(!networks.hold(&range("198.20.0.0", 16, 1, 1)));
        // The last address is 198.20.0.0.
        assert!(!networks.hold(&range("198.0.0.0", 8, 0x0013_ffff, 2)));
        assert!(!networks.hold(&range("2001:3::", 48, 1, 1)));
        assert!(!ConnectionNetworks::NONE.hold(&range("198.18.0.0", 15, 1, 1)));
    }

    #[test]
    fn what_is_no_network_is_quoted() {
        for text in ["", "198.18.0.0", "198.18.0.0/33", "::/129", "198.18.0.0/15,x/1"] {
            let refused = text.parse::<ConnectionNetworks>().unwrap_err().to_string();
            assert!(refused.contains("is no network: write it as"), "{refused}");
        }
    }
}

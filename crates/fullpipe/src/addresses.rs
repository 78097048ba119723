//! Between whom connections are: networks and ports as they are written on the command line.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fp_model::{AddressRange, Family, PortRange};

use crate::values;

/// A network whose hosts are one side of the connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    network: IpAddr,
    bits: u8,
}

/// More hosts of one network are not taken: those of a /16.
const HOSTS_MAX: u32 = 65_534;

impl Prefix {
    /// RFC 2544 appendix C.2.2 and RFC 5180 section 8 keep these for tests of devices; the first of
    /// them are left to the two hosts.
    pub(crate) const fn usual_clients(family: Family) -> Self {
        match family {
            Family::Ipv4 => Self { network: IpAddr::V4(Ipv4Addr::new(198, 18, 128, 0)), bits: 17 },
            Family::Ipv6 => {
                Self { network: IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 0)), bits: 64 }
            }
        }
    }

    pub(crate) const fn usual_servers(family: Family) -> Self {
        match family {
            Family::Ipv4 => Self { network: IpAddr::V4(Ipv4Addr::new(198, 19, 0, 0)), bits: 16 },
            Family::Ipv6 => {
                Self { network: IpAddr::V6(Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 0)), bits: 64 }
            }
        }
    }

    pub(crate) const fn family(&self) -> Family {
        match self.network {
            IpAddr::V4(_) => Family::Ipv4,
            IpAddr::V6(_) => Family::Ipv6,
        }
    }

    /// So many of its hosts, or all there are.
    pub(crate) fn hosts(&self, wanted: u32) -> AddressRange {
        let (most, is_v4) = match self.network {
            IpAddr::V4(_) => (32, true),
            IpAddr::V6(_) => (128, false),
        };
        let host_bits = u32::from(most - self.bits);
        let all = 1_u128.checked_shl(host_bits).unwrap_or(u128::MAX);
        // The network's own address is no host's, nor is that of all IPv4 hosts; a network of one
        // or two addresses has hosts alone: RFC 3021.
        let (first, hosts) = match (host_bits, is_v4) {
            (0, _) | (1, true) => (0, all),
            (_, true) => (1, all - 2),
            (_, false) => (1, all - 1),
        };
        let hosts = u32::try_from(hosts).unwrap_or(HOSTS_MAX).min(HOSTS_MAX);
        let count = wanted.min(hosts);
        AddressRange { network: self.network, prefix_bits: self.bits, first, count }
    }

    pub(crate) fn all_hosts(&self) -> AddressRange {
        self.hosts(HOSTS_MAX)
    }
}

pub(crate) fn prefix(text: &str) -> Result<Prefix, String> {
    const ALLOWED: &str =
        "a network is written as 198.18.0.0/16 or 2001:2::/64, a host alone as 198.18.0.1";
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits)),
        None => (text, None),
    };
    let network: IpAddr = address.trim().parse().map_err(|_| ALLOWED)?;
    let most = if network.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        Some(bits) => bits.trim().parse::<u8>().map_err(|_| ALLOWED)?,
        None => most,
    };
    if !(1..=most).contains(&bits) {
        return Err(format!("the prefix of {network} has 1 to {most} bits, not {bits}"));
    }
    Ok(Prefix { network, bits })
}

pub(crate) fn port_range(text: &str) -> Result<PortRange, String> {
    values::port_range(text)
        .ok_or_else(|| "ports are from 1 to 65535, such as 1024-65535 or 80".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> (u32, u32) {
        let range = prefix(text).unwrap().all_hosts();
        (range.first, range.count)
    }

    #[test]
    fn a_network_has_the_hosts_that_its_standard_says() {
        assert_eq!(hosts("198.18.0.0/24"), (1, 254));
        assert_eq!(hosts("198.18.0.0/16"), (1, 65_534));
        assert_eq!(hosts("10.0.0.0/8"), (1, 65_534));
        assert_eq!((hosts("198.18.0.4/30"), hosts("198.18.0.4/31")), ((1, 2), (0, 2)));
        assert_eq!((hosts("198.18.0.9"), hosts("2001:2::9")), ((0, 1), (0, 1)));
        assert_eq!((hosts("2001:2::/64"), hosts("2001:2::/126")), ((1, 65_534), (1, 3)));
        assert_eq!(Prefix::usual_clients(Family::Ipv4).hosts(64).count, 64);
        assert_eq!(prefix("2001:2:0:1::/64"), Ok(Prefix::usual_clients(Family::Ipv6)));
        assert_eq!(prefix("2001:2:0:2::/64"), Ok(Prefix::usual_servers(Family::Ipv6)));
    }

    #[test]
    fn what_is_no_network_or_port_is_refused_with_what_is() {
        for text in ["198.18.0", "198.18.0.0/x", "here/8", ""] {
            assert!(prefix(text).unwrap_err().contains("198.18.0.0/16"), "{text}");
        }
        assert!(prefix("198.18.0.0/33").unwrap_err().contains("1 to 32 bits, not 33"));
        assert!(prefix("::/0").unwrap_err().contains("1 to 128 bits, not 0"));
        assert_eq!(port_range("80"), Ok(PortRange { first: 80, last: 80 }));
        assert_eq!(port_range("1024-65535"), Ok(PortRange { first: 1024, last: 65_535 }));
        for text in ["0", "9-8", "65536", "-80", "a-b"] {
            assert!(port_range(text).unwrap_err().contains("1 to 65535"), "{text}");
        }
    }
}

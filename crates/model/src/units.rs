//! Rates, code points, instants and layers, each with one unit and one meaning.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Family;

/// A rate in bits per second. The layer it is counted at is part of the variable's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    pub const ZERO: Self = Self(0);

    #[inline]
    pub const fn bps(bits: u64) -> Self {
        Self(bits)
    }

    pub const fn mbps(megabits: u64) -> Self {
        Self(megabits * 1_000_000)
    }

    /// The rate that carries `bytes` in `time`, rounded to the nearest bit per second; zero for no
    /// time.
    pub fn over(bytes: u64, time: Duration) -> Self {
        let nanos = time.as_nanos();
        if nanos == 0 {
            return Self::ZERO;
        }
        let bits = (u128::from(bytes) * 8_000_000_000 + nanos / 2) / nanos;
        Self(u64::try_from(bits).unwrap_or(u64::MAX))
    }

    #[inline]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// This rate times `factor`, rounded to the nearest bit per second.
    ///
    /// # Panics
    /// Where `factor` is negative or not a number.
    pub fn scaled(self, factor: f64) -> Self {
        assert!(factor >= 0.0, "a rate cannot be scaled by {factor}");
        Self((self.0 as f64 * factor + 0.5) as u64)
    }

    /// Bytes carried in `time`, rounded down.
    #[inline]
    pub const fn bytes_in(self, time: Duration) -> u64 {
        (self.0 as u128 * time.as_nanos() / 8_000_000_000) as u64
    }

    /// Time to carry `bytes`, rounded up so that a paced sender is never early.
    ///
    /// # Panics
    /// For the zero rate, at which nothing is ever carried.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Duration {
        assert!(self.0 > 0, "nothing is ever carried at a rate of zero");
        Duration::from_nanos((bytes as u128 * 8_000_000_000).div_ceil(self.0 as u128) as u64)
    }
}

/// Where a rate or a length is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// On the line: the frame with preamble, start delimiter and inter-frame gap.
    L1,
    /// The Ethernet frame from destination address to FCS.
    L2,
    /// The IP packet.
    L3,
    /// The TCP or UDP payload.
    L4,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::L1 => "l1",
            Self::L2 => "l2",
            Self::L3 => "l3",
            Self::L4 => "l4",
        })
    }
}

/// A rate together with the layer at which its bits are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayeredRate {
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    pub layer: Layer,
}

/// The bytes of one packet at each layer: what turns a rate at one layer into a rate at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PacketLayout {
    /// TCP or UDP payload.
    pub payload_bytes: u32,
    /// The IP packet.
    pub packet_bytes: u32,
    /// The frame with FCS, VLAN tags included.
    pub frame_bytes: u32,
}

impl PacketLayout {
    /// Ethernet addresses, type and FCS.
    pub const ETHERNET_L2_OVERHEAD: u32 = 18;
    pub const ETHERNET_FCS_BYTES: u32 = 4;
    /// Preamble, start-of-frame delimiter and inter-frame gap.
    pub const ETHERNET_L1_OVERHEAD: u32 = 20;
    /// IEEE 802.1Q.
    pub const VLAN_TAG_BYTES: u32 = 4;
    pub const UDP_HEADER_BYTES: u32 = 8;
    /// Without options (RFC 9293 §3.1).
    pub const TCP_HEADER_BYTES: u32 = 20;
    /// What timestamps take in each segment: ten bytes, and two that align them (RFC 7323 appendix A).
    pub const TCP_TIMESTAMPS_BYTES: u32 = 12;

    /// An untagged Ethernet frame around a packet of `packet_bytes` that carries `payload_bytes`.
    pub const fn ethernet(packet_bytes: u32, payload_bytes: u32) -> Self {
        let frame_bytes = packet_bytes + Self::ETHERNET_L2_OVERHEAD;
        Self { payload_bytes, packet_bytes, frame_bytes }
    }

    /// Of a frame of `frame_bytes` that carries UDP and bears `vlan_tags`: everything around its
    /// payload.
    pub const fn udp_headers_bytes(family: Family, vlan_tags: u8) -> u32 {
        let ethernet = Self::ETHERNET_L2_OVERHEAD + Self::VLAN_TAG_BYTES * vlan_tags as u32;
        ethernet + family.ip_header_bytes() + Self::UDP_HEADER_BYTES
    }

    /// UDP in a frame of `frame_bytes`, tags included; `None` where the headers alone are longer.
    pub const fn udp(frame_bytes: u32, family: Family, vlan_tags: u8) -> Option<Self> {
        match frame_bytes.checked_sub(Self::udp_headers_bytes(family, vlan_tags)) {
            None => None,
            Some(payload_bytes) => {
                let packet_bytes =
                    payload_bytes + Self::UDP_HEADER_BYTES + family.ip_header_bytes();
                Some(Self { payload_bytes, packet_bytes, frame_bytes })
            }
        }
    }

    #[inline]
    pub const fn bytes_at(&self, layer: Layer) -> u32 {
        match layer {
            Layer::L1 => self.frame_bytes + Self::ETHERNET_L1_OVERHEAD,
            Layer::L2 => self.frame_bytes,
            Layer::L3 => self.packet_bytes,
            Layer::L4 => self.payload_bytes,
        }
    }

    /// The same packets per second counted at another layer, rounded to the nearest bit per second.
    pub fn convert(&self, from: LayeredRate, to: Layer) -> Rate {
        let (have, want) = (self.bytes_at(from.layer), self.bytes_at(to));
        assert!(have > 0, "a packet without payload has no rate at layer 4");
        let bits = u128::from(from.rate.as_bps()) * u128::from(want);
        let have = u128::from(have);
        Rate::bps(u64::try_from((bits + have / 2) / have).unwrap_or(u64::MAX))
    }
}

/// A DiffServ code point, RFC 2474: six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Dscp(u8);

impl Dscp {
    pub const BEST_EFFORT: Self = Self(0);

    /// `None` above 63.
    pub const fn new(code_point: u8) -> Option<Self> {
        if code_point < 64 { Some(Self(code_point)) } else { None }
    }

    /// Of an IPv4 type-of-service or IPv6 traffic-class byte, whose low two bits are ECN.
    pub const fn of_traffic_class(byte: u8) -> Self {
        Self(byte >> 2)
    }

    pub const fn code_point(self) -> u8 {
        self.0
    }

    /// The type-of-service or traffic-class byte, not ECN-capable.
    pub const fn traffic_class(self) -> u8 {
        self.0 << 2
    }
}

impl TryFrom<u8> for Dscp {
    type Error = &'static str;

    fn try_from(code_point: u8) -> Result<Self, Self::Error> {
        Self::new(code_point).ok_or("a DSCP is a number from 0 to 63")
    }
}

impl From<Dscp> for u8 {
    fn from(dscp: Dscp) -> Self {
        dscp.0
    }
}

/// The two lower bits of the IPv4 TOS or IPv6 traffic class octet: RFC 3168 section 5.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Ecn {
    #[default]
    NotEct,
    Ect1,
    Ect0,
    /// Congestion experienced: set by the network alone.
    Ce,
}

impl Ecn {
    pub const fn of_traffic_class(traffic_class: u8) -> Self {
        match traffic_class & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }

    pub const fn code_point(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// In documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotEct => "not_ect",
            Self::Ect1 => "ect1",
            Self::Ect0 => "ect0",
            Self::Ce => "ce",
        }
    }
}

/// Nanoseconds on a monotonic clock: the host's, the emulator's or the simulator's.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Time(u64);

impl Time {
    pub const ZERO: Self = Self(0);

    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    #[inline]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The time passed since `earlier`; zero if that is in the future.
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;

    #[inline]
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.as_nanos() as u64))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;

    #[inline]
    fn sub(self, rhs: Duration) -> Self {
        Self(self.0.saturating_sub(rhs.as_nanos() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of the RFC 6349 application note: 100 Mbit/s and 10.211 ms.
    #[test]
    fn bytes_in_one_round_trip_are_the_bandwidth_delay_product() {
        let rtt = Duration::from_micros(10_211);
        assert_eq!(Rate::mbps(100).bytes_in(rtt), 127_637);
    }

    /// A full TCP segment: 1460 of payload in 1538 bytes on the line.
    #[test]
    fn a_line_of_100_mbit_carries_94_928_mbit_of_payload() {
        let packet = PacketLayout::ethernet(1500, 1460);
        let line = LayeredRate { rate: Rate::mbps(100), layer: Layer::L1 };
        assert_eq!(packet.convert(line, Layer::L4), Rate::bps(94_928_479));
        assert_eq!(packet.bytes_at(Layer::L1), 1538);
    }

    #[test]
    fn tags_take_their_bytes_from_the_payload() {
        // 1518 less 18 of Ethernet, 20 of IPv4 and 8 of UDP; each tag takes 4.
        let udp = |family, tags| PacketLayout::udp(1518, family, tags).unwrap();
        assert_eq!(udp(Family::Ipv4, 0), PacketLayout::ethernet(1500, 1472));
        assert_eq!(udp(Family::Ipv4, 2).payload_bytes, 1464);
        assert_eq!(
            (udp(Family::Ipv6, 1).packet_bytes, udp(Family::Ipv6, 1).payload_bytes),
            (1496, 1448)
        );
        assert_eq!(PacketLayout::udp(65, Family::Ipv6, 0), None);
        assert_eq!(PacketLayout::udp(66, Family::Ipv6, 0).unwrap().payload_bytes, 0);
    }

    #[test]
    fn a_dscp_is_the_upper_six_bits_of_the_traffic_class() {
        let expedited = Dscp::new(46).unwrap();
        assert_eq!(expedited.traffic_class(), 0xb8);
        assert_eq!(Dscp::of_traffic_class(0xbb), expedited);
        assert_eq!(Dscp::new(64), None);
    }

    #[test]
    fn ecn_is_the_lower_two_bits_of_the_traffic_class() {
        // RFC 3168 figure 1.
        let code_points =
            [(0b00, Ecn::NotEct), (0b01, Ecn::Ect1), (0b10, Ecn::Ect0), (0b11, Ecn::Ce)];
        for (bits, ecn) in code_points {
            assert_eq!(Ecn::of_traffic_class(0xb8 | bits), ecn);
            assert_eq!(ecn.code_point(), bits);
        }
    }
}

//! Ethernet II with up to two VLAN tags: IEEE 802.3 and 802.1Q.

use core::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

/// What a frame begins with: from whom, to whom, and its tags, the outer one first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Link {
    pub source: MacAddress,
    pub destination: MacAddress,
    pub tags: VlanTags,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlanTags {
    /// As on the wire: type and control information.
    tags: [[u8; 4]; VLAN_TAGS_MAX],
    count: u8,
}

/// The type of what follows the addresses and tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EtherType {
    Ipv4 = 0x0800,
    Arp = 0x0806,
    Ipv6 = 0x86dd,
}

const VLAN_TAGS_MAX: usize = 2;
const ADDRESSES_BYTES: usize = 12;
const TAG_BYTES: usize = 4;
const TYPE_BYTES: usize = 2;
/// Of a customer's and of a provider's tag.
const TAG_TYPES: [u16; 2] = [0x8100, 0x88a8];

impl MacAddress {
    pub const BROADCAST: Self = Self([0xff; 6]);
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl VlanTags {
    pub const NONE: Self = Self { tags: [[0; 4]; VLAN_TAGS_MAX], count: 0 };

    /// Adds a tag within those there are, with its type 0x8100 or 0x88a8; `None` where there is
    /// room for no more.
    #[must_use]
    pub fn with(mut self, ether_type: u16, control: u16) -> Option<Self> {
        let tag = self.tags.get_mut(usize::from(self.count))?;
        tag[..2].copy_from_slice(&ether_type.to_be_bytes());
        tag[2..].copy_from_slice(&control.to_be_bytes());
        self.count += 1;
        Some(self)
    }

    fn as_slice(&self) -> &[[u8; 4]] {
        &self.tags[..usize::from(self.count)]
    }
}

impl Link {
    pub const fn header_bytes(&self) -> usize {
        ADDRESSES_BYTES + TAG_BYTES * self.tags.count as usize + TYPE_BYTES
    }

    /// What goes back to where this came from, `own` being the address there.
    #[must_use]
    pub const fn back_from(&self, own: MacAddress) -> Self {
        Self { source: own, destination: self.source, tags: self.tags }
    }

    /// `None`: the frame is too short, or carries what is not known here.
    pub(super) fn read(frame: &[u8]) -> Option<(Self, EtherType, &[u8])> {
        let (addresses, mut rest) = frame.split_first_chunk::<ADDRESSES_BYTES>()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *addresses;
        let destination = MacAddress([a, b, c, d, e, f]);
        let source = MacAddress([g, h, i, j, k, l]);
        let mut tags = VlanTags::default();
        loop {
            let (ether_type, after) = rest.split_first_chunk::<TYPE_BYTES>()?;
            let ether_type = u16::from_be_bytes(*ether_type);
            if !TAG_TYPES.contains(&ether_type) {
                return Some((
                    Self { source, destination, tags },
                    EtherType::of(ether_type)?,
                    after,
                ));
            }
            let (control, after) = after.split_first_chunk::<2>()?;
            tags = tags.with(ether_type, u16::from_be_bytes(*control))?;
            rest = after;
        }
    }

    /// Gives what is left of the frame behind the header.
    pub(super) fn write<'a>(&self, ether_type: EtherType, frame: &'a mut [u8]) -> &'a mut [u8] {
        let (header, rest) = frame.split_at_mut(self.header_bytes());
        header[..6].copy_from_slice(&self.destination.0);
        header[6..12].copy_from_slice(&self.source.0);
        let (tags, own_type) = header[12..].split_at_mut(TAG_BYTES * self.tags.as_slice().len());
        for (to, tag) in tags.chunks_exact_mut(TAG_BYTES).zip(self.tags.as_slice()) {
            to.copy_from_slice(tag);
        }
        own_type.copy_from_slice(&(ether_type as u16).to_be_bytes());
        rest
    }
}

impl EtherType {
    const fn of(number: u16) -> Option<Self> {
        match number {
            0x0800 => Some(Self::Ipv4),
            0x0806 => Some(Self::Arp),
            0x86dd => Some(Self::Ipv6),
            _ => None,
        }
    }
}

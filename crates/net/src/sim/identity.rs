//! What every flow of a trial knows of itself.

use core::time::Duration;

use fp_model::{Direction, Dscp, Ecn, PacketLayout, Time, Timing};

/// What every flow knows of itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) index: usize,
    pub(crate) direction: Direction,
    pub(crate) dscp: Dscp,
    pub(crate) ecn: Ecn,
    /// After the start.
    pub(crate) begins: Duration,
    pub(crate) ip_header_bytes: u32,
    pub(crate) vlan_tags: u8,
    pub(crate) interface_mtu_bytes: u32,
    pub(crate) timing: Timing,
    pub(crate) start: Time,
}

impl Identity {
    /// What leaves the end in a frame of `frame_bytes`: the network puts the tags on behind it.
    pub(crate) const fn packet_bytes(&self, frame_bytes: u32) -> u32 {
        let tags_bytes = PacketLayout::VLAN_TAG_BYTES * self.vlan_tags as u32;
        frame_bytes - PacketLayout::ETHERNET_L2_OVERHEAD - tags_bytes
    }

    pub(crate) const fn back(&self) -> Direction {
        match self.direction {
            Direction::Download => Direction::Upload,
            Direction::Upload => Direction::Download,
        }
    }
}

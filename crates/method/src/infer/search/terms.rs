//! What a search is for and what it may do, and what it says.

use core::time::Duration;

use fp_model::{Direction, Dscp, Family, PacketLayout};

use super::{Finder, MOST};
use crate::formula::bounds::Loss;
use crate::infer::rate::{Estimate, Quiet};
use crate::path::Packets;

/// The fastest rate that is looked for, in bit/s of layer 2.
pub(crate) const LIMIT_L2: f64 = 1e10;

/// How well the rate of the bottleneck has to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// The rate is a result.
    Result,
    /// A later fit finds the rate: the search says what kind the bottleneck is, its loss and delay,
    /// and its rate to a few percent.
    Start,
}

/// What is searched, and with what.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    pub(crate) direction: Direction,
    pub(crate) family: Family,
    pub(crate) dscp: Dscp,
    pub(crate) vlan_tags: u8,
    pub(crate) frame_bytes: u32,
    pub(crate) rtt: Duration,
    /// No more is offered; layer 2.
    pub(crate) limit_l2: f64,
    /// What the provider sold, if that is known; layer 2.
    pub(crate) sold_l2: Option<f64>,
    /// The part of a train that measures lasts as long, if need be longer.
    pub(crate) trial: Option<Duration>,
    /// For no longer is a bucket emptied: a deeper one is not found.
    pub(crate) empties: Duration,
    pub(crate) precision: Precision,
}

impl Search {
    /// For where to begin, with untagged frames, of a path about which nothing is known.
    pub(crate) const fn of(
        direction: Direction,
        (family, dscp): (Family, Dscp),
        frame_bytes: u32,
        rtt: Duration,
    ) -> Self {
        Self {
            direction,
            family,
            dscp,
            vlan_tags: 0,
            frame_bytes,
            rtt,
            limit_l2: LIMIT_L2,
            sold_l2: None,
            trial: None,
            empties: MOST,
            precision: Precision::Start,
        }
    }

    pub(super) const fn packets(&self) -> Packets {
        Packets { family: self.family, dscp: self.dscp }
    }

    /// Addresses, type, tags and FCS around an IP packet.
    pub(crate) const fn framing_bytes(&self) -> u32 {
        PacketLayout::ETHERNET_L2_OVERHEAD + PacketLayout::VLAN_TAG_BYTES * self.vlan_tags as u32
    }
}

/// What limits a direction, in rates of layer 2.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limits {
    Found(Estimate, Quiet),
    /// All passed, at this rate, but for what is lost at any rate.
    NotReached(f64, Loss),
    /// Between what came through at last and what was too much.
    Unknown {
        bps: f64,
        at_least: f64,
        at_most: f64,
        /// What was offered and what passed of two loads, where others keep it busy: at a rate at which they
        /// do not show it would be no less theirs.
        shared: Option<[(f64, f64); 2]>,
    },
}

impl Finder<'_> {
    /// To go on with: what was searched for, with no more offered than what was found to be the most, and for
    /// how long what was offered last may still be queued in front of what limits.
    pub(crate) fn after(&self, limits: &Limits) -> (Search, Duration) {
        let queued = match limits {
            Limits::Found(found, _) => self.queued(found.bps),
            Limits::NotReached(..) | Limits::Unknown { .. } => MOST,
        };
        (Search { limit_l2: self.limit, ..self.search }, queued)
    }
}

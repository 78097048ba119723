//! Routers of the kernel's own, with nothing of the product on the path: namespaces, veth pairs, `nft`'s
//! `limit` and `numgen`, `tc`'s `tbf` and `htb`.
//!
//! What is true of them follows from the parameters of their commands:
//!
//! - `nft … limit rate over R bytes/second burst B bytes drop` is a policer that charges IP packets.
//!   The kernel's `nft_limit_init` makes its bucket hold what a second brings, and the burst: R + B
//!   bytes.
//! - `tc … tbf rate R burst B latency T` is a shaper that charges a frame without its FCS. It sends
//!   B bytes at once and queues R·T + B bytes (`tc-tbf(8)`).
//! - `tc … htb rate R burst B`, with the ceiling alike, charges the same. It sends as long as its tokens
//!   are not negative (`htb_class_mode`), where tbf wants enough of them for the whole frame: B bytes
//!   and a frame at once. Its queue is that of the `bfifo` or `pfifo` below it.
//! - `numgen random mod N 0 drop` loses one packet in N by chance, `numgen inc mod N 0 drop` each Nth.

mod script;

use fp_model::Rate;
use fp_net::path::{
    Aqm, Charge, LinkSpec, LossSpec, MtuSpec, PoliceSpec, Probability, QueueLimit, QueueSpec,
    ShapeSpec, TooBigAnswer,
};

/// The kernel does not see the FCS of a frame.
pub(crate) const SHAPERS_CHARGE: Charge = Charge::L2WithoutFcs;

/// The longest frame of the kernel's Ethernet.
const FRAME_BYTES: u64 = 1514;

/// The routers between the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Routers {
    /// From the near to the far end.
    pub(crate) hops: Vec<Hop>,
    pub(crate) segmentation: Segmentation,
}

/// What one router does to what it forwards: its `nft` rules in their order, then its `tc`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hop {
    pub(crate) to_far: Vec<Rule>,
    pub(crate) to_near: Vec<Rule>,
    /// The MTU of the cable between this router and what follows towards the far end; `None` is 1500 bytes.
    pub(crate) mtu_bytes: Option<u32>,
}

/// Who cuts what TCP and UDP hand over in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Segmentation {
    /// Nobody before it is received: veth claims that it can, as in every container.
    Claimed,
    /// The ends, before it leaves them.
    AtTheEnds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Limit {
        bytes_per_s: u64,
        burst_bytes: u64,
    },
    /// Loses each packet with a chance of `1 / one_in`.
    LoseRandomly {
        one_in: u32,
    },
    LoseEach {
        one_in: u32,
    },
    Tbf {
        kbps: u64,
        burst_bytes: u64,
        latency_ms: u64,
    },
    Htb {
        kbps: u64,
        burst_bytes: u64,
        queue: QueueLimit,
    },
}

impl Rule {
    /// The same as the simulator's links say it.
    fn link(self) -> LinkSpec {
        let fifo = |limit| QueueSpec { limit, aqm: Aqm::Fifo };
        let shaped = |kbps, burst_bytes, limit| {
            let shape = ShapeSpec { rate: Rate::bps(1000 * kbps), burst_bytes, queue: fifo(limit) };
            LinkSpec { shape: Some(shape), ..LinkSpec::default() }
        };
        match self {
            Self::Limit { bytes_per_s, burst_bytes } => {
                let holds_bytes = bytes_per_s + burst_bytes;
                let police = PoliceSpec::single_bucket(Rate::bps(8 * bytes_per_s), holds_bytes);
                let police = PoliceSpec { charge: Charge::L3, ..police };
                LinkSpec { police: Some(police), ..LinkSpec::default() }
            }
            Self::LoseRandomly { one_in } => LinkSpec {
                loss: Probability::new(1.0 / f64::from(one_in)).map(LossSpec::Random),
                ..LinkSpec::default()
            },
            Self::LoseEach { one_in } => {
                LinkSpec { loss: Some(LossSpec::Every(one_in.into())), ..LinkSpec::default() }
            }
            Self::Tbf { kbps, burst_bytes, latency_ms } => {
                let queued_bytes = kbps * latency_ms / 8 + burst_bytes;
                shaped(kbps, burst_bytes, QueueLimit::Bytes(queued_bytes))
            }
            Self::Htb { kbps, burst_bytes, queue } => {
                shaped(kbps, burst_bytes + FRAME_BYTES, queue)
            }
        }
    }
}

impl Routers {
    /// The same as links of the simulator, of the download and of the upload, in the order in which their
    /// frames meet them.
    pub(crate) fn links(&self) -> [Vec<LinkSpec>; 2] {
        let longest = self.hops.iter().map(|hop| hop.to_far.len().max(hop.to_near.len()) + 1).sum();
        let padded = |mut links: Vec<LinkSpec>| {
            links.resize(longest, LinkSpec::default());
            links
        };
        let upload = self.hops.iter().flat_map(|hop| links(hop, &hop.to_far)).collect();
        let download = self.hops.iter().rev().flat_map(|hop| links(hop, &hop.to_near)).collect();
        [padded(download), padded(upload)]
    }
}

/// Of one direction; the cable carries packets of both alike.
fn links(hop: &Hop, rules: &[Rule]) -> Vec<LinkSpec> {
    let mtu = hop.mtu_bytes.map(|bytes| MtuSpec { bytes, too_big: TooBigAnswer::Icmp });
    let cable = LinkSpec { mtu, ..LinkSpec::default() };
    rules.iter().map(|rule| rule.link()).chain([cable]).collect()
}

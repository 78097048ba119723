//! Runs a method over a network with its defaults, in virtual time or across the kernel's own router;
//! what it has to say is what its result document says.

mod real_time;
mod sold;
mod virtual_time;

use std::time::Duration;

use fp_model::Rate;
use serde_json::Value;

pub(crate) use sold::Sold;

use crate::facts::Facts;
use crate::method::Method;
use crate::network::Network;

/// Frame lengths of RFC 2544: the command line's are seven, which takes long and adds no case.
pub(crate) const RFC2544_FRAMES_BYTES: [u32; 2] = [256, 1518];

/// Of the frames of a service, that may be lost.
pub(crate) const SERVICE_LOSS: f64 = 0.001;

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    /// `fullpipe.result/1` without evidence.
    pub(crate) document: Value,
    /// Why there is no more of it: the run was broken off, or the method itself failed.
    pub(crate) ended_by: Option<String>,
    /// On the path, in virtual time.
    pub(crate) took: Duration,
    /// Frames and timers that the simulator had to deal with.
    pub(crate) happenings: u64,
    /// What the plan says of the policer, if the method needs that.
    pub(crate) sold: Option<Sold>,
    /// In real time: something else kept this host busy.
    pub(crate) was_disturbed: bool,
}

/// Runs the method over the network; `None` where it has nothing to do there: there is nothing to sell
/// where the limit is no policer of one bucket, or one that takes half a minute to fill.
pub(crate) fn run(method: Method, network: &Network, facts: &Facts) -> Option<Ran> {
    let sold = match method {
        Method::Test | Method::Discover | Method::Rfc2544 => None,
        Method::Burst | Method::Rfc7640 | Method::Y1564 => Some(sold::of(method, network, facts)?),
    };
    Some(match &network.routers {
        Some(routers) => real_time::run(method, network.family, routers, facts, sold),
        None => virtual_time::run(method, network, facts, sold),
    })
}

/// RFC 2544's trials begin at the rate of the port, which may be a thousand times that of the path: three
/// times the faster direction's leaves the method as much to find, for far fewer frames.
pub(crate) fn rate_cap(facts: &Facts) -> Rate {
    const ABOVE: f64 = 3.0;
    let fastest_bps = facts.download.rate_bps(20).max(facts.upload.rate_bps(20));
    Rate::bps((ABOVE * fastest_bps) as u64).min(Rate::mbps(10_000))
}

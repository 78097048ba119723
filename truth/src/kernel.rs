//! Networks that the kernel's own router makes.
//!
//! How fast the host forwards, and how long that takes, no parameter says: no round trip is judged.

use fp_model::Family;
use fp_net::path::QueueLimit;

use crate::method::Method;
use crate::network::Network;
use crate::routers::{Hop, Routers, Rule, Segmentation};

/// Every method that says something of a policer.
const POLICER: &[Method] = &[Method::Test, Method::Discover, Method::Burst, Method::Rfc2544];
const SHAPER: &[Method] = &[Method::Test, Method::Discover, Method::Rfc2544];
const MAIN: &[Method] = &[Method::Test, Method::Discover];

pub(crate) fn networks() -> Vec<Network> {
    [policers(), shapers(), lossy(), cascades()].concat()
}

/// Their buckets hold a second of the rate, and the burst.
fn policers() -> Vec<Network> {
    vec![
        alike("nft-16m", POLICER, vec![LIMIT_16M]),
        one("nft-40m-8m", MAIN, vec![limit(5_000_000, 100_000)], vec![limit(1_000_000, 5_000)]),
        one("nft-80m-4m", MAIN, vec![limit(10_000_000, 20_000)], vec![limit(500_000, 20_000)]),
    ]
}

fn shapers() -> Vec<Network> {
    let hops = vec![hop(vec![TBF_20M], vec![TBF_20M])];
    let cut = Routers { hops, segmentation: Segmentation::AtTheEnds };
    let packets = |kbps, burst_bytes, packets| {
        vec![Rule::Htb { kbps, burst_bytes, queue: QueueLimit::Packets(packets) }]
    };
    let queue = QueueLimit::Bytes(100_000);
    vec![
        alike("tbf-20m", SHAPER, vec![TBF_20M]),
        network("tbf-20m-cut-at-the-ends", MAIN, cut),
        one("tbf-50m-10m", MAIN, vec![tbf(50_000, 65_536, 20)], vec![tbf(10_000, 10_240, 50)]),
        one("tbf-100m-2m", MAIN, vec![tbf(100_000, 131_072, 30)], vec![tbf(2_000, 5_000, 200)]),
        alike("htb-30m", SHAPER, vec![Rule::Htb { kbps: 30_000, burst_bytes: 20_000, queue }]),
        one("htb-60m-12m-packets", MAIN, packets(60_000, 15_000, 20), packets(12_000, 6_000, 100)),
    ]
}

fn lossy() -> Vec<Network> {
    let (randomly, each) = (|one_in| Rule::LoseRandomly { one_in }, Rule::LoseEach { one_in: 500 });
    vec![
        alike("nft-16m-loses-0.1%", MAIN, vec![LIMIT_16M, randomly(1000)]),
        alike("tbf-20m-loses-1%", MAIN, vec![randomly(100), TBF_20M]),
        alike("tbf-20m-loses-each-500th", MAIN, vec![each, TBF_20M]),
    ]
}

fn cascades() -> Vec<Network> {
    let tbf_60m = tbf(60_000, 32_768, 50);
    let limit_20m = limit(2_500_000, 10_000);
    let two = vec![hop(vec![tbf_60m], vec![tbf_60m]), hop(vec![limit_20m], vec![limit_20m])];
    let short = Hop { mtu_bytes: Some(1400), ..hop(vec![TBF_20M], vec![LIMIT_16M]) };
    let short = claimed("tbf-20m-nft-16m-mtu-1400-ipv6", MAIN, vec![short]);
    vec![
        alike("nft-40m-tbf-30m", MAIN, vec![limit(5_000_000, 64_000), tbf(30_000, 32_768, 50)]),
        alike("nft-24m-tbf-60m", MAIN, vec![limit(3_000_000, 64_000), tbf_60m]),
        // What goes to the far end meets the shaper first, what comes from there the policer.
        claimed("tbf-60m-and-nft-20m", MAIN, two),
        Network { family: Family::Ipv6, ..short },
    ]
}

/// 16 Mbit/s of packets.
const LIMIT_16M: Rule = limit(2_000_000, 64_000);
const TBF_20M: Rule = tbf(20_000, 32_768, 100);

/// One router, the same for both directions.
fn alike(name: &str, methods: &'static [Method], rules: Vec<Rule>) -> Network {
    one(name, methods, rules.clone(), rules)
}

fn one(name: &str, methods: &'static [Method], to_near: Vec<Rule>, to_far: Vec<Rule>) -> Network {
    claimed(name, methods, vec![hop(to_near, to_far)])
}

fn claimed(name: &str, methods: &'static [Method], hops: Vec<Hop>) -> Network {
    network(name, methods, Routers { hops, segmentation: Segmentation::Claimed })
}

fn network(name: &str, methods: &'static [Method], routers: Routers) -> Network {
    let [download, upload] = routers.links();
    let network = Network::new(name.to_owned(), download, upload);
    Network { routers: Some(routers), methods, ..network }
}

const fn hop(to_near: Vec<Rule>, to_far: Vec<Rule>) -> Hop {
    Hop { to_far, to_near, mtu_bytes: None }
}

const fn limit(bytes_per_s: u64, burst_bytes: u64) -> Rule {
    Rule::Limit { bytes_per_s, burst_bytes }
}

const fn tbf(kbps: u64, burst_bytes: u64, latency_ms: u64) -> Rule {
    Rule::Tbf { kbps, burst_bytes, latency_ms }
}

#[cfg(test)]
mod tests;

//! Named networks on which methods were once wrong, and what they are for.

use std::time::Duration;

use fp_model::Rate;
use fp_net::path::{
    Aqm, Charge, FrameOrder, JitterDistribution, JitterSpec, LinkSpec, LossSpec, PoliceSpec,
    Probability, QueueLimit, QueueSpec,
};

use crate::method::Method;
use crate::network::Network;

const ALL: &[Method] = &[Method::Test, Method::Discover, Method::Burst];
const TEST: &[Method] = &[Method::Test];

/// All of them.
pub(crate) fn networks() -> Vec<Network> {
    let mut all = Vec::new();
    let mut add = |name: &str, methods: &'static [Method], network: Network| {
        let mut path = network.path;
        name.clone_into(&mut path.name);
        all.push(Network { path, methods, ..network });
    };
    // A policer of 40 Mbit/s, and behind it a line that uploads wait for; downloads meet that first.
    for mbps in [45, 50, 100, 150, 300] {
        let network = both(vec![policed(1000, 40e6, 64_000, 13.5), line(mbps, None, 0.0)]);
        add(&format!("policer-then-{mbps}m"), ALL, network);
    }
    for (name, loss) in [("0.01", 1e-4), ("0.1", 1e-3), ("0.5", 5e-3), ("1", 1e-2)] {
        let network = both(vec![losing(policed(1000, 40e6, 64_000, 10.0), loss)]);
        add(&format!("policer-loss-{name}%"), ALL, Network { seed: 8, ..network });
    }
    add("deep-bucket-10m", ALL, both(vec![policed(1000, 10e6, 1_875_000, 10.0)]));
    add("deep-bucket-2m", ALL, both(vec![policed(1000, 2e6, 256_000, 10.0)]));
    // nft's `limit rate over 2000000 bytes/second burst 64000 bytes`: of IP packets, and its bucket
    // holds a second of the rate and the burst.
    let nft = PoliceSpec {
        charge: Charge::L3,
        ..PoliceSpec::single_bucket(Rate::bps(16_000_000), 2_064_000)
    };
    add("nft-limit-16m", ALL, both(vec![LinkSpec { police: Some(nft), ..line(1000, None, 10.0) }]));
    let seldom = both(vec![policed(100, 7.3e6, 23_500, 1.5)]);
    add("policer-7.3m-23.5k", &[Method::Burst], seldom);
    let quarter_second = |mbps| Some(QueueLimit::Bytes(mbps * 125 * 250));
    let way = |mbps| vec![line(mbps, quarter_second(mbps), 5.0)];
    let (down, up) = (way(500), way(10));
    add("asymmetric-500m-10m", TEST, Network::new(String::new(), down, up));
    for (mbps, ms) in [(1, 400), (10, 500), (70, 400), (100, 400)] {
        // In bytes, this many milliseconds of the line.
        let deep = QueueLimit::Bytes(mbps * 125 * ms);
        let network = both(vec![line(mbps, Some(deep), 10.0)]);
        let passes = Some(true);
        add(&format!("line-{mbps}m-queue-{ms}ms"), TEST, Network { passes, ..network });
    }
    for ms in [1.0, 2.0, 5.0] {
        let network = both(vec![wavering(policed(1000, 40e6, 64_000, 10.0), ms)]);
        add(&format!("policer-jitter-{ms}ms"), ALL, network);
    }
    // What waits is in order behind what was late: no rate is lost, and a window of as much as the mean
    // round trip holds fills the line.
    let wavers = both(vec![wavering(line(100, None, 10.0), 1.0)]);
    add("line-100m-jitter-1ms", TEST, Network { passes: Some(true), ..wavers });
    let tiny = both(vec![line(50, Some(QueueLimit::Packets(6)), 10.0)]);
    add("line-50m-queue-6p", TEST, tiny);
    add("policer-70m-port-200m", TEST, both(vec![policed(200, 70e6, 60_000, 10.0)]));
    for (mbps, one_way_ms) in [(5, 40), (20, 15), (100, 5), (100, 25), (400, 10)] {
        // One bandwidth-delay product, and no less than the smallest windows.
        let product = (mbps * 125 * 2 * one_way_ms).max(65_535);
        let queue = Some(QueueLimit::Bytes(product * 11 / 10));
        let network = both(vec![line(mbps, queue, one_way_ms as f64)]);
        let name = format!("line-{mbps}m-{one_way_ms}ms-1bdp");
        add(&name, TEST, Network { passes: Some(true), ..network });
    }
    add("lossy-50m", TEST, both(vec![losing(line(50, None, 10.0), 1e-3)]));
    all
}

/// The links of a lab file, the same for both directions: frames from the far end meet the last first.
fn both(links: Vec<LinkSpec>) -> Network {
    let download = links.iter().rev().cloned().collect();
    Network::new(String::new(), download, links)
}

fn line(mbps: u64, limit: Option<QueueLimit>, one_way_ms: f64) -> LinkSpec {
    LinkSpec {
        line_rate: Some(Rate::mbps(mbps)),
        queue: limit.map(|limit| QueueSpec { limit, aqm: Aqm::Fifo }),
        delay: ms(one_way_ms),
        ..LinkSpec::default()
    }
}

fn policed(port_mbps: u64, cir_bps: f64, cbs_bytes: u64, one_way_ms: f64) -> LinkSpec {
    let police = PoliceSpec::single_bucket(Rate::bps(cir_bps as u64), cbs_bytes);
    LinkSpec { police: Some(police), ..line(port_mbps, None, one_way_ms) }
}

fn losing(link: LinkSpec, loss: f64) -> LinkSpec {
    LinkSpec { loss: Probability::new(loss).map(LossSpec::Random), ..link }
}

fn wavering(link: LinkSpec, most_ms: f64) -> LinkSpec {
    let distribution = JitterDistribution::Uniform(ms(most_ms));
    LinkSpec { jitter: Some(JitterSpec { distribution, order: FrameOrder::Kept }), ..link }
}

fn ms(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6) as u64)
}

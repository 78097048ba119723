//! The RFC 2544 tests over the lab, with real frames.

use super::folder::Folder;
use super::result::{number, run, within_percent};

#[test]
fn a_policer_is_found_at_every_length() {
    let words = ["rfc2544", "--lab", "metro-40m-cbs64k", "-q", "--tests", "throughput"];
    let more = ["--line-rate", "1G", "--frames", "256,1518", "--direction", "upload"];
    let run = run(&[&words[..], &more].concat());
    for step in run.steps("rfc2544_throughput") {
        if step["limit"] != "tester" {
            assert!(within_percent(number(step, "rate_l2_bps"), 40e6, 0.5), "{step}");
        }
    }
}

/// 20 ms one way, and 1300·8 bits at 100 Mbit/s, of which a store-and-forward device takes its own
/// last bit off again; 10 Mbit/s leave no queue. A busy host makes some frames later, none earlier.
//= rfc2544 26.2
#[test]
fn latency_is_the_delay_of_a_known_network() {
    let folder = Folder::new();
    let way = "{line_rate: 100M, delay: 20ms}";
    let links = format!("  - near_to_far: {way}\n    far_to_near: {way}\n");
    let network = format!("lab: fullpipe.lab/1\nname: far\nlinks:\n{links}");
    let network = folder.written("network.yaml", &network);
    let words = ["rfc2544", "--lab", &network, "-q", "--tests", "latency", "--frames", "1280"];
    let more = ["--direction", "upload", "--no-mtu-row", "--max-rate", "10M"];
    let run = run(&[&words[..], &more, &["--latency-repetitions", "1"]].concat());
    let [step] = run.steps("rfc2544_latency")[..] else { panic!("{:#}", run.result["steps"]) };
    let least = number(step, "latency_min_ms");
    assert!((19.5..=21.0).contains(&least), "{step}");
    assert!(number(step, "latency_mean_ms") >= least, "{step}");
}

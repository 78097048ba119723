//! `iperf3://` as far end: what is measured, and what is unknown.

use serde_json::Value;

use crate::folder::Folder;
use crate::process::fullpipe;

/// A line of 100 Mbit/s at 10.211 ms: one connection with a window of 64,000 bytes carries
/// 64,000 · 8 / 10.211 ms = 50.1 Mbit/s, less what a host adds to the round trip; an upload is
/// written two segments of 1,448 bytes ahead: 52.4 Mbit/s.
#[test]
fn the_test_across_a_line_marks_what_a_stock_server_cannot_tell() {
    let (folder, binary) = (Folder::new(), env!("CARGO_BIN_EXE_fullpipe"));
    let file = folder.file("result.json");
    let far = ["lab", "line-100m-10ms", "--", binary, "test", "iperf3://far", "--cir", "100M@l1"];
    let short = ["-P", "1", "-w", "64K", "-t", "500ms", "-q", "-o", &file];
    let run = fullpipe(&[&far[..], &short].concat());
    // Half the window that fills the path: what it carries is not decided.
    assert_eq!(run.exit, Some(5), "{run:#?}");
    let result: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let steps = result["steps"].as_array().unwrap();
    let named = |name: &str| steps.iter().filter(|step| step["name"] == name).collect::<Vec<_>>();
    for mtu in named("path_mtu") {
        assert_eq!((&mtu["mtu_bytes"], &mtu["probed_by"]), (&1500.into(), &"tcp".into()));
    }
    let rtt = named("baseline_rtt")[0]["rtt_min_ms"].as_f64().unwrap();
    assert!((10.2..15.0).contains(&rtt), "{rtt} ms");
    assert_eq!(result["far"]["processors"], Value::Null);
    for step in named("tcp") {
        let mbps = step["throughput_bps"].as_f64().unwrap() / 1e6;
        assert!((5.0..53.0).contains(&mbps), "{mbps} Mbit/s: {step:#}");
        let is_download = step["flow_direction"] == "download";
        assert_eq!(step["rtt_mean_ms"].is_null(), is_download, "{step:#}");
        assert_eq!(step["series"][0]["sent_bytes"].is_null(), is_download, "{step:#}");
        assert!(step["efficiency_percent"].is_number(), "{step:#}");
    }
}

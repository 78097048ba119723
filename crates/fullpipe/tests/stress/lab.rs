//! Very many connections across the lab, both ends over packet ports, against what the network saw.

use std::fs;

use serde_json::Value;

use super::folder::Folder;
use super::result::{Finished, number, run};
use super::sim::{expect_all_accounted_for, stress};

const CONNECTIONS: f64 = 2000.0;
const BRIEF: [&str; 6] = ["--connections", "2k", "--ramp-up", "1s", "--ramp-down", "500ms"];

/// A run of packets of a class of their own, and what the network did to those each way.
fn across(network: &str, words: &[&str]) -> (Finished, [Value; 2]) {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let words = [&["stress", "--lab", network, "-q", "--dscp", "af41"], &BRIEF[..], words].concat();
    let run = run(&[&words[..], &["--truth", &truth]].concat());
    let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let ways = ["near_to_far", "far_to_near"].map(|way| truth[way]["by_dscp"]["34"].clone());
    (run, ways)
}

fn frames(way: &Value, what: &str) -> f64 {
    number(&way[what], "frames")
}

fn sent_again(step: &Value) -> f64 {
    ["syn", "timeout", "fast"].iter().map(|kind| number(&step["retransmissions"], kind)).sum()
}

/// Of a client: SYN, request, FIN and the acknowledgement of the server's FIN, and at most one more for
/// each of the server's; of a server: SYN and ACK, response, FIN, and at most two acknowledgements.
fn expect_frames_of(step: &Value, [client, server]: [&Value; 2]) {
    let again = 2.0 * sent_again(step);
    let (clients, servers) = (frames(client, "offered"), frames(server, "offered"));
    assert!((4.0 * CONNECTIONS..=7.0 * CONNECTIONS + again).contains(&clients), "{client:#}");
    assert!((3.0 * CONNECTIONS..=5.0 * CONNECTIONS + again).contains(&servers), "{server:#}");
}

#[test]
fn the_network_sees_each_connection_opened_spoken_on_and_closed_whoever_opens_it() {
    for (direction, family) in [("upload", "-4"), ("download", "-6")] {
        let (run, [upwards, downwards]) =
            across("line-100m-10ms", &["--steady", "1s", "--direction", direction, family]);
        run.expect_pass();
        let step = stress(&run);
        expect_all_accounted_for(&step);
        for field in ["attempted", "established", "closed", "transactions", "connections_peak"] {
            assert_eq!(number(&step, field), CONNECTIONS, "{field}");
        }
        for field in ["upload_good_bytes", "download_good_bytes"] {
            assert_eq!(number(&step, field), 100.0 * CONNECTIONS, "{field}");
        }
        if run.is_valid() {
            let held = serde_json::json!({"wanted": 2000, "least": 2000, "most": 2000});
            assert_eq!(step["held"], held);
        }
        let ways = match direction {
            "upload" => [&upwards, &downwards],
            _ => [&downwards, &upwards],
        };
        expect_frames_of(&step, ways);
        // 10 ms of round trip and 84 bytes each way at 100 Mbit/s, in steps of 1 %.
        let shortest = number(&step["handshake_us"], "min");
        assert!((9_900.0..20_000.0).contains(&shortest), "{shortest}");
    }
}

#[test]
fn what_a_lossy_network_drops_is_sent_again_and_each_connection_comes_to_its_end() {
    // Who has lost its question asks again after 1 s and after 3 s: some of the last do so.
    let (run, [upwards, downwards]) = across("lossy-50m", &["--steady", "4s", "--close", "fin"]);
    run.expect_pass();
    let step = stress(&run);
    expect_all_accounted_for(&step);
    assert_eq!(number(&step, "established"), CONNECTIONS);
    assert_eq!(number(&step, "transactions"), CONNECTIONS);
    assert_eq!(
        (number(&step, "bad_checksums"), number(&step, "corrupt_payload_bytes")),
        (0.0, 0.0)
    );
    expect_frames_of(&step, [&upwards, &downwards]);
    let lost = |way: &Value| number(&way["dropped"]["loss"], "frames");
    let lost = lost(&upwards) + lost(&downwards);
    // One in a thousand of 16,000 frames, or more.
    assert!(lost > 0.0);
    // A lost acknowledgement may be made good by the next one.
    assert!(sent_again(&step) > 0.0, "{lost} frames were lost: {step:#}");
}

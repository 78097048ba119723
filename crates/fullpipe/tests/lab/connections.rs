//! Very many connections across the lab, both ends over packet ports, against what the network saw.

use std::fs;

use serde_json::Value;

use crate::across::measured;
use crate::folder::Folder;
use crate::result::{Finished, number};

pub(crate) const CONNECTIONS: f64 = 2000.0;
const BRIEF: [&str; 6] = ["--connections", "2k", "--ramp-up", "1s", "--ramp-down", "500ms"];

/// A run of packets of a class of their own, and what the network did to those each way.
pub(crate) fn across(network: &str, words: &[&str]) -> (Finished, [Value; 2]) {
    let folder = Folder::new();
    let truth = folder.file("truth.json");
    let words = [&["stress", "--lab", network, "-q", "--dscp", "af41"], &BRIEF[..], words].concat();
    let run = measured(&[&words[..], &["--truth", &truth]].concat());
    let truth: Value = serde_json::from_str(&fs::read_to_string(&truth).unwrap()).unwrap();
    let ways = ["near_to_far", "far_to_near"].map(|way| truth[way]["by_dscp"]["34"].clone());
    (run, ways)
}

fn frames(way: &Value, what: &str) -> f64 {
    number(&way[what], "frames")
}

pub(crate) fn sent_again(step: &Value) -> f64 {
    ["syn", "timeout", "fast"].iter().map(|kind| number(&step["retransmissions"], kind)).sum()
}

/// Of a client: SYN, request, FIN and the acknowledgement of the server's FIN, and at most one more for
/// each of the server's; of a server: SYN and ACK, response, FIN, and at most two acknowledgements.
pub(crate) fn expect_frames_of(step: &Value, [client, server]: [&Value; 2]) {
    let again = 2.0 * sent_again(step);
    let (clients, servers) = (frames(client, "offered"), frames(server, "offered"));
    assert!((4.0 * CONNECTIONS..=7.0 * CONNECTIONS + again).contains(&clients), "{client:#}");
    assert!((3.0 * CONNECTIONS..=5.0 * CONNECTIONS + again).contains(&servers), "{server:#}");
}

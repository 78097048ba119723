//! Very many connections across the lab, both ends over packet ports, against what the network saw.

use crate::connections::{CONNECTIONS, across, expect_frames_of};
use crate::load::{expect_all_accounted_for, stress};
use crate::result::number;

#[test]
pub(super) fn the_network_sees_each_connection_opened_spoken_on_and_closed() {
    expect_each_seen("upload", "-4");
}

#[test]
fn the_network_sees_each_connection_that_the_far_end_opens_over_ipv6() {
    expect_each_seen("download", "-6");
}

fn expect_each_seen(direction: &str, family: &str) {
    let words = ["--steady", "1s", "--direction", direction, family];
    let (run, [upwards, downwards]) = across("line-100m-10ms", &words);
    run.expect_pass();
    let step = stress(&run);
    expect_all_accounted_for(&step);
    for field in ["attempted", "established", "closed", "transactions", "connections_peak"] {
        assert_eq!(number(&step, field), CONNECTIONS, "{field}");
    }
    for field in ["upload_good_bytes", "download_good_bytes"] {
        assert_eq!(number(&step, field), 100.0 * CONNECTIONS, "{field}");
    }
    assert_eq!(step["held"], serde_json::json!({"wanted": 2000, "least": 2000, "most": 2000}));
    let ways = match direction {
        "upload" => [&upwards, &downwards],
        _ => [&downwards, &upwards],
    };
    expect_frames_of(&step, ways);
    // 10 ms of round trip and 84 bytes each way at 100 Mbit/s, in steps of 1 %.
    let shortest = number(&step["handshake_us"], "min");
    assert!((9_900.0..20_000.0).contains(&shortest), "{shortest}");
}

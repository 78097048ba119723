//! Very many connections over a line that loses frames, against what the network saw.

use serde_json::Value;

use crate::connections::{CONNECTIONS, across, expect_frames_of, sent_again};
use crate::load::{expect_all_accounted_for, stress};
use crate::result::number;

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

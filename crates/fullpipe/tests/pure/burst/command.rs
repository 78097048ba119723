//! `fullpipe burst`, simulated: known policers, the table of the application note, bad input.

use crate::cases::burst;
use crate::result::{output, simulated};

#[test]
fn every_row_of_the_application_note_comes_out() {
    burst::rows_of_the_note(simulated, &[64, 128, 256, 512, 768, 1024, 1280, 1518]);
}

#[test]
fn short_and_long_rows_pass_whatever_the_sender() {
    burst::rows_of_the_note_with_any_sender(simulated, &[512, 1518]);
}

#[test]
fn a_bucket_that_is_too_small_fails_both_tests() {
    burst::a_bucket_that_is_too_small(simulated);
}

#[test]
fn a_policer_is_discovered() {
    burst::a_policer_nobody_told_of(simulated);
}

#[test]
fn tags_that_the_network_adds_count_in_frame_lengths_and_buckets() {
    burst::tags_that_the_network_adds(simulated);
}

#[test]
fn bursts_go_both_ways_at_once_over_ipv6() {
    burst::bursts_both_ways_at_once_over_ipv6(simulated);
}

#[test]
fn what_cannot_be_tested_is_bad_input() {
    let lab = ["sim", "metro-40m-cbs64k", "burst"];
    let wrong: [(&[&str], &str); 6] = [
        (&["--cir", "40M", "--cbs", "1000"], "smaller than a frame of 1518"),
        (&["--cir", "1M", "--cbs", "10M"], "more than 30 s of the CIR"),
        (&["--cir", "2G", "--cbs", "64K"], "2000 Mbit/s (l2) is above the line"),
        (&["--cir", "40M", "--cbs", "64K", "--frames", "1519,9000"], "use 1518 bytes or less"),
        (&["--cir", "40M"], "give --cir and --cbs"),
        (&["--cir", "40M", "--cbs", "64K", "--frames", "12"], "a frame has from 64"),
    ];
    for (words, sentence) in wrong {
        let output = output([&lab[..], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(sentence), "{words:?}: {said}");
    }
    // Before anybody is asked, least of all a far end that is not there.
    let far = ["burst", "127.0.0.1:1", "--cir", "1M", "--cbs"];
    for (cbs, sentence) in [("1000", "smaller than a frame"), ("10M", "more than 30 s of the CIR")]
    {
        let output = output([&far[..], &[cbs]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(sentence), "{said}");
    }
}

//! Bursts of real frames: every case that virtual time has.

use crate::across::run;
use crate::cases::burst;

#[test]
fn rows_of_the_application_note_come_out() {
    burst::rows_of_the_note(run, &[64, 512, 768, 1518]);
}

#[test]
fn a_bucket_that_is_too_small_fails_both_tests() {
    burst::a_bucket_that_is_too_small(run);
}

#[test]
fn a_policer_is_discovered() {
    burst::a_policer_nobody_told_of(run);
}

#[test]
fn tags_that_the_network_adds_count_in_frame_lengths_and_buckets() {
    burst::tags_that_the_network_adds(run);
}

#[test]
fn bursts_go_both_ways_at_once_over_ipv6() {
    burst::bursts_both_ways_at_once_over_ipv6(run);
}

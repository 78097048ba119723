//! Known networks, simulated.

use crate::cases::rfc6349;
use crate::result::simulated;

#[test]
fn a_line_of_100_mbit_is_found() {
    rfc6349::a_line_of_100_mbit_is_found(simulated);
}

#[test]
fn a_line_of_100_mbit_is_found_and_filled() {
    rfc6349::a_line_of_100_mbit_is_found_and_filled(simulated);
}

#[test]
fn a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput() {
    rfc6349::a_bucket_smaller_than_the_bursts_costs_most_of_the_throughput(simulated);
}

#[test]
fn a_bucket_as_large_as_the_bursts_costs_nothing() {
    rfc6349::a_bucket_as_large_as_the_bursts_costs_nothing(simulated);
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_over_ipv4() {
    rfc6349::a_black_hole_at_1400_bytes_is_found_over_ipv4(simulated);
}

#[test]
fn a_black_hole_at_1400_bytes_is_found_over_ipv6() {
    rfc6349::a_black_hole_at_1400_bytes_is_found_over_ipv6(simulated);
}

//! Known networks, simulated.

use crate::cases::rfc7640;
use crate::result::simulated;

#[test]
fn a_policer_passes_its_bursts_and_no_larger_ones() {
    rfc7640::a_policer_passes_its_bursts_and_no_larger_ones(simulated);
}

#[test]
fn a_fifo_queue_holds_its_bursts_and_delays_them_by_its_length() {
    rfc7640::a_fifo_queue_holds_its_bursts_and_delays_them_by_its_length(simulated);
}

#[test]
fn strict_priority_serves_the_first_class_alone() {
    rfc7640::strict_priority_serves_the_first_class_alone(simulated);
}

#[test]
fn a_weighted_scheduler_shares_the_line_among_bursts_and_tcp_patterns() {
    rfc7640::a_weighted_scheduler_shares_the_line_among_bursts_and_tcp_patterns(simulated);
}

#[test]
fn a_shaper_keeps_rate_and_burst() {
    rfc7640::a_shaper_keeps_rate_and_burst(simulated);
}

//! Known networks, simulated.

use crate::cases::rfc2544;
use crate::result::simulated;

#[test]
fn a_policer_is_found_at_every_length() {
    rfc2544::a_policer_is_found_at_every_length(simulated);
}

#[test]
fn latency_is_the_delay_of_a_known_network() {
    rfc2544::latency_is_the_delay_of_a_known_network(simulated);
}

#[test]
fn fast_ethernet_carries_the_frame_rates_of_the_rfc() {
    rfc2544::fast_ethernet_carries_the_frame_rates_of_the_rfc(simulated);
}

#[test]
fn a_queue_of_known_length_is_found_by_bursts_and_forgets_an_overload() {
    rfc2544::a_queue_of_known_length_is_found_by_bursts_and_forgets_an_overload(simulated);
}

#[test]
fn a_queue_before_a_policer_goes_on_losing_until_it_is_empty() {
    rfc2544::a_queue_before_a_policer_goes_on_losing_until_it_is_empty(simulated);
}

#[test]
fn a_policer_is_found() {
    rfc2544::a_policer_is_found(simulated);
}

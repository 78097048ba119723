//! A policer and a delay, with real frames.

use crate::across::run;
use crate::cases::rfc2544;

#[test]
fn a_policer_is_found() {
    rfc2544::a_policer_is_found(run);
}

#[test]
pub(super) fn latency_is_the_delay_of_a_known_network() {
    rfc2544::latency_is_the_delay_of_a_known_network(run);
}

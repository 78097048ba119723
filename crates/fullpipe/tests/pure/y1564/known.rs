//! Known ports, simulated.

use crate::cases::y1564;
use crate::result::simulated;

#[test]
fn three_services_pass_a_port_that_is_what_was_sold() {
    y1564::three_services_pass_a_port_that_is_what_was_sold(simulated);
}

#[test]
fn of_three_services_exactly_the_misconfigured_one_fails() {
    y1564::of_three_services_exactly_the_misconfigured_one_fails(simulated);
}

#[test]
fn three_services_side_by_side_have_what_was_sold() {
    y1564::three_services_side_by_side_have_what_was_sold(simulated);
}

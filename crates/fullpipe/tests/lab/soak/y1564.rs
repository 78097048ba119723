//! Known ports, with real traffic through a policer for each class.

use crate::across::run;
use crate::cases::y1564;

#[test]
fn three_services_pass_a_port_that_is_what_was_sold() {
    y1564::three_services_pass_a_port_that_is_what_was_sold(run);
}

#[test]
fn of_three_services_exactly_the_misconfigured_one_fails() {
    y1564::of_three_services_exactly_the_misconfigured_one_fails(run);
}

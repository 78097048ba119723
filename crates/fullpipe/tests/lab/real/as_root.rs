//! What root has another lab for, whose forwarder comes first: one run of each method, and where it
//! takes long, another one than the ordinary user's.

use crate::across::run;
use crate::cases::{burst, rfc2544, rfc6349};

#[test]
fn bursts() {
    burst::rows_of_the_note_with_any_sender(run, &[768]);
}

#[test]
fn flows() {
    super::flow::classes_get_what_the_network_gave_them();
}

#[test]
fn connections_through_a_gateway() {
    super::gateway::a_gateway_without_a_free_port_is_named_with_how_many_it_has();
}

#[test]
fn frames_of_rfc_2544() {
    rfc2544::latency_is_the_delay_of_a_known_network(run);
}

#[test]
fn tcp_of_rfc_6349() {
    rfc6349::a_black_hole_at_1400_bytes_is_found_over_ipv6(run);
}

#[test]
fn bursts_of_rfc_7640() {
    super::rfc7640::a_policer_passes_its_bursts_with_any_sender();
}

#[test]
fn services_of_y_1564() {
    super::y1564::three_services_side_by_side_have_what_was_sold();
}

#[test]
fn very_many_connections() {
    super::stress::the_network_sees_each_connection_opened_spoken_on_and_closed();
}

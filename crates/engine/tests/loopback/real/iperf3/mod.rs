//! Both ends of iperf3 with each other, with many at once, with whoever is authorised, and with
//! peers that speak something else.

mod authorised;
mod far_side;
mod many;
mod strange_clients;
mod strange_servers;
mod testbed;

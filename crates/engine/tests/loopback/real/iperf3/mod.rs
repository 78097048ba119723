//! Both ends of iperf3 with each other, with many at once, and with whoever is authorised.

mod authorised;
pub(crate) mod far_side;
mod many;
mod testbed;

//! Each case once: it asserts what holds on a host that is busy with other things.

pub(crate) mod control;
mod iperf3;
mod patient;

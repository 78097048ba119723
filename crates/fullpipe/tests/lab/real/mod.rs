//! Each case once: it asserts what holds on a host that is busy with other things, or is disturbed.

mod as_root;
mod burst;
mod doctor;
mod flow;
mod gateway;
mod patient;
mod plans;
mod rfc2544;
mod rfc6349;
mod rfc7640;
mod stock_iperf3;
mod stress;
mod y1564;

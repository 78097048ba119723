//! Each case once: it asserts what holds on a host that is busy with other things, or is disturbed.

mod as_root;
mod broken;
mod burst;
mod flow;
mod gateway;
mod lab;
mod plans;
mod rfc2544;
mod rfc6349;
mod rfc7640;
#[cfg(feature = "tui")]
mod screen;
mod serve;
mod stock_iperf3;
mod stress;
mod stress_stopped;
mod unreachable;
mod y1564;

//! Each case once: it asserts what holds on a host that is busy with other things.

mod control;
mod iperf3;

//! The other tester that half of the world's far ends run already: iperf3, both its ends.
//!
//! A test has one control connection and a number of streams. One thread of the client or server
//! speaks on the control connection, one more sends on all streams that this end sends on, and one
//! receives on all others. Nobody is waited for without a deadline: what does not come in time ends
//! the test.

mod account;
pub mod auth;
pub mod client;
mod control;
mod processor;
pub mod server;
mod sockets;
mod testbed;
mod traffic;
pub mod wire;

pub use account::{Arrival, Interval, StreamInterval, TcpInterval};
pub use processor::ProcessorUse;
pub use testbed::{AskError, Iperf3Testbed, expect_runnable};
pub use traffic::Role;

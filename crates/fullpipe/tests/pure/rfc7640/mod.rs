//! The RFC 7640 tests as their user runs them: simulated, and judged again.

mod known;
mod network;
mod refused;
mod replay;
mod sim;
mod spoilt;

//! Burst tests: simulated, and judged again.

mod command;
mod replay;
mod sim;

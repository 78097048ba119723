//! The RFC 7640 tests as their user runs them: simulated, in the lab, and judged again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../folder/mod.rs"]
mod folder;
#[path = "../judged/mod.rs"]
mod judged;
mod lab;
mod network;
#[path = "../recorded/mod.rs"]
mod recorded;
mod replay;
#[path = "../result/mod.rs"]
mod result;
mod sim;
mod spoilt;

//! The burst test as its user runs it: simulated, in the lab, and judged again from a result.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command;
#[path = "../disturbed/mod.rs"]
mod disturbed;
#[path = "../folder/mod.rs"]
mod folder;
#[path = "../judged/mod.rs"]
mod judged;
mod known;
#[path = "../recorded/mod.rs"]
mod recorded;
mod replay;
#[path = "../result/mod.rs"]
mod result;
mod sim;

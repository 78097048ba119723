//! Traffic as its user asks for it: simulated, in the lab, and judged again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
#[path = "../folder/mod.rs"]
mod folder;
#[path = "../judged/mod.rs"]
mod judged;
mod lab;
#[path = "../recorded/mod.rs"]
mod recorded;
mod replay;
#[path = "../result/mod.rs"]
mod result;
mod sim;

//! The RFC 6349 test as its user runs it: simulated, in the lab, and judged again from a result.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod clauses;
#[path = "../disturbed/mod.rs"]
mod disturbed;
#[path = "../judged/mod.rs"]
mod judged;
mod known;
mod lab;
#[path = "../recorded/mod.rs"]
mod recorded;
mod replay;
#[path = "../result/mod.rs"]
mod result;
mod sim;
mod standstill;
mod tcp;

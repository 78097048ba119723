//! The RFC 2544 tests as their user runs them: simulated, in the lab, and judged again from a result.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bursts;
mod clauses;
#[path = "../folder/mod.rs"]
mod folder;
#[path = "../judged/mod.rs"]
mod judged;
mod known;
mod lab;
mod network;
mod overload;
mod recovery;
mod replay;
#[path = "../result/mod.rs"]
mod result;
mod searches;

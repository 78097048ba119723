//! Very many connections as their user runs them: simulated, refused, judged again from a result.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
#[path = "../disturbed/mod.rs"]
mod disturbed;
mod documents;
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
mod stopped;

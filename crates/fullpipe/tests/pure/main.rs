//! What needs neither a network nor real time: methods over simulated networks, documents, the command
//! line.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod burst;
mod cable;
#[path = "../cases/mod.rs"]
mod cases;
mod command_line;
mod flow;
#[path = "../folder/mod.rs"]
mod folder;
mod golden;
mod host_trouble;
#[path = "../judged/mod.rs"]
mod judged;
#[path = "../load/mod.rs"]
mod load;
mod no_false_pass;
#[path = "../plans/mod.rs"]
mod plans;
#[path = "../port/mod.rs"]
mod port;
#[path = "../process/mod.rs"]
mod process;
#[path = "../recorded/mod.rs"]
mod recorded;
#[path = "../result/mod.rs"]
mod result;
mod rfc2544;
mod rfc6349;
mod rfc7640;
#[path = "../schema/mod.rs"]
mod schema;
mod stress;
#[path = "../result/tcp.rs"]
mod tcp;
mod y1564;

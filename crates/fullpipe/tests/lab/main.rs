//! What only real frames or real time can show: across the lab, over loopback, on a terminal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod across;
#[path = "../cases/mod.rs"]
mod cases;
mod connections;
#[path = "../folder/mod.rs"]
mod folder;
#[path = "../load/mod.rs"]
mod load;
#[path = "../plans/mod.rs"]
mod plans;
#[path = "../port/mod.rs"]
mod port;
#[path = "../process/mod.rs"]
mod process;
mod real;
#[path = "../result/mod.rs"]
mod result;
mod soak;
#[path = "../result/tcp.rs"]
mod tcp;
#[path = "../../../../tests/watch/mod.rs"]
mod watch;

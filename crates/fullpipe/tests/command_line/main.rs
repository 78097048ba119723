//! The command line as a user and a script meet it: words in; sentences, documents, exit codes out.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod broken;
mod compare;
mod documents;
mod evidence;
#[path = "../folder/mod.rs"]
mod folder;
mod gateway;
mod history;
mod lab;
mod older;
mod pdf;
mod plans;
mod process;
#[path = "../recorded/mod.rs"]
mod recorded;
mod report;
#[cfg(feature = "tui")]
mod screen;
mod serve;
mod stock_iperf3;
mod ui;
mod unreachable;

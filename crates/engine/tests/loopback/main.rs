//! Both ends over loopback, in real time.

#![expect(clippy::unwrap_used, reason = "a test panics where something is wrong")]

mod child;
#[path = "../packaged/mod.rs"]
mod packaged;
mod real;

//! What trials mean: methods, searches and the arithmetic of the standards.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod burst;
mod connection;
mod definition;
pub mod flow;
pub mod formula;
mod infer;
pub mod methods;
pub mod metric;
pub mod mlr;
pub mod mtu;
mod outage;
pub mod path;
pub mod reason;
pub mod rfc2544;
pub mod rfc6349;
pub mod rfc7640;
mod sanity;
pub mod search;
mod stall;
pub mod stress;
mod tester;
pub mod verdict;
pub mod y1564;

pub use formula::amount::{BitsPerSecond, Bytes, PerSecond, Seconds};
pub use formula::bounds::{Bounds, Loss};
pub use formula::number::Number;
pub use fp_model::{grouped, rounded, signed};

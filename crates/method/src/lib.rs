//! What trials mean: methods, searches and the arithmetic of the standards.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod amount;
pub mod back_to_back;
pub mod bdp;
mod bounds;
pub mod burst;
pub mod capacity;
mod conservation;
pub mod delay_variation;
pub mod ethernet;
pub mod figures;
pub mod flow;
mod infer;
pub mod load;
pub mod mbm;
pub mod metrics;
pub mod mlr;
pub mod mtu;
mod number;
mod outage;
pub mod path;
pub mod profile;
pub mod reason;
pub mod rfc2544;
pub mod rfc6349;
pub mod rfc7640;
pub mod rpm;
mod sanity;
pub mod search;
mod seconds;
mod stall;
pub mod stamp;
pub mod stress;
pub mod tcp_rules;
mod tester;
pub mod verdict;
pub mod y1564;

pub use amount::{BitsPerSecond, Bytes, PerSecond, Seconds};
pub use bounds::{Bounds, Loss};
pub use fp_model::{grouped, rounded, signed};
pub use number::Number;

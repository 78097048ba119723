//! Networks of which is known what a method must find, and what is asked of the method there: the same
//! in virtual time and across the lab.
//!
//! At least one case of each method sends real frames at each push.

pub(crate) mod burst;
pub(crate) mod rfc2544;
pub(crate) mod rfc6349;
pub(crate) mod rfc7640;
pub(crate) mod y1564;

use crate::result::Finished;

/// Runs a method over a network, by its name or its file, with these options: simulated or in the lab.
pub(crate) type Run = fn(network: &str, method: &str, words: &[&str]) -> Finished;

//! Burst tests over simulated ports.

mod bucket;
mod discovery;

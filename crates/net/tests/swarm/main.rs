//! Two shards against each other, by frames on a path that loses, repeats, delays and spoils them.
//!
//! In every case the counters add up, and all connections end.

mod world;

mod behaviours;
mod bulk;
mod counting;
mod faults;
mod translation;

//! Two shards against each other, by frames on a path that loses, repeats, delays and spoils them.

mod world;

mod behaviours;
mod bulk;
mod counting;
mod faults;
mod translation;

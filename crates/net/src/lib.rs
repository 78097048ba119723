//! A network in a box: links and TCP endpoints as state machines that are told the time.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod checksum;
pub mod histogram;
pub mod link;
pub mod meter;
pub mod packet;
pub mod path;
pub mod pattern;
pub mod sim;
pub mod stream;
pub mod swarm;
pub mod tcp;

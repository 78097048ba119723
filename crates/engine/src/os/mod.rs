//! What the kernel is asked for: the only place with `unsafe`, each behind a safe function.

pub mod child_guard;
pub mod clock;
pub(crate) mod coalesced;
pub mod ethtool;
pub(crate) mod frame_filter;
pub mod interfaces;
mod mapping;
pub mod memory;
mod messages;
pub mod netlink;
mod netns;
pub mod next_hop;
pub(crate) mod nf_tables;
pub mod packet;
pub(crate) mod packet_filter;
pub(crate) mod random;
pub(crate) mod redirect;
pub mod schedule;
pub mod signal;
pub mod signal_queue;
pub(crate) mod tcp;
pub mod terminal;
pub(crate) mod thread_usage;
pub(crate) mod udp;
pub(crate) mod wake;
pub(crate) mod xdp;

pub use netns::{NetNs, enter_own_user_namespace, may_make_networks};

//! The control connection between near and far end: pairing, TLS, messages, heartbeats.

pub(crate) mod channel;
pub(crate) mod far_clock;
mod identity;
pub(crate) mod line;
pub(crate) mod message;
pub(crate) mod pairing;
pub(crate) mod pulse;
pub(crate) mod readable;
pub(crate) mod socket;
pub(crate) mod tls;

pub use identity::{Identity, IdentityError};
pub use pairing::{DEFAULT_PORT, FarAddress, Host, Pairing, PairingError, Secret};

use fp_model::HostFacts;

use crate::os::interfaces;

/// What is known of this host.
pub fn host_facts() -> HostFacts {
    let (name, kernel) = interfaces::host_and_kernel();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    HostFacts {
        name,
        kernel,
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

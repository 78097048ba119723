//! The control connection between near and far end: pairing, TLS, messages, heartbeats.

pub(crate) mod channel;
pub(crate) mod far_clock;
mod identity;
pub(crate) mod line;
pub(crate) mod message;
pub(crate) mod pairing;
pub(crate) mod socket;
mod sparing;
pub(crate) mod tls;
pub(crate) mod udp_heartbeat;

pub use identity::{Identity, IdentityError};
pub use pairing::{DEFAULT_PORT, FarAddress, Host, Pairing, PairingError, Secret};

use fp_model::HostFacts;

use crate::os::interfaces;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
const CONGESTION_CONTROL: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// What is known of this host.
pub fn host_facts() -> HostFacts {
    let (name, kernel) = interfaces::host_and_kernel();
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    HostFacts {
        name,
        kernel,
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        clock_source: first_line(CLOCK_SOURCE),
        congestion_control: first_line(CONGESTION_CONTROL),
    }
}

/// Nothing where the kernel does not say, as in a container without these files.
fn first_line(file: &str) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

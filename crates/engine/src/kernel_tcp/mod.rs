//! TCP connections of the kernel under load: one exact receive window each, counted at both ends.
//!
//! One thread drives one end of one flow, however many connections the flow has. Both ends cut the
//! trial into the slots of `Timing::grid` by their own clocks, from counters that only grow: what a
//! late cut takes from one slot it gives to the next.

mod accept;
mod connect;
mod counters;
mod greeting;
pub(crate) mod options;
pub(crate) mod payload;
mod receiver;
mod schedule;
mod sender;
pub(crate) mod watch;
mod writes;

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::lease::Lease;

pub use accept::accept;
pub use connect::connect;
pub use options::listen;
pub use receiver::receive;
pub use sender::{send, send_within_windows};

/// A thread of a trial asks whether its peer is alive, and samples its counters, this often.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// Why a flow of kernel TCP connections could not be set up or finished.
#[derive(Debug, thiserror::Error)]
pub enum TcpError {
    #[error("cannot {doing} {address}: {source}")]
    Socket { doing: &'static str, address: SocketAddr, source: io::Error },
    #[error(
        "only {ready} of {wanted} data connections with {peer} came up in time: \
         see that nothing on the path drops TCP to this port or full-sized packets"
    )]
    Late { ready: usize, wanted: u32, peer: SocketAddr },
    #[error("cannot wait for data connections: {0}")]
    Watch(io::Error),
    #[error("the other end closed data connection {index} before the trial: {source}")]
    Refused { index: usize, source: io::Error },
    #[error("data connection {index} broke during the trial: {source}")]
    Broken { index: usize, source: io::Error },
    #[error("the trial was broken off: it was stopped, or the other end is no longer heard")]
    PeerSilent,
}

/// Closes connections so that what is still queued in them is dropped, not sent.
fn reset<'a>(streams: impl IntoIterator<Item = &'a TcpStream>) {
    for stream in streams {
        // Should it fail, the stream closes in the ordinary way, which is the best that is left.
        let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
    }
}

fn lease_holds(lease: &Lease) -> Result<(), TcpError> {
    if lease.is_live(crate::os::clock::now()) { Ok(()) } else { Err(TcpError::PeerSilent) }
}

#[cfg(test)]
mod tests;

//! How many sockets and how large buffers the kernel grants.

use std::fs;
use std::io;
use std::net::UdpSocket;

use rustix::process::{Resource, getrlimit};

use crate::os::{memory, udp};

/// `None` where the kernel does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Files and sockets that one process may have open; `None` is no limit.
    pub descriptors: Option<u64>,
    /// What a receiver of frames gets for what has arrived, the kernel's bookkeeping included.
    pub udp_buffer_bytes: Option<u64>,
    /// What it asks for.
    pub udp_buffer_asked_bytes: u64,
    /// The largest window that the kernel's TCP gets by itself.
    pub tcp_receive_buffer_bytes: Option<u64>,
    pub tcp_send_buffer_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
}

/// As they hold for this process.
///
/// # Errors
/// Where there is no UDP socket to be had.
pub fn limits() -> io::Result<Limits> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    udp::set_up(&socket, 0)?;
    Ok(Limits {
        descriptors: getrlimit(Resource::Nofile).maximum,
        udp_buffer_bytes: Some(udp::receive_buffer_bytes(&socket)?),
        // The kernel doubles what it is asked for, for its bookkeeping.
        udp_buffer_asked_bytes: 2 * udp::RECEIVE_BUFFER_BYTES.unsigned_abs() as u64,
        tcp_receive_buffer_bytes: largest("/proc/sys/net/ipv4/tcp_rmem"),
        tcp_send_buffer_bytes: largest("/proc/sys/net/ipv4/tcp_wmem"),
        memory_bytes: memory::available_bytes().ok(),
    })
}

/// The last of three numbers: least, default, most.
fn largest(file: &str) -> Option<u64> {
    fs::read_to_string(file).ok()?.split_ascii_whitespace().nth(2)?.parse().ok()
}

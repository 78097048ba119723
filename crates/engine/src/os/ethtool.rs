//! What ethtool tells and sets: offloads, switched off so that every frame is on the wire as it would
//! be, and queues.
#![expect(unsafe_code, reason = "an ethtool request is a pointer inside an ioctl")]

use std::ffi::c_char;
use std::io;
use std::mem::zeroed;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Makes the host compute every checksum and cut every segment itself, and join none it receives,
/// on an interface of the current thread's network namespace.
pub fn switch_offloads_off(interface: &str) -> io::Result<()> {
    [ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO]
        .into_iter()
        .try_for_each(|feature| switch_off(interface, feature))
}

/// How many receive queues an interface of the current thread's network namespace has.
pub(crate) fn receive_queues(interface: &str) -> io::Result<u32> {
    let mut channels = EthtoolChannels { command: ETHTOOL_GCHANNELS, ..EthtoolChannels::default() };
    match ask(interface, (&raw mut channels).cast()) {
        Ok(()) => Ok((channels.combined + channels.receive).max(1)),
        // A driver that does not know the question has one queue, and nothing to ask about.
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(error),
    }
}

const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;
const ETHTOOL_GCHANNELS: u32 = 0x3c;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct EthtoolChannels {
    command: u32,
    /// Receive, transmit, other, combined.
    most: [u32; 4],
    receive: u32,
    transmit: u32,
    other: u32,
    combined: u32,
}

fn switch_off(interface: &str, command: u32) -> io::Result<()> {
    let mut off = EthtoolValue { command, value: 0 };
    ask(interface, (&raw mut off).cast())
}

/// `what` points to one of the structures above, with its command.
fn ask(interface: &str, what: *mut c_char) -> io::Result<()> {
    // SAFETY: an interface request of all zeros is valid: an empty name and no argument.
    let mut request: libc::ifreq = unsafe { zeroed() };
    assert!(interface.len() < request.ifr_name.len(), "an interface name has at most 15 bytes");
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = what;
    // Any socket will do: it only says which network namespace is meant.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    // SAFETY: the request names an interface and points to a structure of ethtool's, as SIOCETHTOOL
    // wants it; both live through the call and the kernel keeps neither.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

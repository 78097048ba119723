//! Offloads of an interface, switched off so that every frame is on the wire as it would be.
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

const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

fn switch_off(interface: &str, command: u32) -> io::Result<()> {
    let mut off = EthtoolValue { command, value: 0 };
    // SAFETY: an interface request of all zeros is valid: an empty name and no argument.
    let mut request: libc::ifreq = unsafe { zeroed() };
    assert!(interface.len() < request.ifr_name.len(), "an interface name has at most 15 bytes");
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut off).cast();
    // Any socket will do: it only says which network namespace is meant.
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    // SAFETY: the request names an interface and points to an ethtool_value, as SIOCETHTOOL wants
    // it; both live through the call and the kernel keeps neither.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

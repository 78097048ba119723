//! A way by which frames do not leave this host, to keep warm the one by which they do.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

use fp_model::Family;
use socket2::SockRef;

use crate::os::packet_filter;

/// For so long frames are sent to the host itself before a burst.
pub(super) const LASTS: Duration = Duration::from_micros(150);
/// A frame to the host itself takes no longer.
pub(super) const ONE_TAKES: Duration = Duration::from_micros(8);

/// A socket that sends to itself and drops what it receives. That runs through most of the code and
/// touches most of the memory that sends a frame: without it the first frame of a burst takes some
/// 25 µs longer than the next one, after a pause in which the processor did something else.
///
/// # Errors
/// Where the host has no loopback interface.
pub(super) fn socket_to_itself(family: Family) -> io::Result<UdpSocket> {
    let host: IpAddr = match family {
        Family::Ipv4 => Ipv4Addr::LOCALHOST.into(),
        Family::Ipv6 => Ipv6Addr::LOCALHOST.into(),
    };
    let socket = UdpSocket::bind((host, 0))?;
    socket.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    SockRef::from(&socket).attach_filter(&packet_filter::nothing())?;
    Ok(socket)
}

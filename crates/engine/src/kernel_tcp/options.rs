//! What is set on a data connection before its first SYN: window, buffers, segments, marking.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;

use fp_model::{Rate, TcpLoad};
use rustix::io::Errno;
use rustix::net::sockopt;
use socket2::{Domain, Protocol, Socket, Type};

use super::TcpError;
use crate::os::tcp;

/// Always there and always allowed.
pub(crate) const CONGESTION_CONTROL_OF_LAST_RESORT: &str = "reno";
/// The bounds of `TCP_MAXSEG`.
const MSS_BOUNDS: (u32, u32) = (88, 32_767);
/// What the kernel may take to hold one segment, besides its payload.
const SEGMENT_OVERHEAD_BYTES: u64 = 2304;
/// Room in a buffer for what is on its way through the kernel.
const BUFFER_SPARE_BYTES: u64 = 128 << 10;

/// A listener for the data connections of one flow; `address` may have port 0.
///
/// Accepted connections inherit everything, so that the SYN-ACK already carries the window, its
/// scale, the segment size and the marking.
///
/// # Errors
/// What the kernel refuses.
pub fn listen(
    address: SocketAddr,
    load: &TcpLoad,
    traffic_class: u8,
) -> Result<TcpListener, TcpError> {
    let bound = || -> io::Result<TcpListener> {
        let socket = data_socket(address.ip(), load, traffic_class)?;
        // A port asked for by number may still be waiting for its last connections to be forgotten.
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(i32::try_from(load.connections).unwrap_or(i32::MAX).max(16))?;
        Ok(socket.into())
    };
    bound().map_err(|source| TcpError::Socket { doing: "listen on", address, source })
}

/// A non-blocking socket that talks to, or listens on, addresses of `ip`'s family.
pub(crate) fn data_socket(ip: IpAddr, load: &TcpLoad, traffic_class: u8) -> io::Result<Socket> {
    let domain = if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_mss(load.mss_bytes.clamp(MSS_BOUNDS.0, MSS_BOUNDS.1))?;
    if let Some(name) = load.congestion_control.name() {
        choose_congestion_control(&socket, name)?;
    }
    mark(&socket, ip, traffic_class)?;
    if let Some(rate) = load.pacing {
        tcp::set_max_pacing_rate(&socket, bytes_per_s(rate))?;
    }
    widen_send_buffer(&socket, load.window_bytes)?;
    widen_receive_buffer(&socket, load)?;
    tcp::set_window_clamp(&socket, window_clamp(load))?;
    Ok(socket)
}

/// As `TCP_WINDOW_CLAMP` takes it.
pub(crate) fn window_clamp(load: &TcpLoad) -> u32 {
    u32::try_from(load.window_bytes).unwrap_or(u32::MAX)
}

/// Half a byte per second would be rounded up; no rate at all would be no limit.
pub(crate) fn bytes_per_s(rate: Rate) -> u64 {
    rate.as_bps().div_ceil(8).max(1)
}

/// What was really chosen is read back from the socket when the trial is over.
pub(crate) fn choose_congestion_control(socket: &Socket, name: &str) -> io::Result<()> {
    match sockopt::set_tcp_congestion(socket, name) {
        Err(Errno::PERM | Errno::NOENT) => {
            Ok(sockopt::set_tcp_congestion(socket, CONGESTION_CONTROL_OF_LAST_RESORT)?)
        }
        outcome => Ok(outcome?),
    }
}

/// An IPv6 socket may carry IPv4, which has a marking of its own.
fn mark(socket: &Socket, ip: IpAddr, traffic_class: u8) -> io::Result<()> {
    if ip.is_ipv6() {
        sockopt::set_ipv6_tclass(socket, u32::from(traffic_class))?;
    }
    Ok(sockopt::set_ip_tos(socket, traffic_class)?)
}

/// Room for one window in flight and another behind it.
fn widen_send_buffer(socket: &Socket, window_bytes: u64) -> io::Result<()> {
    // The kernel doubles what it is given, for its own overhead.
    let want = buffer_bytes(window_bytes + BUFFER_SPARE_BYTES);
    if sockopt::set_socket_send_buffer_size_force(socket, want).is_ok() {
        return Ok(());
    }
    sockopt::set_socket_send_buffer_size(socket, want)?;
    if sockopt::socket_send_buffer_size(socket)? < 2 * want {
        // Kernels before Linux 5.14 cannot, and leave the buffer at its largest fixed size.
        let _ = tcp::let_kernel_tune(socket, tcp::Buffer::Send);
    }
    Ok(())
}

/// Room for a window on its way and another not yet read, so that the clamp alone is the limit.
fn widen_receive_buffer(socket: &Socket, load: &TcpLoad) -> io::Result<()> {
    let mss = u64::from(load.mss_bytes.max(MSS_BOUNDS.0));
    let held_per_window = load.window_bytes.saturating_mul(mss + SEGMENT_OVERHEAD_BYTES) / mss;
    let want = buffer_bytes(held_per_window.saturating_add(BUFFER_SPARE_BYTES));
    if sockopt::set_socket_recv_buffer_size_force(socket, want).is_ok() {
        return Ok(());
    }
    sockopt::set_socket_recv_buffer_size(socket, want)?;
    if sockopt::socket_recv_buffer_size(socket)? < 2 * want {
        grow_receive_buffer_by_low_water(socket, want)?;
    }
    Ok(())
}

/// An ordinary user's fixed buffer ends at `net.core.rmem_max`, a tuned one at the mostly larger
/// `net.ipv4.tcp_rmem[2]`. A socket that is to wait for many bytes is given that much at once.
fn grow_receive_buffer_by_low_water(socket: &Socket, want: usize) -> io::Result<()> {
    // Kernels before Linux 5.14 cannot, and leave the buffer at its largest fixed size.
    if tcp::let_kernel_tune(socket, tcp::Buffer::Receive).is_ok() {
        tcp::set_receive_low_water(socket, u32::try_from(want).unwrap_or(u32::MAX))?;
        tcp::set_receive_low_water(socket, 1)?;
    }
    Ok(())
}

/// As the kernel takes a buffer's size.
fn buffer_bytes(bytes: u64) -> usize {
    bytes.min(i32::MAX as u64 / 2) as usize
}

/// Advertises no more than `clamp`, whatever the kernel has made of it meanwhile.
///
/// Linux moves the clamp to what the buffer could hold whenever it learns how densely segments
/// fill it, which is at the first full segment.
pub(crate) fn hold_window_clamp(socket: impl AsFd, clamp: u32) -> io::Result<()> {
    if tcp::window_clamp(&socket)? == clamp {
        return Ok(());
    }
    tcp::set_window_clamp(&socket, clamp)
}

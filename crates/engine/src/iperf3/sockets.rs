//! The sockets of the streams: what a test asks of them, set before they carry anything.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use fp_model::Rate;
use rustix::net::sockopt;
use socket2::{Domain, Socket, Type};

use super::wire::Parameters;
use crate::control::socket::{Sharing, bound};
use crate::kernel_tcp::options::bytes_per_s;
use crate::os::{coalesced, tcp};

/// What the kernel holds of a UDP stream that is not read at once: ten milliseconds at 1 Mpps take
/// this much, most of it its own bookkeeping.
const UDP_BUFFER_BYTES: usize = 8 << 20;

/// A TCP socket that is to be connected to `ip`.
pub(super) fn tcp_socket(ip: IpAddr, asked: &Parameters) -> io::Result<Socket> {
    let socket = Socket::new(domain(ip), Type::STREAM.nonblocking(), None)?;
    if let Some(bytes) = asked.mss_bytes {
        socket.set_tcp_mss(bytes)?;
    }
    if let Some(name) = &asked.congestion {
        sockopt::set_tcp_congestion(&socket, name).map_err(|errno| {
            let refused =
                format!("this host does not allow the congestion control {name}: {errno}");
            io::Error::new(errno.kind(), refused)
        })?;
    }
    dress_tcp(&socket, ip, asked)?;
    Ok(socket)
}

/// What can be set on a connection at any time, and is on one that was accepted.
pub(super) fn dress_tcp(socket: &Socket, ip: IpAddr, asked: &Parameters) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    if asked.no_delay {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(bytes) = asked.window_bytes {
        socket.set_send_buffer_size(bytes as usize)?;
        socket.set_recv_buffer_size(bytes as usize)?;
    }
    pace(socket, asked.pacing)?;
    mark(socket, ip, asked.tos)
}

/// A UDP socket that is connected to `peer`, and receives from nobody else. A server's has the
/// address of all its streams, a client's one of its own.
pub(super) fn udp_socket(
    local: Option<SocketAddr>,
    peer: SocketAddr,
    asked: &Parameters,
) -> io::Result<UdpSocket> {
    let socket = match local {
        Some(local) => bound(local, Type::DGRAM, Sharing::Reused)?,
        None => Socket::new(domain(peer.ip()), Type::DGRAM.nonblocking(), None)?,
    };
    socket.connect(&peer.into())?;
    let bytes = asked.window_bytes.map_or(UDP_BUFFER_BYTES, |bytes| bytes as usize);
    if asked.window_bytes.is_some()
        || sockopt::set_socket_recv_buffer_size_force(&socket, bytes).is_err()
    {
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.set_send_buffer_size(bytes)?;
    pace(&socket, asked.pacing)?;
    mark(&socket, peer.ip(), asked.tos)?;
    let socket = UdpSocket::from(socket);
    coalesced::set_up(&socket)?;
    Ok(socket)
}

fn pace(socket: &Socket, rate: Option<Rate>) -> io::Result<()> {
    rate.map_or(Ok(()), |rate| tcp::set_max_pacing_rate(socket, bytes_per_s(rate)))
}

fn mark(socket: &Socket, ip: IpAddr, tos: u8) -> io::Result<()> {
    if tos == 0 {
        return Ok(());
    }
    if ip.is_ipv6() {
        sockopt::set_ipv6_tclass(socket, tos.into())?;
    }
    // An IPv6 socket may carry IPv4, which has a marking of its own.
    Ok(sockopt::set_ip_tos(socket, tos)?)
}

const fn domain(ip: IpAddr) -> Domain {
    if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 }
}

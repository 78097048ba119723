//! The sockets of the control connection: small segments, quick to notice that nobody is there.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use fp_model::Time;
use socket2::{Domain, Protocol, Socket, Type};

use super::DEFAULT_PORT;
use crate::StopFlag;
use crate::os::wake::{Interest, wait};
use crate::os::{clock, tcp};

/// With 40 bytes of IPv4 and TCP header this makes the 576 bytes that any IPv4 path carries, and
/// less than the 1280 of any IPv6 path: the connection survives a hole for larger packets.
const SEGMENT_MAX_BYTES: u32 = 536;
/// What the kernel waits for an acknowledgement: longer than a trial floods the path. That the peer
/// is silent is noticed before by us.
const USER_TIMEOUT: Duration = Duration::from_secs(60);
/// The least that the kernel accepts.
const RTO_MAX: Duration = Duration::from_secs(1);
const BACKLOG: i32 = 512;

/// Listens at `address`; without one at port 6349 of all addresses, IPv6 and IPv4.
pub(crate) fn listen(address: Option<SocketAddr>) -> io::Result<TcpListener> {
    let Some(address) = address else {
        let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, DEFAULT_PORT));
        return match listen_at(everywhere) {
            Err(error) if no_ipv6(&error) => {
                listen_at(SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT)))
            }
            outcome => outcome,
        };
    };
    listen_at(address)
}

/// Where a socket is bound that may use any address of its family.
pub(crate) const fn any_address(is_ipv4: bool) -> IpAddr {
    if is_ipv4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) }
}

/// Whether there is no IPv6 on this host.
pub(crate) fn no_ipv6(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    code == Some(libc::EAFNOSUPPORT) || code == Some(libc::EADDRNOTAVAIL)
}

fn listen_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = bound(address, Type::STREAM, Sharing::Reused)?;
    // Inherited by the connections.
    socket.set_tcp_mss(SEGMENT_MAX_BYTES)?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Whether an address may be bound that another socket still has or has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    Reused,
    Exclusive,
}

/// A socket of `address` that does not block; all addresses of IPv6 are those of IPv4 as well.
pub(crate) fn bound(address: SocketAddr, kind: Type, sharing: Sharing) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if matches!(address, SocketAddr::V6(v6) if v6.ip().is_unspecified()) {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_address(sharing == Sharing::Reused)?;
    socket.bind(&address.into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// An IPv4 address that came dressed as an IPv6 one, undressed.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => SocketAddr::new(v4.into(), address.port()),
        // As it is: with its scope.
        IpAddr::V6(_) => address,
    }
}

/// Makes an accepted connection ready for a control channel.
pub(crate) fn prepare(stream: TcpStream) -> io::Result<TcpStream> {
    let socket = Socket::from(stream);
    tune(&socket)?;
    Ok(socket.into())
}

fn tune(socket: &Socket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    // A message lost in a flooded queue is repeated soon, not after ever longer pauses.
    socket.set_tcp_thin_linear_timeouts(true)?;
    // Kernels before 6.15 do not know it: there the pauses grow after six repetitions.
    let _ = tcp::set_rto_max(socket, RTO_MAX);
    Ok(())
}

/// Connects to `far` before `deadline`.
///
/// # Errors
/// `TimedOut` at the deadline, `Interrupted` once `stop` is set, else what the kernel says.
pub(crate) fn dial(far: SocketAddr, deadline: Time, stop: &StopFlag) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(far), Type::STREAM, Some(Protocol::TCP))?;
    tune(&socket)?;
    socket.set_tcp_mss(SEGMENT_MAX_BYTES)?;
    connect(socket, far, deadline, stop)
}

/// Connects a socket that does not block, as [`dial`] does.
///
/// # Errors
/// Those of [`dial`].
pub(crate) fn connect(
    socket: Socket,
    far: SocketAddr,
    deadline: Time,
    stop: &StopFlag,
) -> io::Result<TcpStream> {
    const LOOK_UP: Duration = Duration::from_millis(50);
    match socket.connect(&far.into()) {
        Ok(()) => return Ok(socket.into()),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    loop {
        let left = deadline.since(clock::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if stop.is_set() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        wait(&[(socket.as_fd(), Interest::Write)], left.min(LOOK_UP))?;
        if let Some(error) = socket.take_error()? {
            return Err(error);
        }
        if socket.peer_addr().is_ok() {
            return Ok(socket.into());
        }
    }
}

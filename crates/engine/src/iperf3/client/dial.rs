//! The connections of a client: the control connection, and the streams in their order.

use std::io::{self, ErrorKind, Write as _};
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fp_model::Time;
use socket2::{Domain, Socket, Type};

use super::{ClientError, ClientPlan};
use crate::control::socket::connect;
use crate::iperf3::control::{Control, ControlError, PATIENCE, is_passing};
use crate::iperf3::sockets::{tcp_socket, udp_socket};
use crate::iperf3::traffic::{Role, Socket as StreamSocket, Stream};
use crate::iperf3::wire::{
    Cookie, Parameters, Transport, UDP_HELLO, UDP_REPLY, UDP_REPLY_OF_OLD, stream_ids,
};
use crate::near::connect::addresses;
use crate::os::{clock, udp};
use crate::{Marking, StopFlag};

/// A lost greeting of a UDP stream is repeated so soon.
const REPEAT: Duration = Duration::from_secs(1);

/// Connects to the first address of the far end that answers, and presents the cookie.
pub(in crate::iperf3) fn control(
    plan: &ClientPlan,
    cookie: &Cookie,
    stop: &StopFlag,
) -> Result<Control, ClientError> {
    let deadline = clock::now() + PATIENCE;
    let candidates = addresses(&plan.far, plan.family, deadline, stop)
        .map_err(|error| ClientError::Name(error.to_string()))?;
    let mut failure = io::Error::from(ErrorKind::TimedOut);
    for (tried, address) in candidates.iter().enumerate() {
        let now = clock::now();
        let left = u32::try_from(candidates.len() - tried).unwrap_or(u32::MAX);
        let share = now + deadline.since(now) / left;
        match one_control(*address, share, cookie, stop) {
            Ok(control) => return Ok(control),
            Err(error) => failure = error,
        }
    }
    Err(not_connected(plan, failure))
}

fn one_control(
    far: SocketAddr,
    deadline: Time,
    cookie: &Cookie,
    stop: &StopFlag,
) -> io::Result<Control> {
    let socket = Socket::new(Domain::for_address(far), Type::STREAM.nonblocking(), None)?;
    let mut control = Control::new(connect(socket, far, deadline, stop)?, stop.clone())?;
    control.write(cookie.as_bytes()).map_err(|error| match error {
        ControlError::Broken(source) => source,
        error => io::Error::other(error),
    })?;
    Ok(control)
}

fn not_connected(plan: &ClientPlan, error: io::Error) -> ClientError {
    let far = plan.far.to_string();
    match error.kind() {
        ErrorKind::ConnectionRefused => ClientError::Refused { far },
        ErrorKind::TimedOut => ClientError::Unanswered { far },
        ErrorKind::Interrupted => ClientError::Stopped,
        _ => ClientError::Host { doing: format!("connect to {far}"), source: error },
    }
}

/// Opens all streams, those that this end sends on first, each before the next: the server numbers
/// them in the order of their arrival. `marking` is what the packets of each bear, by its place.
pub(in crate::iperf3) fn streams(
    control: &Control,
    asked: &Parameters,
    cookie: &Cookie,
    marking: impl Fn(usize) -> Marking,
    stop: &StopFlag,
) -> Result<Vec<Stream>, ClientError> {
    let deadline = clock::now() + PATIENCE;
    let failed = |source| ClientError::Stream { transport: transport_name(asked), source };
    let far = control.peer().map_err(failed)?;
    let (sending, receiving) = asked.streams_of_client();
    let roles = std::iter::repeat_n(Role::Sender, sending as usize)
        .chain(std::iter::repeat_n(Role::Receiver, receiving as usize));
    let open = |(place, (role, id))| {
        let marking = marking(place);
        let asked = &Parameters { tos: marking.traffic_class, ..asked.clone() };
        let socket = match asked.transport {
            Transport::Tcp => tcp_stream(far, asked, cookie, marking, deadline, stop)?,
            Transport::Udp => StreamSocket::Udp(udp_stream(far, asked, marking, deadline, stop)?),
        };
        Ok(Stream::new(id, role, socket))
    };
    roles.zip(stream_ids()).enumerate().map(open).collect::<io::Result<_>>().map_err(|error| {
        match error.kind() {
            ErrorKind::Interrupted => ClientError::Stopped,
            _ => failed(error),
        }
    })
}

const fn transport_name(asked: &Parameters) -> &'static str {
    match asked.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

fn tcp_stream(
    far: SocketAddr,
    asked: &Parameters,
    cookie: &Cookie,
    marking: Marking,
    deadline: Time,
    stop: &StopFlag,
) -> io::Result<StreamSocket> {
    let socket = tcp_socket(far.ip(), asked)?;
    marking.bind(&socket, 0, far.ip())?;
    let stream = connect(socket, far, deadline, stop)?;
    // The first bytes of a connection always fit its buffer.
    (&stream).write_all(cookie.as_bytes())?;
    Ok(StreamSocket::Tcp(stream))
}

/// Greets until the server answers: it then sends to this socket's address and to no other.
fn udp_stream(
    far: SocketAddr,
    asked: &Parameters,
    marking: Marking,
    deadline: Time,
    stop: &StopFlag,
) -> io::Result<UdpSocket> {
    let socket = udp_socket(marking.near_of(0, far.ip()), far, asked)?;
    let mut repeat_at = clock::now();
    while clock::now() < deadline {
        if stop.is_set() {
            return Err(ErrorKind::Interrupted.into());
        }
        if clock::now() >= repeat_at {
            greet(&socket)?;
            repeat_at = clock::now() + REPEAT;
        }
        udp::wait_readable(&socket, repeat_at.min(clock::now() + Duration::from_millis(50)))?;
        if is_answered(&socket)? {
            return Ok(socket);
        }
    }
    let silent = "the server did not answer: let UDP to its port through every firewall on the way";
    Err(io::Error::new(ErrorKind::TimedOut, silent))
}

fn greet(socket: &UdpSocket) -> io::Result<()> {
    match socket.send(&UDP_HELLO) {
        // The server may not listen yet: the next greeting will tell.
        Err(error) if udp::is_about_an_earlier_datagram(&error) || is_passing(&error) => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn is_answered(socket: &UdpSocket) -> io::Result<bool> {
    let mut reply = [0; 8];
    match socket.recv(&mut reply) {
        Ok(bytes) => Ok([UDP_REPLY, UDP_REPLY_OF_OLD].iter().any(|known| reply[..bytes] == *known)),
        Err(error) if udp::is_about_an_earlier_datagram(&error) || is_passing(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

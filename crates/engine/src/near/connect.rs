//! From a pairing string to an admitted control connection, or to a sentence on why not.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fp_model::{Family, HostFacts, Time};

use crate::StopFlag;
use crate::control::channel::{Channel, ChannelError};
use crate::control::message::{
    Admission, Entry, Hello, PROTOCOL, TO_NEAR_MAX_BYTES, common_protocol,
};
use crate::control::udp_heartbeat::UdpHeartbeat;
use crate::control::{FarAddress, Host, Pairing, socket, tls};
use crate::os::clock;

/// Why there is no session with the far end: a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    #[error("the host '{0}' is not known: check its name, or give its address")]
    UnknownHost(String),
    #[error("'{host}' has no {family} address: leave out the option that asks for one")]
    OtherFamily { host: String, family: &'static str },
    #[error("nothing listens on {0}: start `fullpipe serve` there")]
    Refused(String),
    #[error("there is no way to {0}: check the address and this host's routes ({1})")]
    Unreachable(String, String),
    #[error(
        "{far} does not answer within {seconds} s: check the address, and that no firewall stands before TCP \
         to this port",
        seconds = CONNECT_MAX.as_secs_f64()
    )]
    Silent { far: String },
    #[error(
        "what listens on {far} does not answer as a far end within {seconds} s: check that it is `fullpipe \
         serve`",
        seconds = CONNECT_MAX.as_secs_f64()
    )]
    Mute { far: String },
    #[error("what listens on {0} is not `fullpipe serve`: {1}")]
    NotAFarEnd(String, String),
    #[error(
        "the far end {0} has another key than this pairing string: copy the one that its \
         `fullpipe serve` printed when it started"
    )]
    WrongKey(String),
    #[error(
        "far end {far} speaks protocol {theirs}, this end speaks {PROTOCOL}: update {outdated}"
    )]
    OtherVersion { far: String, theirs: u32, outdated: &'static str },
    #[error("the far end {far} serves {sessions} sessions already: try again later")]
    Full { far: String, sessions: usize },
    #[error("{0}")]
    Lost(String),
    #[error("stopped")]
    Stopped,
    #[error("this host cannot connect: {0}")]
    Host(String),
}

/// An admitted connection and what the far end said of itself.
#[derive(Debug)]
pub(super) struct Entered {
    pub(super) channel: Channel,
    pub(super) far: SocketAddr,
    /// The version of the messages that it speaks.
    pub(super) far_protocol: u32,
    pub(super) facts: HostFacts,
    pub(super) interface_mtu_bytes: Option<u32>,
    pub(super) other_address: Option<IpAddr>,
    pub(super) heartbeat: Option<UdpHeartbeat>,
}

/// From the name to the clocks compared: four round trips of a path over a satellite, and half a second, which
/// a busy host may take to begin and to end, less than the three seconds after which a user is told.
pub(super) const CONNECT_MAX: Duration = Duration::from_millis(2500);

pub(super) fn connect(
    pairing: &Pairing,
    family: Option<Family>,
    deadline: Time,
    stop: &StopFlag,
) -> Result<Entered, ConnectError> {
    let name = pairing.far.to_string();
    let all = all_addresses(&pairing.far, deadline, stop)?;
    let (stream, far) =
        dial_one_of(&of_family(&pairing.far, &all, family)?, &name, deadline, stop)?;
    let host_error = |error: rustls::Error| ConnectError::Host(error.to_string());
    let tls = tls::near_end(&pairing.secret).map_err(host_error)?;
    let mut channel = Channel::near(tls, stream);
    let (far_protocol, admission) = ask_admission(&mut channel, pairing, deadline, stop)?;
    match admission {
        Admission::Welcome { facts, interface_mtu_bytes, other_address, pulse } => {
            channel.allow(TO_NEAR_MAX_BYTES);
            // Without heartbeats by UDP those of the connection have to do.
            let heartbeat = pulse.and_then(|address| UdpHeartbeat::near(far, &address).ok());
            // An address of the same family would be no other one.
            let is_other = |address: &IpAddr| family_of(*address) != family_of(far.ip());
            let by_its_name = || all.iter().map(SocketAddr::ip).find(is_other);
            let other_address = other_address.filter(is_other).or_else(by_its_name);
            Ok(Entered {
                channel,
                far,
                far_protocol,
                facts,
                interface_mtu_bytes,
                other_address,
                heartbeat,
            })
        }
        Admission::WrongToken {} => Err(ConnectError::WrongKey(name)),
        Admission::Full { sessions } => Err(ConnectError::Full { far: name, sessions }),
    }
}

/// All addresses of the far end, of one family if that is asked for.
pub(crate) fn addresses(
    far: &FarAddress,
    family: Option<Family>,
    deadline: Time,
    stop: &StopFlag,
) -> Result<Vec<SocketAddr>, ConnectError> {
    of_family(far, &all_addresses(far, deadline, stop)?, family)
}

fn all_addresses(
    far: &FarAddress,
    deadline: Time,
    stop: &StopFlag,
) -> Result<Vec<SocketAddr>, ConnectError> {
    match &far.host {
        Host::Address(address) => Ok(vec![SocketAddr::new(*address, far.port)]),
        Host::Name(name) => resolve(name, far.port, deadline, stop),
    }
}

fn of_family(
    far: &FarAddress,
    found: &[SocketAddr],
    family: Option<Family>,
) -> Result<Vec<SocketAddr>, ConnectError> {
    let wanted = |address: &&SocketAddr| family.is_none_or(|f| f == family_of(address.ip()));
    let usable: Vec<SocketAddr> = found.iter().filter(wanted).copied().collect();
    match (usable.is_empty(), family) {
        (false, _) => Ok(usable),
        (true, None) => Err(ConnectError::UnknownHost(far.host.to_string())),
        (true, Some(family)) => {
            let family = match family {
                Family::Ipv4 => "IPv4",
                Family::Ipv6 => "IPv6",
            };
            Err(ConnectError::OtherFamily { host: far.host.to_string(), family })
        }
    }
}

/// The resolver of the C library knows no deadline: a thread that is late is left to itself, and
/// its answer goes nowhere.
fn resolve(
    name: &str,
    port: u16,
    deadline: Time,
    stop: &StopFlag,
) -> Result<Vec<SocketAddr>, ConnectError> {
    const LOOK_UP: Duration = Duration::from_millis(50);
    let (answer, answered) = mpsc::channel();
    let question = (name.to_owned(), port);
    thread::Builder::new()
        .name("resolver".into())
        .spawn(move || drop(answer.send(question.to_socket_addrs().map(Vec::from_iter))))
        .map_err(|error| ConnectError::Host(error.to_string()))?;
    loop {
        match answered.recv_timeout(LOOK_UP) {
            Ok(Ok(addresses)) => return Ok(addresses),
            Err(mpsc::RecvTimeoutError::Timeout) if stop.is_set() => {
                return Err(ConnectError::Stopped);
            }
            Err(mpsc::RecvTimeoutError::Timeout) if clock::now() < deadline => {}
            Ok(Err(_)) | Err(_) => return Err(ConnectError::UnknownHost(name.to_owned())),
        }
    }
}

/// The first that answers; each is given its share of the time that is left.
fn dial_one_of(
    addresses: &[SocketAddr],
    name: &str,
    deadline: Time,
    stop: &StopFlag,
) -> Result<(std::net::TcpStream, SocketAddr), ConnectError> {
    let mut failure = ConnectError::Silent { far: name.to_owned() };
    for (tried, address) in addresses.iter().enumerate() {
        let now = clock::now();
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        match socket::dial(*address, now + deadline.since(now) / left, stop) {
            Ok(stream) => return Ok((stream, *address)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                return Err(ConnectError::Stopped);
            }
            Err(error) => failure = not_dialled(address, error),
        }
    }
    Err(failure)
}

fn not_dialled(address: &SocketAddr, error: io::Error) -> ConnectError {
    use io::ErrorKind::{
        AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable, TimedOut,
    };
    let address = address.to_string();
    match error.kind() {
        ConnectionRefused => ConnectError::Refused(address),
        TimedOut => ConnectError::Silent { far: address },
        HostUnreachable | NetworkUnreachable | AddrNotAvailable => {
            ConnectError::Unreachable(address, error.to_string())
        }
        _ => ConnectError::Host(format!("{address}: {error}")),
    }
}

/// Says hello and shows the token in one go: both are read in order, or not at all.
fn ask_admission(
    channel: &mut Channel,
    pairing: &Pairing,
    deadline: Time,
    stop: &StopFlag,
) -> Result<(u32, Admission), ConnectError> {
    let name = pairing.far.to_string();
    let failed = |error: ChannelError| not_admitted(&name, error);
    channel.queue(&Hello { protocol: PROTOCOL }).map_err(failed)?;
    channel.queue(&Entry { token: pairing.secret.token.0 }).map_err(failed)?;
    let hello: Hello = channel.receive(deadline, stop).map_err(failed)?;
    if common_protocol(PROTOCOL, hello.protocol).is_none() {
        let older = hello.protocol < PROTOCOL;
        let outdated = if older { "the far end" } else { "this end" };
        return Err(ConnectError::OtherVersion { far: name, theirs: hello.protocol, outdated });
    }
    Ok((hello.protocol, channel.receive(deadline, stop).map_err(failed)?))
}

fn not_admitted(name: &str, error: ChannelError) -> ConnectError {
    let name = name.to_owned();
    match error {
        ChannelError::Tls(error) if tls::is_wrong_certificate(&error) => {
            ConnectError::WrongKey(name)
        }
        ChannelError::Late => ConnectError::Mute { far: name },
        ChannelError::Stopped => ConnectError::Stopped,
        error @ (ChannelError::Closed
        | ChannelError::Unread
        | ChannelError::Broken(_)
        | ChannelError::Tls(_)
        | ChannelError::Message(_)) => ConnectError::NotAFarEnd(name, error.to_string()),
    }
}

/// Whether the two ends meet over IPv4 or IPv6.
pub(crate) fn family_of(address: IpAddr) -> Family {
    if address.to_canonical().is_ipv4() { Family::Ipv4 } else { Family::Ipv6 }
}

//! The far end: waits for near ends, admits those that know its secret, and runs its halves of trials.

mod admission;
mod beside;
pub(crate) mod guests;
mod session;
mod tally;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustls::ServerConfig;

use crate::control::{DEFAULT_PORT, FarAddress, Host, Identity, Pairing, Secret, socket, tls};
use crate::os::wake::{Interest, wait};
use crate::swarm::{Claims, ConnectionNetworks};
use crate::{DataPorts, StopFlag};
use beside::Trials;
use guests::Guests;
pub use tally::Figures;
use tally::Tally;

/// How a far end is to serve.
#[derive(Debug)]
pub struct ServerOptions {
    /// Without an address: port 6349 of all addresses, IPv6 and IPv4.
    pub listen: Option<SocketAddr>,
    /// Where a firewall opens only some ports for data connections.
    pub data_ports: DataPorts,
    /// Where near ends may have addresses of many connections.
    pub connection_networks: ConnectionNetworks,
    pub max_sessions: usize,
    pub identity: Identity,
    pub log: Log,
}

/// Where a line per session goes.
#[derive(Clone)]
pub struct Log(Arc<dyn Fn(fmt::Arguments<'_>) + Send + Sync>);

/// A far end that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    secret: Secret,
    house: Arc<House>,
}

/// What all sessions share.
#[derive(Debug)]
struct House {
    tls: Arc<ServerConfig>,
    secret: Secret,
    data_ports: DataPorts,
    connection_networks: ConnectionNetworks,
    claims: Claims,
    guests: Arc<Guests>,
    trials: Arc<Trials>,
    tally: Tally,
    stop: StopFlag,
    log: Log,
}

/// What a far end counts, for whoever watches over it while it serves.
#[derive(Clone, Debug)]
pub struct Watch(Arc<House>);

/// Why a far end cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen on {address}: the port is in use; stop what uses it or choose another with \
         --listen"
    )]
    PortInUse { address: String },
    #[error(
        "cannot listen on {address}: this user may not; choose a port above 1023 with --listen"
    )]
    NotAllowed { address: String },
    #[error(
        "cannot listen on {address}: this host has no such address; choose one of its own with \
         --listen"
    )]
    NotOurAddress { address: String },
    #[error("cannot listen on {address}: {error}")]
    Listen { address: String, error: io::Error },
    #[error(
        "the key of the far end cannot be used: {0}; remove its key file to have a new one made"
    )]
    Key(rustls::Error),
    #[error("cannot wait for near ends: {0}")]
    Accept(io::Error),
}

/// How often a far end looks whether it is to stop.
const LOOK_UP: Duration = Duration::from_millis(100);

impl Log {
    pub fn to(write: impl Fn(fmt::Arguments<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(write))
    }

    pub fn none() -> Self {
        Self::to(|_| {})
    }

    pub(crate) fn line(&self, text: fmt::Arguments<'_>) {
        (self.0)(text);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Log")
    }
}

impl Server {
    /// # Errors
    /// A sentence on why the address cannot be listened on.
    pub fn bind(options: ServerOptions) -> Result<Self, ServeError> {
        let ServerOptions { listen, data_ports, connection_networks, max_sessions, identity, log } =
            options;
        let tls = tls::far_end(&identity).map_err(ServeError::Key)?;
        let secret = identity.secret();
        let listener = socket::listen(listen).map_err(|error| not_listening(listen, error))?;
        let house = House {
            tls,
            secret: secret.clone(),
            data_ports,
            connection_networks,
            claims: Claims::default(),
            guests: Arc::new(Guests::at_most(max_sessions)),
            trials: Arc::default(),
            tally: Tally::default(),
            stop: StopFlag::default(),
            log,
        };
        Ok(Self { listener, secret, house: Arc::new(house) })
    }

    /// # Errors
    /// Where the kernel does not tell.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What a near end needs that reaches this far end as `host`.
    pub fn pairing(&self, host: Host) -> Pairing {
        // A socket that listens has an address.
        let port = self.local_address().map_or(DEFAULT_PORT, |address| address.port());
        Pairing { far: FarAddress { host, port }, secret: self.secret.clone() }
    }

    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.house))
    }

    /// Serves until `stop` is set; then ends all sessions and frees what they hold.
    ///
    /// # Errors
    /// Where the kernel gives no more connections.
    pub fn serve(&self, stop: &StopFlag) -> Result<(), ServeError> {
        let mut sessions: Vec<JoinHandle<()>> = Vec::new();
        let outcome = loop {
            if stop.is_set() {
                break Ok(());
            }
            if let Err(error) = self.accept(&mut sessions) {
                break Err(ServeError::Accept(error));
            }
            sessions = join_ended(sessions);
        };
        self.house.stop.set();
        for session in sessions {
            // A panic of a session has been reported on stderr.
            let _ = session.join();
        }
        outcome
    }

    fn accept(&self, sessions: &mut Vec<JoinHandle<()>>) -> io::Result<()> {
        wait(&[(self.listener.as_fd(), Interest::Read)], LOOK_UP)?;
        match self.listener.accept() {
            Ok((stream, peer)) => {
                let peer = socket::plain(peer);
                match self.receive(stream, peer) {
                    Ok(session) => sessions.push(session),
                    // The guest finds its connection closed.
                    Err(error) => self.house.log.line(format_args!("{peer} turned away: {error}")),
                }
                Ok(())
            }
            Err(error) if comes_again(&error) => Ok(()),
            Err(error) if lacks_descriptors(&error) => {
                // Until a session gives some back, a pause keeps the processor free.
                wait(&[], LOOK_UP)
            }
            Err(error) => Err(error),
        }
    }

    /// Notes the guest in the order of arrival; all else is its own thread's business.
    fn receive(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<JoinHandle<()>> {
        let guest = self.house.guests.arrive(peer.ip(), stream.try_clone()?);
        let house = Arc::clone(&self.house);
        thread::Builder::new()
            .name("session".into())
            .spawn(move || session::attend(&house, guest, stream, peer))
    }
}

pub(crate) fn join_ended(sessions: Vec<JoinHandle<()>>) -> Vec<JoinHandle<()>> {
    let (ended, live): (Vec<_>, Vec<_>) =
        sessions.into_iter().partition(|session| session.is_finished());
    for session in ended {
        // A panic of a session has been reported on stderr.
        let _ = session.join();
    }
    live
}

/// Failures of one connection that say nothing of the next, accept(2).
pub(crate) fn comes_again(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    let of_the_network = [
        libc::EPROTO,
        libc::ENETDOWN,
        libc::ENETUNREACH,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::ENONET,
        libc::EPERM,
    ];
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted)
        || error.raw_os_error().is_some_and(|code| of_the_network.contains(&code))
}

pub(crate) fn lacks_descriptors(error: &io::Error) -> bool {
    let codes = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error.raw_os_error().is_some_and(|code| codes.contains(&code))
}

fn not_listening(listen: Option<SocketAddr>, error: io::Error) -> ServeError {
    let address = match listen {
        Some(address) => address.to_string(),
        None => format!("port {DEFAULT_PORT}"),
    };
    match error.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortInUse { address },
        io::ErrorKind::PermissionDenied => ServeError::NotAllowed { address },
        io::ErrorKind::AddrNotAvailable => ServeError::NotOurAddress { address },
        _ => ServeError::Listen { address, error },
    }
}

impl Watch {
    /// As they are now.
    pub fn figures(&self) -> Figures {
        let (sessions_active, strangers, sessions_limit) = self.0.guests.count();
        Figures { sessions_active, strangers, sessions_limit, ..self.0.tally.figures() }
    }
}

impl House {
    /// Whether the whole far end is to stop.
    fn is_closing(&self) -> bool {
        self.stop.is_set()
    }
}

/// Whom a limit for one source counts together: an IPv4 address, or an IPv6 network of 64 bits.
fn source_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => IpAddr::from((u128::from(v6) >> 64 << 64).to_be_bytes()),
    }
}

//! The server of tests: takes any number of clients at once, each on a thread of its own.
//!
//! All connections of all tests arrive at one TCP port and one UDP port. Who has not shown a whole
//! cookie is a stranger and costs a descriptor, no thread. A cookie that belongs to a test makes the
//! connection a stream of it; any other one asks for a new test.

mod admission;
mod expected;
mod session;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use socket2::Type;

use super::auth::Authorisation;
use super::wire::DEFAULT_PORT;
use crate::StopFlag;
use crate::control::socket::{Sharing, bound, no_ipv6};
use crate::far::guests::Guests;
use crate::far::{Log, join_ended};
use admission::Admission;
use expected::Expected;

/// How an iperf3 server is to serve.
#[derive(Debug)]
pub struct ServerOptions {
    /// Without an address: port 5201 of all addresses, IPv6 and IPv4.
    pub listen: Option<SocketAddr>,
    pub max_tests: usize,
    /// No test lasts longer, its omitted time included.
    pub max_duration: Duration,
    /// `None` serves anybody.
    pub authorisation: Option<Authorisation>,
    pub log: Log,
}

/// An iperf3 server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    /// Where the greetings of UDP streams arrive: the same port.
    greetings: UdpSocket,
    house: Arc<House>,
}

/// What all tests share.
#[derive(Debug)]
struct House {
    max_duration: Duration,
    authorisation: Option<Authorisation>,
    guests: Arc<Guests>,
    expected: Expected,
    stop: StopFlag,
    log: Log,
}

/// Why an iperf3 server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen for iperf3 clients on {address}: {source}; stop what uses the port, or choose another one (--iperf3-port)"
    )]
    Listen { address: SocketAddr, source: io::Error },
    #[error("cannot wait for iperf3 clients: {0}")]
    Accept(io::Error),
}

/// Connections that the kernel completes before they are taken.
const BACKLOG: i32 = 512;

impl Server {
    /// # Errors
    /// Where the address, or its UDP port, cannot be listened on.
    pub fn bind(options: ServerOptions) -> Result<Self, ServeError> {
        let ServerOptions { listen, max_tests, max_duration, authorisation, log } = options;
        let (listener, greetings) = listen_somewhere(listen)?;
        let house = House {
            max_duration,
            authorisation,
            guests: Arc::new(Guests::at_most(max_tests)),
            expected: Expected::default(),
            stop: StopFlag::default(),
            log,
        };
        Ok(Self { listener, greetings, house: Arc::new(house) })
    }

    /// # Errors
    /// Where the kernel does not tell.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is set; then ends all tests.
    ///
    /// # Errors
    /// Where the kernel gives no more connections.
    pub fn serve(&self, stop: &StopFlag) -> Result<(), ServeError> {
        let mut tests: Vec<JoinHandle<()>> = Vec::new();
        let outcome = Admission::new(self).and_then(|mut admission| {
            while !stop.is_set() {
                admission.attend(&mut tests)?;
                tests = join_ended(std::mem::take(&mut tests));
            }
            Ok(())
        });
        self.house.stop.set();
        for test in tests {
            // A panic of a test has been reported on stderr.
            let _ = test.join();
        }
        outcome.map_err(ServeError::Accept)
    }
}

fn listen_somewhere(listen: Option<SocketAddr>) -> Result<(TcpListener, UdpSocket), ServeError> {
    let everywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, DEFAULT_PORT));
    let address = listen.unwrap_or(everywhere);
    match listen_at(address) {
        Err(error) if listen.is_none() && no_ipv6(&error) => {
            let address = SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT));
            listen_at(address).map_err(|source| ServeError::Listen { address, source })
        }
        outcome => outcome.map_err(|source| ServeError::Listen { address, source }),
    }
}

fn listen_at(address: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    /// Where any port would do, one that is free for TCP may not be so for UDP.
    const TRIES: u32 = 16;
    let mut tries = 0;
    loop {
        tries += 1;
        let listener = bound(address, Type::STREAM, Sharing::Reused)?;
        listener.listen(BACKLOG)?;
        let listener = TcpListener::from(listener);
        match bound(listener.local_addr()?, Type::DGRAM, Sharing::Exclusive) {
            Ok(greetings) => {
                // The streams will share its port; nobody else had it.
                greetings.set_reuse_address(true)?;
                return Ok((listener, greetings.into()));
            }
            Err(_) if address.port() == 0 && tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}

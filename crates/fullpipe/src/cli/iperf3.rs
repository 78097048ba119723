//! `fullpipe serve --iperf3`: clients of iperf3 served beside the near ends.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::far::Log;
use fp_engine::iperf3::auth::{Authorisation, Padding};
use fp_engine::iperf3::server::{Server, ServerOptions};
use fp_engine::iperf3::wire::DEFAULT_PORT;

use crate::exit::Failure;

/// Whether and how clients of iperf3 are served.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "iperf3")]
pub(crate) struct Iperf3Args {
    /// Serve clients of iperf3 as well. Without --iperf3-users that is anybody who reaches this
    /// host
    #[arg(long)]
    iperf3: bool,
    /// Where iperf3 clients are served, TCP and UDP
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, requires = "iperf3")]
    iperf3_port: u16,
    /// Serve only the users in FILE: a line `user,hash` for each, with the SHA-256 of
    /// `{user}password`
    #[arg(long, value_name = "FILE", requires = "iperf3", requires = "iperf3_private_key")]
    iperf3_users: Option<PathBuf>,
    /// The RSA key (PEM) whose public half those users have
    #[arg(long, value_name = "FILE", requires = "iperf3_users")]
    iperf3_private_key: Option<PathBuf>,
    /// Their clients are older than 3.17 or were told to use PKCS#1 padding
    #[arg(long, requires = "iperf3_users")]
    iperf3_pkcs1_padding: bool,
}

/// No iperf3 client tests for longer than this: its own limit.
const TEST_MAX: Duration = Duration::from_secs(86_400);

impl Iperf3Args {
    /// Listens on the address of the far end, at a port of its own.
    pub(crate) fn bind(
        &self,
        listen: Option<SocketAddr>,
        max_tests: usize,
        log: &Log,
    ) -> Result<Option<Server>, Failure> {
        if !self.iperf3 {
            return Ok(None);
        }
        let at = |ip: IpAddr| SocketAddr::new(ip, self.iperf3_port);
        let listen = match (listen, self.iperf3_port) {
            (Some(listen), _) => Some(at(listen.ip())),
            // With the default port a host without IPv6 will do.
            (None, DEFAULT_PORT) => None,
            (None, _) => Some(at(Ipv6Addr::UNSPECIFIED.into())),
        };
        let options = ServerOptions {
            listen,
            max_tests,
            max_duration: TEST_MAX,
            authorisation: self.authorisation()?,
            log: log.clone(),
        };
        Server::bind(options).map(Some).map_err(Failure::not_run)
    }

    fn authorisation(&self) -> Result<Option<Authorisation>, Failure> {
        let (Some(users), Some(key)) = (&self.iperf3_users, &self.iperf3_private_key) else {
            return Ok(None);
        };
        let padding = if self.iperf3_pkcs1_padding { Padding::Pkcs1 } else { Padding::Oaep };
        Authorisation::new(key, users, padding).map(Some).map_err(Failure::bad_input)
    }
}

/// A line for the person at the terminal.
pub(crate) fn announce(server: &Server) {
    // A socket that listens has an address.
    let port = server.local_address().map_or(DEFAULT_PORT, |address| address.port());
    // With stderr gone there is nobody to hint to.
    let _ = writeln!(io::stderr(), "iperf3 clients are served on port {port}: iperf3 -p {port} -c");
}

/// Runs `work` while iperf3 clients are served; both end with `stop`.
pub(crate) fn beside<T>(
    server: Option<&Server>,
    stop: &StopFlag,
    work: impl FnOnce() -> T,
) -> Result<T, Failure> {
    thread::scope(|scope| {
        let serving = server.map(|server| {
            thread::Builder::new()
                .name("iperf3".into())
                .spawn_scoped(scope, || server.serve(stop).inspect_err(|_| stop.set()))
        });
        let serving = serving.transpose().map_err(Failure::not_run)?;
        let outcome = work();
        // Where the work failed by itself the clients have to go as well.
        stop.set();
        match serving.map(thread::ScopedJoinHandle::join) {
            Some(Ok(Err(error))) => Err(Failure::not_run(error)),
            // A panic has been reported on stderr.
            None | Some(Ok(Ok(())) | Err(_)) => Ok(outcome),
        }
    })
}

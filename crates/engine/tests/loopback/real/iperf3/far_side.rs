//! A server of ours on loopback, and what a test needs of clients.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::control::{FarAddress, Host};
use fp_engine::far::Log;
use fp_engine::iperf3::auth::Authorisation;
use fp_engine::iperf3::client::ClientPlan;
use fp_engine::iperf3::server::{Server, ServerOptions};
use fp_engine::iperf3::wire::{End, Transport};

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl Serving {
    pub(crate) fn start(authorisation: Option<Authorisation>, max_tests: usize) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&log);
        let server = Server::bind(ServerOptions {
            listen: Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))),
            max_tests,
            max_duration: Duration::from_secs(60),
            authorisation,
            log: Log::to(move |line| said.lock().unwrap().push(line.to_string())),
        })
        .unwrap();
        let port = server.local_address().unwrap().port();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stop = StopFlag::default();
        let ends = stop.clone();
        let thread = thread::spawn(move || server.serve(&ends).unwrap());
        Self { address, log, stop, thread: Some(thread) }
    }

    pub(crate) fn said(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Serving {
    /// Ends the server; what it said of its tests.
    pub(crate) fn finish(mut self) -> Vec<String> {
        self.end();
        self.said()
    }

    fn end(&mut self) {
        self.stop.set();
        let Some(thread) = self.thread.take() else { return };
        let ended = thread.join();
        assert!(ended.is_ok() || thread::panicking(), "the server panicked");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.end();
    }
}

/// A short test by bytes against what listens at `address`.
pub(crate) fn plan(address: SocketAddr, transport: Transport) -> ClientPlan {
    let far = FarAddress { host: Host::Address(address.ip()), port: address.port() };
    ClientPlan { end: End::Bytes(1 << 20), rate: None, ..ClientPlan::new(far, transport) }
}

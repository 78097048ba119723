//! A far end for tests, and near ends that ask it for trials.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, ServeError, Server, ServerOptions};
use fp_engine::near::{ConnectError, LiveOptions, LiveTestbed};
use fp_engine::os::clock;
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::{
    CongestionControl, Direction, Dscp, Family, FlowSpec, FrameSizes, FramesLoad, Load, Pace, Rate,
    Sender, TcpEngine, TcpLoad, Timing, Trial,
};

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A far end that serves from a thread until it is dropped.
pub(crate) struct FarEnd {
    pub(crate) pairing: Pairing,
    pub(crate) stop: StopFlag,
    log: Arc<Mutex<Vec<String>>>,
    serving: Option<JoinHandle<Result<(), ServeError>>>,
}

impl FarEnd {
    pub(crate) fn at(address: IpAddr) -> Self {
        Self::with(address, 10)
    }

    pub(crate) fn with(address: IpAddr, max_sessions: usize) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let server = Server::bind(ServerOptions {
            listen: Some(SocketAddr::new(address, 0)),
            data_ports: DataPorts::ANY,
            connection_networks: ConnectionNetworks::NONE,
            max_sessions,
            identity: Identity::new().unwrap(),
            log: Log::to(move |line| lines.lock().unwrap().push(line.to_string())),
        })
        .unwrap();
        let pairing = server.pairing(Host::Address(address));
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let serving = Some(std::thread::spawn(move || server.serve(&stopped)));
        Self { pairing, stop, log, serving }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self.pairing.far.host {
            Host::Address(address) => SocketAddr::new(address, self.pairing.far.port),
            Host::Name(_) => unreachable!("a far end of a test has an address"),
        }
    }

    pub(crate) fn has_logged(&self, words: &str) -> bool {
        self.log.lock().unwrap().iter().any(|line| line.contains(words))
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap().unwrap();
        }
    }
}

pub(crate) fn connect(pairing: &Pairing) -> Result<LiveTestbed, ConnectError> {
    connect_until(pairing, StopFlag::default())
}

pub(crate) fn connect_until(
    pairing: &Pairing,
    stop: StopFlag,
) -> Result<LiveTestbed, ConnectError> {
    LiveTestbed::connect(pairing, LiveOptions { family: None, events: Box::new(|_| ()), stop })
}

/// Waits until `is_so`, and fails the test where it is not so within `limit`.
pub(crate) fn within(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = clock::now() + limit;
    while !is_so() {
        assert!(clock::now() < deadline, "{what}: not within {limit:?}");
        std::thread::yield_now();
    }
}

pub(crate) fn flow(direction: Direction, family: Family, load: Load) -> FlowSpec {
    FlowSpec::new(direction, family, Dscp::BEST_EFFORT, load)
}

pub(crate) fn frames(rate: Rate) -> Load {
    Load::Frames(FramesLoad::new(FrameSizes::fixed(1018), Pace::Constant { rate }))
}

pub(crate) fn tcp(connections: u32) -> Load {
    Load::Tcp(TcpLoad {
        connections,
        window_bytes: 64 << 10,
        mss_bytes: 1400,
        sender: Sender::Bulk,
        congestion_control: CongestionControl::Reno,
        pacing: Some(Rate::mbps(50)),
        pace: Pace::Unlimited,
        write_bytes: None,
        engine: TcpEngine::Kernel,
    })
}

pub(crate) fn trial(steady: Duration, flows: Vec<FlowSpec>) -> Trial {
    let (warm_up, settle) = (Duration::from_millis(100), Duration::from_millis(100));
    Trial { name: "test".into(), flows, timing: Timing { warm_up, steady, settle } }
}

/// TCP and frames in both directions for much longer than a test lasts.
pub(crate) fn long_trial() -> Trial {
    let flows = [tcp(2), frames(Rate::mbps(4))].into_iter().flat_map(|load| {
        [Direction::Download, Direction::Upload]
            .map(|direction| flow(direction, Family::Ipv4, load.clone()))
    });
    trial(Duration::from_secs(60), flows.collect())
}

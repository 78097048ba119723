//! How fast both ends of the iperf3 engine are over a plain veth pair, beside iperf3 itself.

use std::io::Write as _;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::time::Duration;

use anyhow::Context as _;
use fp_engine::StopFlag;
use fp_engine::control::{FarAddress, Host};
use fp_engine::far::Log;
use fp_engine::iperf3::client::{self, ClientPlan};
use fp_engine::iperf3::server::{Server, ServerOptions};
use fp_engine::iperf3::wire::{DEFAULT_PORT, End, Transport};
use fp_engine::lab::Privileges;
use fp_model::{Direction, Rate};

use super::pair::{FAR_IP, Iperf3Server, Pair};
use super::spread::Spread;

const ROUNDS: usize = 5;
const STREAMS: [u32; 3] = [1, 4, 16];
const LASTS: Duration = Duration::from_secs(2);

/// Prints the medians of five, each combination of ends in turns, so that whatever else the machine
/// does disturbs all alike.
pub(crate) fn run() -> anyhow::Result<()> {
    Privileges::prepare()?;
    let pair = Pair::lay().context("cannot lay a veth pair")?;
    for streams in STREAMS {
        let mut rates: [Vec<Rate>; 4] = Default::default();
        for _ in 0..ROUNDS {
            rates[0].push(pair.iperf3(streams)?);
            rates[1].push(pair.beside_iperf3(streams)?);
            rates[2].push(pair.serving(|| pair.iperf3_client(streams))?);
            rates[3].push(pair.serving(|| pair.our_client(streams))?);
        }
        let [theirs, client, server, both] = rates.map(Spread);
        writeln!(
            std::io::stdout(),
            "{streams} streams: iperf3 {theirs}\n  our client {client}\n  our server {server}\n  \
             both {both}"
        )?;
    }
    Ok(())
}

impl Pair {
    fn beside_iperf3(&self, streams: u32) -> anyhow::Result<Rate> {
        self.far.enter()?;
        let _server = Iperf3Server::start()?;
        self.our_client(streams)
    }

    /// What `client` gets from our server.
    fn serving(&self, client: impl FnOnce() -> anyhow::Result<Rate>) -> anyhow::Result<Rate> {
        self.far.enter()?;
        let server = Server::bind(ServerOptions {
            listen: Some(SocketAddr::new(FAR_IP, DEFAULT_PORT)),
            max_tests: 1,
            max_duration: LASTS * 10,
            authorisation: None,
            log: Log::none(),
        })?;
        let stop = StopFlag::default();
        std::thread::scope(|scope| {
            let serving = scope.spawn(|| server.serve(&stop));
            let rate = client();
            stop.set();
            serving.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            rate
        })
    }

    /// Payload received per second, as the server tells.
    fn our_client(&self, streams: u32) -> anyhow::Result<Rate> {
        self.near.enter()?;
        let far = FarAddress { host: Host::Address(FAR_IP), port: DEFAULT_PORT };
        let end = End::After(LASTS);
        let plan = ClientPlan { streams, end, ..ClientPlan::new(far, Transport::Tcp) };
        let report = client::run(&plan, &mut |_| {}, &StopFlag::default())?;
        let (_, received) = report.payload_bytes(Direction::Upload);
        Ok(Rate::over(received.context("the server does not tell")?, LASTS))
    }
}

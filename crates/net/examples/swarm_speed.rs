//! How many connections two shards open in memory by whole frames, and what they take up.
//!
//! Takes the names of what to run, all without any.

use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
    ConnectionsStage, Dscp, Family, FramePorts, PortRange, Time,
};
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress};
use fp_net::swarm::{Outbox, Role, Setting, Shard};

const CONNECTIONS: u32 = 1_000_000;
const RUNS: usize = 5;
const BATCH_FRAMES: usize = 64;
const FRAME_BYTES: usize = 1514;
const START: Time = Time::from_nanos(1_000_000_000);
/// What a batch takes: virtual time passes as it would.
const BATCH_TIME: Duration = Duration::from_micros(32);

struct Pair {
    client: Shard,
    server: Shard,
    to_client: Outbox,
    to_server: Outbox,
    now: Time,
}

fn main() -> io::Result<()> {
    let mut out = io::stdout();
    let think = Duration::from_secs(10);
    let asks = Behaviour::Transaction { request_bytes: 100, response_bytes: 100, think };
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for (name, behaviour) in [("hold", Behaviour::Hold), ("transaction", asks)] {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            continue;
        }
        let (mut opened, mut asked) = (Vec::new(), Vec::new());
        let mut bytes = 0;
        for _ in 0..RUNS {
            let before = resident_bytes()?;
            let mut pair = Pair::new(behaviour);
            opened.push(per_second(u64::from(CONNECTIONS), || pair.open()));
            let transactions = pair.client.counters().transactions;
            asked.push(per_second(transactions, || pair.ask_again(transactions)));
            bytes = resident_bytes()? - before;
        }
        let (most, middle) = (best(&mut opened), median(&opened));
        writeln!(out, "{name:12} {most:5.2} M connections/s, median of {RUNS} {middle:5.2}")?;
        if behaviour != Behaviour::Hold {
            writeln!(
                out,
                "{name:12} {:5.2} M again/s, median {:5.2}",
                crate::best(&mut asked),
                crate::median(&asked)
            )?;
        }
        let each = bytes as f64 / f64::from(CONNECTIONS) / 2.0;
        writeln!(out, "{name:12} {each:5.1} bytes of memory for each end of a connection")?;
    }
    Ok(())
}

fn best(runs: &mut [f64]) -> f64 {
    runs.sort_by(f64::total_cmp);
    runs[RUNS - 1] / 1e6
}

fn median(runs: &[f64]) -> f64 {
    runs[RUNS / 2] / 1e6
}

fn per_second(count: u64, work: impl FnOnce()) -> f64 {
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
    let begin = std::time::Instant::now();
    work();
    count as f64 / begin.elapsed().as_secs_f64()
}

impl Pair {
    fn new(behaviour: Behaviour) -> Self {
        let shard = |role| match Shard::new(setting(role, behaviour)) {
            Ok(shard) => shard,
            Err(error) => panic!("{error}"),
        };
        Self {
            client: shard(Role::Client),
            server: shard(Role::Server),
            to_client: Outbox::new(BATCH_FRAMES, FRAME_BYTES),
            to_server: Outbox::new(BATCH_FRAMES, FRAME_BYTES),
            now: START,
        }
    }

    fn open(&mut self) {
        while self.client.counters().established < u64::from(CONNECTIONS)
            || self.server.counters().established < u64::from(CONNECTIONS)
        {
            self.step();
        }
        // What was begun is ended: the first requests are answered.
        while !self.is_idle() {
            self.step();
        }
    }

    fn is_idle(&self) -> bool {
        self.to_client.is_empty() && self.to_server.is_empty()
    }

    fn ask_again(&mut self, transactions: u64) {
        self.now = self.now + Duration::from_secs(10);
        while self.client.counters().transactions < 2 * transactions {
            self.step();
        }
    }

    fn step(&mut self) {
        self.now = self.now + BATCH_TIME;
        let Self { client, server, to_client, to_server, now } = self;
        client.poll(*now, to_server);
        pass(*now, to_server, server, to_client);
        server.poll(*now, to_client);
        pass(*now, to_client, client, to_server);
    }
}

fn pass(now: Time, from: &mut Outbox, to: &mut Shard, answers: &mut Outbox) {
    for frame in from.frames() {
        to.on_frame(now, frame, answers);
    }
    from.on_sent(from.len());
}

fn setting(role: Role, behaviour: Behaviour) -> Setting {
    let ends = [MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([2, 0, 0, 0, 0, 2])];
    let [source, destination] = match role {
        Role::Client => ends,
        Role::Server => [ends[1], ends[0]],
    };
    Setting {
        role,
        load: load(behaviour),
        family: Family::Ipv4,
        dscp: Dscp::BEST_EFFORT,
        link: Link { source, destination, ..Link::default() },
        peer: Peer::Network,
        seed: 7,
        secret: 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef,
        start: START,
    }
}

fn load(behaviour: Behaviour) -> ConnectionsLoad {
    let range = |network: [u8; 4], count| AddressRange {
        network: IpAddr::V4(Ipv4Addr::from(network)),
        prefix_bits: 16,
        first: 1,
        count,
    };
    ConnectionsLoad {
        stages: vec![ConnectionsStage { lasts: Duration::ZERO, connections: CONNECTIONS }],
        setup_rate_max: None,
        mix: vec![ConnectionsShare { weight: 1, behaviour }],
        lifetime: None,
        close: Close::Fin,
        addresses: ConnectionAddresses {
            clients: range([198, 18, 0, 0], 100),
            servers: range([198, 19, 0, 0], 1),
            client_ports: PortRange { first: 1024, last: 65_535 },
            server_ports: PortRange { first: 80, last: 80 },
            translated: false,
        },
        mss_bytes: 1460,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

/// What the kernel counts, so that nothing is forgotten.
fn resident_bytes() -> io::Result<u64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.map(|pages| pages * 4096).ok_or_else(|| io::Error::other("statm has no resident pages"))
}

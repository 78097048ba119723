//! Many connections of our own between a near and a far end, by a cable or through a router.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, Server, ServerOptions};
use fp_engine::lab::Privileges;
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_engine::os::netlink::{Netlink, VethEnd};
use fp_engine::os::{NetNs, clock};
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::{
    Abort, AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsReport,
    ConnectionsShare, ConnectionsStage, Direction, Dscp, Family, FlowReport, FlowSpec, FramePorts,
    Load, PortRange, Testbed as _, Timing, Trial,
};

use super::cable::{Cable, address};

const CONNECTIONS: u32 = 10_000;
const REQUEST_BYTES: u32 = 100;
const RESPONSE_BYTES: u32 = 300;

/// Opened in a second, spoken to once each, closed within a third of one.
pub(crate) fn ten_thousand_are_counted_alike_by_both_ends(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let [near, far] = &cable.ends;
    let far = FarEnd::start(far, address(1, Family::Ipv4), ConnectionNetworks::for_benchmarks());
    for (direction, family) in
        [(Direction::Upload, Family::Ipv4), (Direction::Download, Family::Ipv6)]
    {
        let before = [0, 1].map(|end| Packets::of(&cable, end));
        let report = far.run(near, trial(direction, family)).unwrap();
        let after = [0, 1].map(|end| Packets::of(&cable, end));
        check(&report);
        check_packets(&report, direction, before, after);
    }
}

/// The interfaces' own counters leave out what a program took from them.
pub(crate) fn ten_thousand_go_by_af_xdp(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let [near, far] = &cable.ends;
    let far = FarEnd::start(far, address(1, Family::Ipv4), ConnectionNetworks::for_benchmarks());
    for (direction, family) in
        [(Direction::Upload, Family::Ipv6), (Direction::Download, Family::Ipv4)]
    {
        let mut by_xdp = trial(direction, family);
        load_of(&mut by_xdp).ports = FramePorts::Xdp;
        check(&far.run(near, by_xdp).unwrap());
        for end in [0, 1] {
            assert!(!cable.interface(end).has_xdp_program, "{direction}: a program is left");
        }
    }
}

fn check(report: &ConnectionsReport) {
    let all = u64::from(CONNECTIONS);
    let ConnectionsReport { attempted, established, closed, given_up, .. } = *report;
    assert_eq!((attempted, established, closed, given_up), (all, all, all, 0), "{report:?}");
    assert_eq!(report.failed.total(), 0, "{report:?}");
    assert_eq!((report.active_peak, report.active_at_end), (CONNECTIONS, 0));
    let held = report.held.unwrap();
    assert_eq!((held.wanted, held.least, held.most), (CONNECTIONS, CONNECTIONS, CONNECTIONS));
    assert_eq!(report.transactions, all);
    // What the server's end has received, and what the client's.
    assert_eq!(report.upload_good_bytes, all * u64::from(REQUEST_BYTES));
    assert_eq!(report.download_good_bytes, all * u64::from(RESPONSE_BYTES));
    assert_eq!((report.bad_checksums, report.corrupt_payload_bytes), (0, 0));
    assert_eq!(report.handshake.unwrap().samples, all);
    let sum =
        |of: fn(&fp_model::ConnectionsSample) -> u64| report.series.iter().map(of).sum::<u64>();
    assert_eq!(sum(|sample| sample.attempted), all);
    assert_eq!(sum(|sample| sample.established), all);
    assert_eq!(sum(|sample| sample.closed), all);
    assert_eq!(sum(|sample| sample.transactions), all);
    assert_eq!(sum(|sample| sample.upload_good_bytes), report.upload_good_bytes);
    assert_eq!(sum(|sample| sample.download_good_bytes), report.download_good_bytes);
    // What bench/RESULTS.md states, with some room.
    assert!(report.bytes_per_connection <= 96.0, "{}", report.bytes_per_connection);
}

/// What the interfaces have counted is what TCP needs, and all that left one end arrived at the
/// other.
fn check_packets(
    report: &ConnectionsReport,
    direction: Direction,
    before: [Packets; 2],
    after: [Packets; 2],
) {
    let sent = [0, 1].map(|end| after[end].sent - before[end].sent);
    let received = [0, 1].map(|end| after[end].received - before[end].received);
    let (client, server) = match direction {
        Direction::Upload => (0, 1),
        Direction::Download => (1, 0),
    };
    let all = u64::from(CONNECTIONS);
    let resent = report.retransmissions;
    let resent = resent.syn + resent.timeout + resent.fast;
    // The client: SYN, request, FIN and the acknowledgement of the server's FIN; at most one more
    // for each segment of the server's, and the control connection beside them.
    let others = 5_000 + 2 * resent;
    assert!(sent[client] >= 4 * all && sent[client] <= 7 * all + others, "{sent:?}");
    // The server: SYN and ACK, response, FIN; at most two acknowledgements by themselves.
    assert!(sent[server] >= 3 * all && sent[server] <= 5 * all + others, "{sent:?}");
    // A full queue in the pair drops what it has counted as sent: nothing else does, and TCP has
    // sent that again. What the kernels say to each other meanwhile may be on its way.
    for (sent, received) in [(sent[0], received[1]), (sent[1], received[0])] {
        assert!(received <= sent + 50 && sent <= received + 50 + resent, "{sent} {received}");
    }
}

/// Nobody who does not allow them gets any load, and nobody gets more than there are addresses for.
pub(crate) fn none_is_opened_without_leave_or_proof(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let [near, far] = &cable.ends;
    let at = |networks| FarEnd::start(far, address(1, Family::Ipv4), networks);
    let upload = || trial(Direction::Upload, Family::Ipv4);
    let strict = at(ConnectionNetworks::NONE);
    let refused = why(strict.run(near, upload()));
    assert!(refused.contains("--allow-connections"), "{refused}");
    drop(strict);
    let narrow = at("198.18.0.0/16".parse().unwrap());
    let refused = why(narrow.run(near, upload()));
    assert!(refused.contains("198.19.0.0/29 is in no network"), "{refused}");
    drop(narrow);
    let far = at(ConnectionNetworks::for_benchmarks());
    let mut many = upload();
    load_of(&mut many).stages[0].connections = 1_000_000;
    // 4 clients, 5 servers, 1,000 ports and 1 port are 20,000.
    let refused = why(far.run(near, many));
    assert!(refused.contains("20000"), "{refused}");
}

fn why(outcome: Result<ConnectionsReport, Abort>) -> String {
    match outcome {
        Err(Abort::Testbed(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The router asks both ends for their addresses, and each end sends what is for the other to it.
pub(crate) fn a_router_forwards_them_where_the_far_end_is_behind_it(privileges: Privileges) {
    let routed = Routed::lay(privileges);
    let far =
        FarEnd::start(&routed.far, FAR.parse().unwrap(), ConnectionNetworks::for_benchmarks());
    let mut few = trial(Direction::Upload, Family::Ipv4);
    load_of(&mut few).stages.iter_mut().for_each(|stage| stage.connections /= 10);
    let report = far.run(&routed.near, few.clone()).unwrap();
    let all = u64::from(CONNECTIONS / 10);
    assert_eq!(
        (report.attempted, report.established, report.closed),
        (all, all, all),
        "{report:?}"
    );
    assert_eq!((report.transactions, report.failed.total()), (all, 0));
    assert_eq!(report.upload_good_bytes, all * u64::from(REQUEST_BYTES));
    // The far end has a route of its own now, and all else goes to somebody of whom nothing is
    // known.
    routed.near.enter().unwrap();
    let links = Netlink::open().unwrap();
    links.add_route("198.51.100.0".parse().unwrap(), 24, ROUTER_NEAR.parse().unwrap()).unwrap();
    let index = links.interface("eth0").unwrap().index;
    let stranger: IpAddr = "192.0.2.99".parse().unwrap();
    links.add_neighbour(index, stranger, [2, 0, 0, 0, 0, 0x99]).unwrap();
    let half_of_all = [("128.0.0.0", 1), ("0.0.0.0", 1)];
    for (half, prefix_len) in half_of_all {
        links.add_route(half.parse().unwrap(), prefix_len, stranger).unwrap();
    }
    let refused = why(far.run(&routed.near, few));
    assert!(refused.contains("only a default route leads to 198.19.0.1"), "{refused}");
}

const NEAR: &str = "192.0.2.1";
const ROUTER_NEAR: &str = "192.0.2.254";
const FAR: &str = "198.51.100.2";
const ROUTER_FAR: &str = "198.51.100.254";

/// Two ends on links of their own, with a kernel that forwards between them.
struct Routed {
    near: NetNs,
    _router: NetNs,
    far: NetNs,
}

impl Routed {
    fn lay(_: Privileges) -> Self {
        let ends = [(NEAR, ROUTER_NEAR), (FAR, ROUTER_FAR)].map(|(own, gateway)| {
            let end = NetNs::fresh().unwrap();
            (end, Netlink::open().unwrap(), own, gateway)
        });
        let router = NetNs::fresh().unwrap();
        let links = Netlink::open().unwrap();
        // The plan's addresses are on the link of the end that has them.
        let sides = [("near", "198.18.255.254", 1), ("far", "198.19.255.254", 3)];
        for ((end, end_links, own, gateway), (name, planned, mac)) in ends.iter().zip(sides) {
            let here = VethEnd { name, mac: [2, 0, 0, 0, 1, mac], mtu: 1500 };
            let there = VethEnd { name: "eth0", mac: [2, 0, 0, 0, 1, mac + 1], mtu: 1500 };
            links.add_veth(&here, &there, end).unwrap();
            let index = links.interface(name).unwrap().index;
            links.set_up(index).unwrap();
            links.add_address(index, gateway.parse().unwrap(), 24).unwrap();
            links.add_address(index, planned.parse().unwrap(), 16).unwrap();
            let index = end_links.interface("eth0").unwrap().index;
            end_links.set_up(end_links.interface("lo").unwrap().index).unwrap();
            end_links.set_up(index).unwrap();
            end_links.add_address(index, own.parse().unwrap(), 24).unwrap();
            end_links.add_route([0; 4].into(), 0, gateway.parse().unwrap()).unwrap();
        }
        fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        let deadline = clock::now() + Duration::from_secs(5);
        while ends.iter().any(|(_, links, ..)| !links.interface("eth0").unwrap().is_running) {
            assert!(clock::now() < deadline, "the links do not come up");
            thread::yield_now();
        }
        let [near, far] = ends.map(|(end, ..)| end);
        Self { near, _router: router, far }
    }
}

pub(super) fn load_of(trial: &mut Trial) -> &mut ConnectionsLoad {
    match &mut trial.flows[0].load {
        Load::Connections(load) => load,
        other => panic!("of connections, not {other:?}"),
    }
}

pub(super) fn trial(direction: Direction, family: Family) -> Trial {
    let stage = |millis, connections| ConnectionsStage {
        lasts: Duration::from_millis(millis),
        connections,
    };
    let behaviour = Behaviour::Transaction {
        request_bytes: REQUEST_BYTES,
        response_bytes: RESPONSE_BYTES,
        think: Duration::from_secs(3600),
    };
    let load = ConnectionsLoad {
        // Time for a segment that is lost: another one goes after a second.
        stages: vec![stage(1000, CONNECTIONS), stage(1500, CONNECTIONS), stage(300, 0)],
        setup_rate_max: None,
        mix: vec![ConnectionsShare { weight: 1, behaviour }],
        lifetime: None,
        close: Close::Fin,
        addresses: addresses(family),
        mss_bytes: 1400,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    };
    let load = Load::Connections(load);
    let flow = FlowSpec::new(direction, family, Dscp::BEST_EFFORT, load);
    let timing = Timing {
        warm_up: Duration::from_secs(1),
        steady: Duration::from_millis(1800),
        settle: Duration::from_millis(1200),
    };
    Trial { name: "connections".into(), flows: vec![flow], timing }
}

fn addresses(family: Family) -> ConnectionAddresses {
    let range = |network: &str, prefix_bits, count| AddressRange {
        network: network.parse().unwrap(),
        prefix_bits,
        first: 1,
        count,
    };
    let [clients, servers] = match family {
        Family::Ipv4 => [range("198.18.0.0", 16, 4), range("198.19.0.0", 16, 5)],
        Family::Ipv6 => [range("2001:2::", 64, 4), range("2001:2:0:1::", 64, 5)],
    };
    ConnectionAddresses {
        clients,
        servers,
        client_ports: PortRange { first: 10_000, last: 10_999 },
        server_ports: PortRange { first: 80, last: 80 },
        translated: false,
    }
}

/// Of the interface of one end, since it was made.
#[derive(Clone, Copy, Debug)]
struct Packets {
    received: u64,
    sent: u64,
}

impl Packets {
    fn of(cable: &Cable, end: usize) -> Self {
        cable.ends[end].enter().unwrap();
        let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("eth0:")).unwrap();
        let numbers: Vec<u64> =
            line.split_whitespace().map(|number| number.parse().unwrap()).collect();
        // Eight numbers of what was received, bytes and packets first; the same of what was sent.
        Self { received: numbers[1], sent: numbers[9] }
    }
}

pub(super) struct FarEnd {
    pairing: Pairing,
    stop: StopFlag,
    serving: Option<JoinHandle<()>>,
}

pub(super) fn options(own: IpAddr, connection_networks: ConnectionNetworks) -> ServerOptions {
    ServerOptions {
        listen: Some(SocketAddr::new(own, 0)),
        data_ports: DataPorts::ANY,
        connection_networks,
        max_sessions: 2,
        identity: Identity::new().unwrap(),
        log: Log::none(),
    }
}

impl FarEnd {
    pub(super) const fn pairing(&self) -> &Pairing {
        &self.pairing
    }

    pub(super) fn start(end: &NetNs, own: IpAddr, connection_networks: ConnectionNetworks) -> Self {
        end.enter().unwrap();
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let (tell, told) = mpsc::channel();
        let serving = thread::spawn(move || {
            let server = Server::bind(options(own, connection_networks)).unwrap();
            tell.send(server.pairing(Host::Address(own))).unwrap();
            server.serve(&stopped).unwrap();
        });
        let pairing = told.recv().unwrap();
        Self { pairing, stop, serving: Some(serving) }
    }

    fn run(&self, near: &NetNs, trial: Trial) -> Result<ConnectionsReport, Abort> {
        near.enter().unwrap();
        let (events, stop) = (Box::new(|_| ()), StopFlag::default());
        let options = LiveOptions { family: None, events, stop };
        let mut bed = LiveTestbed::connect(&self.pairing, options).unwrap();
        let mut observation = bed.run(&trial)?;
        match observation.flows.remove(0) {
            FlowReport::Connections(report) => Ok(report),
            other => panic!("a flow of connections gave {other:?}"),
        }
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}

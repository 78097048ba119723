//! Connections of our own with kernels at the other end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fp_engine::frame_io::{FrameIo as _, PacketPort, Prefix, Share};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::os::netlink::{Mac, Netlink};
use fp_engine::swarm::Driver;
use fp_model::{
    AddressRange, Behaviour, Close, ConnectionAddresses, ConnectionsLoad, ConnectionsShare,
    ConnectionsStage, Dscp, Family, FramePorts, PortRange, Rate,
};
use fp_net::checksum::Peer;
use fp_net::packet::{Link, MacAddress, VlanTags};
use fp_net::swarm::{Counters, Role, Setting, Shard};

use super::cable::{Cable, MACS};

const CONNECTIONS: u32 = 120;
const CLIENTS: u32 = 4;
const RELAYS: u32 = 5;
const PORT: u16 = 80;
const RATE: Rate = Rate::mbps(2);
const REQUEST_BYTES: u32 = 700;
const RESPONSE_BYTES: u32 = 20_000;

/// Networks of 24 bits: of the clients, of the kernel as they see it, of the kernel as the server sees
/// it, and of the server.
const CLIENT: [u8; 4] = [198, 18, 0, 0];
const RELAY: [u8; 4] = [198, 19, 0, 0];
const RELAYED: [u8; 4] = [198, 19, 1, 0];
const SERVER: [u8; 4] = [198, 18, 1, 0];
const PREFIX_BITS: u8 = 24;

const fn host([a, b, c, _]: [u8; 4], host: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, host as u8))
}

/// Our clients speak to a kernel, which hands everything on to our server and back: what both of ours
/// say has been through both sides of the kernel's TCP, and each byte is compared.
pub(crate) fn every_byte_passes_a_kernel_that_relays(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let near = cable.interface(0);
    let open = |network: [u8; 4]| {
        let prefix = Prefix::new(network.into(), PREFIX_BITS).unwrap();
        PacketPort::open(&near, &[prefix], Share::ALL).unwrap()
    };
    let (client_port, server_port) = (open(CLIENT), open(SERVER));
    let _relays = relays(&cable, client_port.mac(), server_port.mac());

    let between = |clients, servers| ConnectionAddresses {
        clients,
        servers,
        client_ports: PortRange { first: 10_000, last: 60_000 },
        server_ports: PortRange { first: PORT, last: PORT },
        translated: true,
    };
    let client_load = load(between(range(CLIENT, CLIENTS), range(RELAY, RELAYS)));
    let server_load = load(between(range(RELAYED, 1), range(SERVER, 1)));
    let shard = |role, load, own: Mac| {
        let link = Link {
            source: MacAddress(own),
            destination: MacAddress(MACS[1]),
            tags: VlanTags::NONE,
        };
        let (family, dscp, peer) = (Family::Ipv4, Dscp::BEST_EFFORT, Peer::LocalKernel);
        let start = clock::now();
        let setting = Setting { role, load, family, dscp, link, peer, seed: 1, secret: 2, start };
        Shard::new(setting).unwrap()
    };
    let client_shard = shard(Role::Client, client_load, client_port.mac());
    let server_shard = shard(Role::Server, server_load, server_port.mac());
    let mut client = Driver::new(client_port, client_shard);
    let mut server = Driver::new(server_port, server_shard);
    client.begin_at(clock::now());
    let is_over = AtomicBool::new(false);
    let deadline = clock::now() + Duration::from_secs(60);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && clock::now() < deadline {
                server.step(clock::now() + Duration::from_millis(5)).unwrap();
            }
        });
        while client.shard().counters().closed < u64::from(CONNECTIONS) && clock::now() < deadline {
            client.step(clock::now() + Duration::from_millis(5)).unwrap();
        }
        let quiet = clock::now() + Duration::from_millis(500);
        while clock::now() < quiet {
            client.step(quiet).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    check(client.shard().counters(), server.shard().counters());
}

fn check(client: &Counters, server: &Counters) {
    let all = u64::from(CONNECTIONS);
    for end in [client, server] {
        assert_eq!([end.attempted, end.established, end.closed], [all; 3], "{end:?}");
        assert_eq!((end.failed.total(), end.active, end.closing), (0, 0, 0), "{end:?}");
        assert_eq!((end.corrupt_payload_bytes, end.bad_checksums), (0, 0), "{end:?}");
    }
    assert_eq!(client.sent_bytes, server.received_bytes);
    assert_eq!(server.sent_bytes, client.received_bytes);
    // A third of all each way, at their rate for 2 s at least; half of that, should the host be slow.
    let bulk_bytes = all / 3 * RATE.bytes_in(Duration::from_secs(2)) / 2;
    assert!(client.sent_bytes > bulk_bytes && server.sent_bytes > bulk_bytes, "{client:?}");
    assert!(client.transactions > all / 3, "{client:?}");
}

fn range(network: [u8; 4], count: u32) -> AddressRange {
    AddressRange { network: network.into(), prefix_bits: PREFIX_BITS, first: 1, count }
}

fn load(addresses: ConnectionAddresses) -> ConnectionsLoad {
    let stage = |millis, connections| ConnectionsStage {
        lasts: Duration::from_millis(millis),
        connections,
    };
    let transaction = Behaviour::Transaction {
        request_bytes: REQUEST_BYTES,
        response_bytes: RESPONSE_BYTES,
        think: Duration::from_millis(100),
    };
    let share = |behaviour| ConnectionsShare { weight: 1, behaviour };
    ConnectionsLoad {
        stages: vec![stage(300, CONNECTIONS), stage(2000, CONNECTIONS), stage(300, 0)],
        setup_rate_max: None,
        mix: vec![
            share(transaction),
            share(Behaviour::Upload { rate: Some(RATE) }),
            share(Behaviour::Download { rate: Some(RATE) }),
        ],
        lifetime: None,
        close: Close::Fin,
        addresses,
        mss_bytes: 1460,
        window_bytes: 65_535,
        retransmissions_max: ConnectionsLoad::RETRANSMISSIONS_MAX,
        syn_retransmissions_max: ConnectionsLoad::SYN_RETRANSMISSIONS_MAX,
        ports: FramePorts::PacketSockets,
    }
}

/// The kernel of the far end hands on what comes, until the process ends.
fn relays(cable: &Cable, clients: Mac, servers: Mac) -> Netlink {
    let far = cable.interface(1);
    let links = Netlink::open().unwrap();
    links.send_single_segments(far.index).unwrap();
    let own = (1..=RELAYS).map(|relay| host(RELAY, relay)).chain([host(RELAYED, 1)]);
    let on_the_link = [CLIENT, SERVER].map(|network| host(network, 254));
    for address in own.chain(on_the_link) {
        links.add_address(far.index, address, PREFIX_BITS).unwrap();
    }
    for client in 1..=CLIENTS {
        links.add_neighbour(far.index, host(CLIENT, client), clients).unwrap();
    }
    links.add_neighbour(far.index, host(SERVER, 1), servers).unwrap();
    for relay in 1..=RELAYS {
        let listener = TcpListener::bind(SocketAddr::new(host(RELAY, relay), PORT)).unwrap();
        thread::spawn(move || {
            while let Ok((from, _)) = listener.accept() {
                thread::spawn(move || hand_on(&from));
            }
        });
    }
    links
}

fn hand_on(from: &TcpStream) {
    let to = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    to.bind(&SocketAddr::new(host(RELAYED, 1), 0).into()).unwrap();
    to.connect(&SocketAddr::new(host(SERVER, 1), PORT).into()).unwrap();
    let to = TcpStream::from(to);
    thread::scope(|scope| {
        scope.spawn(|| hand_on_one_way(from, &to));
        hand_on_one_way(&to, from);
    });
}

fn hand_on_one_way(mut from: &TcpStream, mut to: &TcpStream) {
    let outcome = io::copy(&mut from, &mut to);
    // Either end may be gone: what is missing is seen by those who count.
    _ = to.shutdown(if outcome.is_ok() { Shutdown::Write } else { Shutdown::Both });
}

//! Frames made by the tester itself, as the host at the other end of a cable sees them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_engine::control::{Host, Identity, Pairing};
use fp_engine::far::{Log, Server, ServerOptions};
use fp_engine::lab::Privileges;
use fp_engine::near::{LiveOptions, LiveTestbed};
use fp_engine::os::netlink::{Mac, Netlink, VethEnd};
use fp_engine::os::packet::PacketReceiver;
use fp_engine::os::{NetNs, clock};
use fp_engine::swarm::ConnectionNetworks;
use fp_engine::{DataPorts, StopFlag};
use fp_model::{
    Direction, Dscp, DscpCount, Family, FlowReport, FlowSpec, FrameSizes, FramesLoad, FramesReport,
    Load, Observation, Pace, Rate, Receiver, SentBy, Testbed as _, Timing, Trial,
};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

const EXPEDITED: Dscp = Dscp::new(46).unwrap();
const MACS: [Mac; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
const ETHERNET_BYTES: usize = 14;

/// The far end has no right to packet sockets: its kernel verifies what the near end makes, and it
/// sends through its kernel.
pub(crate) fn frames_made_whole_pass_for_the_hosts_own(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    for family in [Family::Ipv4, Family::Ipv6] {
        let observation = cable.connect(family).bed.run(&trial(family)).unwrap();
        let [up, down] = reports(&observation);
        assert_eq!((up.sent_by, down.sent_by), (SentBy::PacketSocket, SentBy::UdpSocket));
        let receivers = [&observation.far, &observation.near].map(|end| end.receiver);
        assert_eq!(receivers, [Some(Receiver::Socket), Some(Receiver::Ring)]);
        let refused = [&observation.far, &observation.near].map(|end| end.packet_sockets_refused);
        assert_eq!(refused, [true, false], "who fell back says so");
        for (report, receiving) in [(up, &observation.far), (down, &observation.near)] {
            assert!(report.sent_frames > 0 && report.received_frames > 0, "{report:?}");
            assert_eq!((report.corrupt_frames, report.duplicate_frames), (Some(0), Some(0)));
            assert_eq!(report.dscp_received, [marked(report.received_frames)]);
            // A cable loses nothing but what a busy host has no room for.
            let missing = report.sent_frames - report.received_frames;
            assert!(
                missing <= receiving.dropped_packets + report.sent_frames / 20,
                "{missing} are missing: {report:?}"
            );
        }
    }
}

const fn marked(frames: u64) -> DscpCount {
    DscpCount { dscp: Some(EXPEDITED), frames }
}

pub(crate) fn whole_frames_go_to_the_proven_peer_alone(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    for family in [Family::Ipv4, Family::Ipv6] {
        let mut at_far = cable.frames_at(1);
        let mut at_near = cable.frames_at(0);
        let mut connected = cable.connect(family);
        let up = trial(family).flows.remove(0);
        let timing = Timing { steady: Duration::from_millis(20), ..TIMING };
        connected.bed.run(&Trial { flows: vec![up], timing, ..trial(family) }).unwrap();
        // The confirmation is as long as the key, 16 bytes.
        let confirmation_bytes = ETHERNET_BYTES + if family == Family::Ipv4 { 44 } else { 64 };
        let (mut whole, mut first_at) = (0, None);
        while at_far.receive(|frame| {
            // Of the three lengths the one that nothing else has; without FCS.
            if is_udp(frame.bytes) && frame.bytes.len() == 1514 {
                assert_eq!((&frame.bytes[..6], &frame.bytes[6..12]), (&MACS[1][..], &MACS[0][..]));
                assert_eq!(destination(frame.bytes), octets(ADDRESSES[1], family));
                whole += 1;
                first_at.get_or_insert(frame.arrived_at_wall);
            }
        }) {}
        let mut confirmed_at = None;
        while at_near.receive(|frame| {
            if is_udp(frame.bytes) && frame.bytes.len() == confirmation_bytes {
                confirmed_at.get_or_insert(frame.arrived_at_wall);
            }
        }) {}
        assert!(whole > 0, "nothing was sent");
        assert!(
            confirmed_at.unwrap() < first_at.unwrap(),
            "{family:?}: sent before the far end confirmed: {confirmed_at:?} {first_at:?}"
        );
    }
}

fn is_udp(frame: &[u8]) -> bool {
    match frame[12..14] {
        [0x08, 0x00] => frame[ETHERNET_BYTES + 9] == 17,
        [0x86, 0xdd] => frame[ETHERNET_BYTES + 6] == 17,
        _ => false,
    }
}

fn destination(frame: &[u8]) -> &[u8] {
    match frame[12] {
        0x08 => &frame[ETHERNET_BYTES + 16..ETHERNET_BYTES + 20],
        _ => &frame[ETHERNET_BYTES + 24..ETHERNET_BYTES + 40],
    }
}

/// 60,000 frames a second of three lengths, the shorter two for which IPv6 leaves room.
const FRAMES_PER_SECOND: u64 = 60_000;
const LENGTHS: [u32; 3] = [84, 300, 1518];
const TIMING: Timing = Timing {
    warm_up: Duration::from_millis(50),
    steady: Duration::from_millis(200),
    settle: Duration::from_millis(100),
};

/// One flow each way, the upload first.
fn trial(family: Family) -> Trial {
    let flow = |direction| {
        let cycle_bits = 8 * u64::from(LENGTHS.iter().sum::<u32>());
        let rate = Rate::bps(cycle_bits * FRAMES_PER_SECOND / LENGTHS.len() as u64);
        let sizes = FrameSizes::new(LENGTHS.to_vec()).unwrap();
        let load = Load::Frames(FramesLoad::new(sizes, Pace::Constant { rate }));
        FlowSpec::new(direction, family, EXPEDITED, load)
    };
    let flows = [Direction::Upload, Direction::Download].map(flow).into();
    Trial { name: "under test".into(), flows, timing: TIMING }
}

fn reports(observation: &Observation) -> [&FramesReport; 2] {
    let report = |flow: usize| match &observation.flows[flow] {
        FlowReport::Frames(report) => report,
        other => panic!("a flow of frames gave {other:?}"),
    };
    [0, 1].map(report)
}

/// Two network namespaces with nothing between them but a cable.
struct Cable {
    ends: [NetNs; 2],
}

/// Of the near and of the far end.
const ADDRESSES: [(Ipv4Addr, Ipv6Addr); 2] = [
    (Ipv4Addr::new(198, 18, 0, 1), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 1)),
    (Ipv4Addr::new(198, 18, 0, 2), Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, 2)),
];

fn address((ipv4, ipv6): (Ipv4Addr, Ipv6Addr), family: Family) -> IpAddr {
    match family {
        Family::Ipv4 => ipv4.into(),
        Family::Ipv6 => ipv6.into(),
    }
}

fn octets(of: (Ipv4Addr, Ipv6Addr), family: Family) -> Vec<u8> {
    match family {
        Family::Ipv4 => of.0.octets().to_vec(),
        Family::Ipv6 => of.1.octets().to_vec(),
    }
}

impl Cable {
    fn lay(_: Privileges) -> Self {
        let near = NetNs::fresh().unwrap();
        let near_links = Netlink::open().unwrap();
        let far = NetNs::fresh().unwrap();
        let far_links = Netlink::open().unwrap();
        let end = |mac| VethEnd { name: "eth0", mac, mtu: 1500 };
        far_links.add_veth(&end(MACS[1]), &end(MACS[0]), &near).unwrap();
        for (links, here, there) in [(&near_links, 0, 1), (&far_links, 1, 0)] {
            links.set_up(links.interface("lo").unwrap().index).unwrap();
            let index = links.interface("eth0").unwrap().index;
            links.forgo_link_local_address(index).unwrap();
            links.set_up(index).unwrap();
            for (family, prefix_len) in [(Family::Ipv4, 24), (Family::Ipv6, 64)] {
                links.add_address(index, address(ADDRESSES[here], family), prefix_len).unwrap();
                links.add_neighbour(index, address(ADDRESSES[there], family), MACS[there]).unwrap();
            }
        }
        let deadline = clock::now() + Duration::from_secs(5);
        while !near_links.interface("eth0").unwrap().is_running {
            assert!(clock::now() < deadline, "the cable does not come up");
            thread::yield_now();
        }
        Self { ends: [near, far] }
    }

    /// Everything that arrives at an end from now on.
    fn frames_at(&self, end: usize) -> PacketReceiver {
        self.ends[end].enter().unwrap();
        let eth0 = Netlink::open().unwrap().interface("eth0").unwrap().index;
        PacketReceiver::open(eth0, 1514).unwrap()
    }

    /// The near end of a far end that may have no packet sockets.
    fn connect(&self, family: Family) -> Connected {
        self.ends[1].enter().unwrap();
        let stop = StopFlag::default();
        let stopped = stop.clone();
        let (tell, told) = mpsc::channel();
        let serving = thread::spawn(move || {
            forgo_packet_sockets();
            let server = Server::bind(ServerOptions {
                listen: None,
                data_ports: DataPorts::ANY,
                connection_networks: ConnectionNetworks::NONE,
                max_sessions: 1,
                identity: Identity::new().unwrap(),
                log: Log::none(),
            })
            .unwrap();
            tell.send(server.pairing(Host::Address(address(ADDRESSES[1], family)))).unwrap();
            server.serve(&stopped).unwrap();
        });
        let pairing: Pairing = told.recv().unwrap();
        self.ends[0].enter().unwrap();
        let (events, stop_near) = (Box::new(|_| ()), StopFlag::default());
        let options = LiveOptions { family: None, events, stop: stop_near };
        let bed = LiveTestbed::connect(&pairing, options).unwrap();
        Connected { bed, _far: FarEnd { stop, serving: Some(serving) } }
    }
}

struct Connected {
    bed: LiveTestbed,
    _far: FarEnd,
}

struct FarEnd {
    stop: StopFlag,
    serving: Option<JoinHandle<()>>,
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.stop.set();
        if let Some(serving) = self.serving.take() {
            serving.join().unwrap();
        }
    }
}

/// For the current thread and those that it will make, as for an ordinary user.
fn forgo_packet_sockets() {
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::NET_RAW);
    sets.permitted.remove(CapabilitySet::NET_RAW);
    set_capabilities(None, sets).unwrap();
}

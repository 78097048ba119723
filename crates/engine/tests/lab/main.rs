//! Real frames across real namespaces.

#![expect(clippy::unwrap_used, reason = "a test panics where something is wrong")]

mod across;
mod bursts;
mod control;
mod delay;
mod frames;
mod gateway;
mod harness;
mod ports;
#[path = "../../../../tests/watch/mod.rs"]
mod watch;
mod whole;

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, ExitCode};
use std::thread;
use std::time::Duration;

use fp_engine::lab::{Families, Lab, Namespace, Privileges};
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use fp_engine::os::packet::PacketReceiver;
use fp_model::{Dscp, Family, PortRange, Rate, Time};
use fp_net::link::Truth;
use fp_net::path::{GatewaySpec, LinkSpec, PathSpec};
use fp_net::path::{MtuSpec, PoliceSpec, Probability, RemarkSpec, TooBigAnswer};
use harness::{Case, expect_faithful};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

const CASES: [Case; 37] = [
    ("a_round_trip_takes_what_the_links_say", a_round_trip_takes_what_the_links_say),
    ("every_frame_is_passed_or_dropped_for_a_cause", every_frame_is_passed_or_dropped_for_a_cause),
    ("a_black_hole_passes_its_mtu_and_nothing_more", a_black_hole_passes_its_mtu_and_nothing_more),
    ("a_sender_learns_the_mtu_by_icmp", a_sender_learns_the_mtu_by_icmp),
    ("a_remarked_packet_arrives_with_the_new_dscp", a_remarked_packet_arrives_with_the_new_dscp),
    ("the_receiving_kernel_refuses_corrupt_packets", the_receiving_kernel_refuses_corrupt_packets),
    ("a_path_may_have_one_family_only", a_path_may_have_one_family_only),
    ("a_lab_leaves_nothing_behind", a_lab_leaves_nothing_behind),
    (
        "a_gateway_has_one_address_outside_and_a_port_for_each_connection",
        gateway::has_one_address_outside_and_a_port_for_each_connection,
    ),
    ("every_frame_of_a_burst_arrives_once", bursts::every_frame_of_a_burst_arrives_once),
    (
        "a_policer_admits_of_a_burst_what_its_bucket_holds",
        bursts::a_policer_admits_of_a_burst_what_its_bucket_holds,
    ),
    (
        "three_services_each_way_beside_probes_are_counted_one_by_one",
        frames::three_services_each_way_beside_probes_are_counted_one_by_one,
    ),
    (
        "spoilt_frames_are_told_apart_from_others_that_are_lost",
        frames::spoilt_frames_are_told_apart_from_others_that_are_lost,
    ),
    ("frames_made_whole_pass_for_the_hosts_own", whole::frames_made_whole_pass_for_the_hosts_own),
    ("whole_frames_go_to_the_proven_peer_alone", whole::whole_frames_go_to_the_proven_peer_alone),
    (
        "the_lab_alone_adds_its_delay_and_loses_nothing",
        delay::the_lab_alone_adds_its_delay_and_loses_nothing,
    ),
    ("packet_ports_carry_every_frame_as_it_is", ports::packet_ports_carry_every_frame_as_it_is),
    (
        "a_packet_port_receives_what_it_is_for_and_nothing_else",
        ports::a_packet_port_receives_what_it_is_for_and_nothing_else,
    ),
    (
        "the_host_takes_no_notice_of_what_a_packet_port_is_sent",
        ports::the_host_takes_no_notice_of_what_a_packet_port_is_sent,
    ),
    (
        "ports_that_share_an_interface_receive_each_connection_once",
        ports::ports_that_share_an_interface_receive_each_connection_once,
    ),
    (
        "a_port_says_whose_checksum_is_still_to_be_made",
        ports::a_port_says_whose_checksum_is_still_to_be_made,
    ),
    (
        "who_may_load_no_program_is_told_what_af_xdp_takes",
        ports::xdp::who_may_load_no_program_is_told_what_af_xdp_takes,
    ),
    (
        "ten_thousand_connections_are_counted_alike_by_both_ends",
        ports::connections::ten_thousand_are_counted_alike_by_both_ends,
    ),
    (
        "no_connection_is_opened_without_leave_or_proof",
        ports::connections::none_is_opened_without_leave_or_proof,
    ),
    (
        "a_router_forwards_connections_where_the_far_end_is_behind_it",
        ports::connections::a_router_forwards_them_where_the_far_end_is_behind_it,
    ),
    (
        "who_stops_a_trial_of_connections_is_told_what_there_was",
        ports::ending::who_stops_a_trial_is_told_what_there_was,
    ),
    (
        "a_far_end_killed_with_connections_is_lost_in_a_second_and_nothing_stays",
        ports::ending::a_far_end_that_is_killed_is_lost_in_a_second_and_nothing_stays,
    ),
    (
        "every_byte_passes_a_kernel_that_relays",
        ports::kernel::every_byte_passes_a_kernel_that_relays,
    ),
    (
        "iperf3_speaks_through_a_host_of_our_own",
        ports::programs::iperf3_speaks_through_a_host_of_our_own,
    ),
    (
        "curl_fetches_files_through_a_host_of_our_own",
        ports::programs::curl_fetches_files_through_a_host_of_our_own,
    ),
    ("the_next_hop_is_what_the_kernel_would_take", ports::next_hop::is_what_the_kernel_would_take),
    ("where_there_is_no_next_hop_it_says_why", ports::next_hop::where_there_is_none_it_says_why),
    ("control_survives_a_hole_for_packets_above_576_bytes", control::survives_a_black_hole),
    ("control_survives_a_flood_of_ten_times_the_line_either_way", control::survives_a_flood),
    ("control_is_sparing_while_frames_are_counted", control::is_sparing_while_frames_are_counted),
    (
        "a_link_that_is_cut_loses_the_far_end_within_three_seconds",
        control::is_lost_when_the_link_is_cut,
    ),
    ("a_trial_of_probes_costs_at_most_four_round_trips_more", control::probes_cost_little),
];

/// What takes the right to load programs into the kernel.
const CASES_FOR_ROOT: [Case; 5] = [
    ("ten_thousand_connections_go_by_af_xdp", ports::connections::ten_thousand_go_by_af_xdp),
    ("xdp_ports_carry_every_frame_as_it_is", ports::xdp::carry_every_frame_as_it_is),
    (
        "an_xdp_port_receives_what_it_is_for_and_nothing_else",
        ports::xdp::receives_what_it_is_for_and_nothing_else,
    ),
    ("what_an_xdp_port_is_not_for_is_the_hosts", ports::xdp::what_it_is_not_for_is_the_hosts),
    (
        "no_xdp_program_outlives_its_ports_or_its_process",
        ports::xdp::no_program_outlives_its_ports_or_its_process,
    ),
];

const HELPERS: [Case; 2] =
    [(ports::xdp::HOLDER, ports::xdp::hold_a_port), (ports::ending::SERVER, ports::ending::serve)];

fn main() -> ExitCode {
    harness::run(&CASES, &CASES_FOR_ROOT, &HELPERS)
}

fn a_round_trip_takes_what_the_links_say(privileges: Privileges) {
    let links = || vec![LinkSpec { delay: Duration::from_millis(27), ..LinkSpec::default() }];
    let path = PathSpec { far_to_near: links(), ..path_of(links().remove(0)) };
    let lab = Lab::start(privileges, &path, Families::Both, 1).unwrap();
    for family in [Family::Ipv4, Family::Ipv6] {
        let rtt = least_rtt(&lab, family);
        // 27 ms each way; what the kernel takes on a busy machine comes on top.
        assert!(rtt >= Duration::from_millis(54), "{family:?}: {rtt:?}");
        assert!(rtt < Duration::from_micros(54_500), "{family:?}: {rtt:?}");
    }
}

/// Of 21 echoes, each answered by the far end's kernel and timestamped by the near end's, so that
/// no thread of this process has to be woken for it.
fn least_rtt(lab: &Lab, family: Family) -> Duration {
    let mut replies = frames_at(lab.near());
    let (domain, protocol, request) = match family {
        Family::Ipv4 => (Domain::IPV4, Protocol::ICMPV4, [8, 0, 0xf7, 0xff, 0, 0, 0, 0]),
        // The kernel fills in the checksum of ICMPv6.
        Family::Ipv6 => (Domain::IPV6, Protocol::ICMPV6, [128, 0, 0, 0, 0, 0, 0, 0]),
    };
    let ping = Socket::new(domain, Type::RAW, Some(protocol)).unwrap();
    let far = SocketAddr::from((lab.far().address(family), 0)).into();
    let round_trips = (0..21).map(|_| {
        let sent_at = clock::wall();
        ping.send_to(&request, &far).unwrap();
        arrival_of_next(&mut replies).since(sent_at)
    });
    round_trips.min().unwrap()
}

fn arrival_of_next(frames: &mut PacketReceiver) -> Time {
    let deadline = clock::now() + Duration::from_secs(5);
    let mut arrived_at = None;
    while !frames.receive(|frame| arrived_at = Some(frame.arrived_at_wall)) {
        assert!(clock::now() < deadline, "no frame has arrived");
        thread::yield_now();
    }
    arrived_at.unwrap()
}

fn every_frame_is_passed_or_dropped_for_a_cause(privileges: Privileges) {
    const BURST: u64 = 200;
    const CBS_BYTES: u64 = 64_000;
    let police = PoliceSpec::single_bucket(Rate::mbps(8), CBS_BYTES);
    for (family, dscp) in [(Family::Ipv4, 46), (Family::Ipv6, 10)] {
        let policed = LinkSpec { police: Some(police.clone()), ..LinkSpec::default() };
        let lab = start(privileges, policed);
        let (near, far) = connected(&lab, family);
        set_dscp(&near, family, dscp);
        // 1500 bytes of IP packet, so 1518 of frame.
        let payload = vec![0; 1500 - usize::from(header_bytes(family))];
        let began_at = clock::now();
        for _ in 0..BURST {
            near.send(&payload).unwrap();
        }
        let took = clock::now().since(began_at);
        let received = received_until(&lab, &far, |truth| truth.total.offered.frames == BURST);

        let truth = lab.truth().unwrap();
        expect_faithful(&truth);
        let tally = truth.near_to_far.links.by_dscp[&dscp];
        assert_eq!(tally, truth.near_to_far.links.total);
        assert_eq!(tally.offered.frames, BURST);
        assert_eq!(tally.offered.bytes, BURST * 1518);
        assert_eq!(tally.passed.frames, received);
        assert_eq!(tally.dropped.police.frames, BURST - received);
        // The bucket, and what 8 Mbit/s fill in while the burst lasts and one frame longer.
        let most_bytes = CBS_BYTES + Rate::mbps(8).bytes_in(took) + 1518;
        assert!(tally.passed.bytes > CBS_BYTES - 1518, "{tally:?}");
        assert!(tally.passed.bytes <= most_bytes, "{tally:?} in {took:?}");
    }
}

fn a_black_hole_passes_its_mtu_and_nothing_more(privileges: Privileges) {
    let lab = start(privileges, mtu(1400, TooBigAnswer::Silence));
    for family in [Family::Ipv4, Family::Ipv6] {
        let (near, far) = connected(&lab, family);
        let dropped_before = lab.truth().unwrap().near_to_far.links.total.dropped.mtu.frames;
        // The longer one twice: the sender must not learn from the first.
        for packet_bytes in [1401, 1401, 1400] {
            near.send(&vec![0; packet_bytes - usize::from(header_bytes(family))]).unwrap();
        }
        let len = far.recv(&mut [0; 2000]).unwrap();
        assert_eq!(len, 1400 - usize::from(header_bytes(family)), "{family:?}");
        let dropped = lab.truth().unwrap().near_to_far.links.total.dropped.mtu.frames;
        assert_eq!(dropped - dropped_before, 2, "{family:?}");
    }
}

fn a_sender_learns_the_mtu_by_icmp(privileges: Privileges) {
    let direct = path_of(mtu(1400, TooBigAnswer::Icmp));
    for path in [PathSpec { gateway: Some(ANY_PORT), ..direct.clone() }, direct] {
        learns_the_mtu(&Lab::start(privileges, &path, Families::Both, 1).unwrap());
    }
}

fn learns_the_mtu(lab: &Lab) {
    for family in [Family::Ipv4, Family::Ipv6] {
        let (near, far) = connected(lab, family);
        let payload = vec![0; 1401 - usize::from(header_bytes(family))];
        near.send(&payload).unwrap();
        // The answer makes the kernel cut what comes after it into fragments that fit.
        far.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let deadline = clock::now() + Duration::from_secs(5);
        let mut buffer = [0; 2000];
        while far.recv(&mut buffer).is_err() {
            assert!(clock::now() < deadline, "{family:?}: the sender has learnt nothing");
            match near.send(&payload) {
                // The kernel tells the socket once, and sends the next one.
                Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE)),
                Ok(sent) => assert_eq!(sent, payload.len()),
            }
        }
        assert!(lab.truth().unwrap().near_to_far.links.total.dropped.mtu.frames >= 1);
    }
}

fn a_remarked_packet_arrives_with_the_new_dscp(privileges: Privileges) {
    let (expedited, marked) = (Dscp::new(46).unwrap(), Dscp::new(12).unwrap());
    let remark = vec![RemarkSpec { from: Some(expedited), to: marked }];
    let lab = start(privileges, LinkSpec { remark, ..LinkSpec::default() });
    for family in [Family::Ipv4, Family::Ipv6] {
        let (near, far) = connected(&lab, family);
        let mut frames = frames_at(lab.far());
        set_dscp(&near, family, expedited.code_point());
        near.send(b"expedited").unwrap();
        // A kernel drops an IPv4 packet whose header checksum is wrong.
        far.recv(&mut [0; 100]).unwrap();
        let mut traffic_class = None;
        assert!(frames.receive(|frame| {
            traffic_class = Some(match family {
                Family::Ipv4 => frame.bytes[15],
                Family::Ipv6 => frame.bytes[14] << 4 | frame.bytes[15] >> 4,
            });
        }));
        assert_eq!(traffic_class, Some(marked.traffic_class()), "{family:?}");
    }
}

fn the_receiving_kernel_refuses_corrupt_packets(privileges: Privileges) {
    const SENT: u64 = 20;
    let corrupt = Probability::new(1.0);
    let lab = start(privileges, LinkSpec { corrupt, ..LinkSpec::default() });
    for family in [Family::Ipv4, Family::Ipv6] {
        let (near, far) = connected(&lab, family);
        let before = lab.truth().unwrap().near_to_far.links.total;
        for _ in 0..SENT {
            near.send(b"to be corrupted").unwrap();
        }
        let passed = before.passed.frames + SENT;
        let received = received_until(&lab, &far, |truth| truth.total.passed.frames == passed);
        assert_eq!(received, 0, "{family:?}");
        let after = lab.truth().unwrap().near_to_far.links.total;
        assert_eq!(after.corrupted.frames - before.corrupted.frames, SENT);
    }
}

fn a_path_may_have_one_family_only(privileges: Privileges) {
    for (has, lacks) in [(Family::Ipv6, Family::Ipv4), (Family::Ipv4, Family::Ipv6)] {
        let path = path_of(LinkSpec::default());
        let lab = Lab::start(privileges, &path, Families::Only(has), 1).unwrap();
        let (near, far) = connected(&lab, has);
        near.send(b"one family").unwrap();
        far.recv(&mut [0; 100]).unwrap();
        lab.near().enter().unwrap();
        assert!(UdpSocket::bind((lab.near().address(lacks), 0)).is_err());
    }
}

fn a_lab_leaves_nothing_behind(privileges: Privileges) {
    let held = || {
        let count = |of: &str| fs::read_dir(of).unwrap().count();
        let interfaces = fs::read_to_string("/proc/self/net/dev").unwrap().lines().count();
        (count("/proc/self/fd"), count("/proc/self/task"), interfaces)
    };
    let before = held();
    for gateway in [None, Some(ANY_PORT), None] {
        let path = PathSpec { gateway, ..path_of(LinkSpec::default()) };
        let lab = Lab::start(privileges, &path, Families::Both, 1).unwrap();
        let mut sleep = Command::new("sleep");
        sleep.arg("1000");
        let program = lab.far().start(sleep).unwrap();
        assert!(!program.has_ended().unwrap());
        drop(lab);
        drop(program);
    }
    // A thread that has been joined is still in the table for some microseconds.
    let deadline = clock::now() + Duration::from_secs(5);
    while held() != before {
        assert!(clock::now() < deadline, "{:?} instead of {before:?}", held());
        thread::yield_now();
    }
}

const ANY_PORT: GatewaySpec = GatewaySpec { ports: PortRange { first: 1024, last: 65_535 } };

fn start(privileges: Privileges, near_to_far: LinkSpec) -> Lab {
    Lab::start(privileges, &path_of(near_to_far), Families::Both, 1).unwrap()
}

fn path_of(near_to_far: LinkSpec) -> PathSpec {
    PathSpec { far_to_near: Vec::new(), ..PathSpec::symmetric("under test", vec![near_to_far]) }
}

fn mtu(bytes: u32, too_big: TooBigAnswer) -> LinkSpec {
    LinkSpec { mtu: Some(MtuSpec { bytes, too_big }), ..LinkSpec::default() }
}

/// IP and UDP headers.
const fn header_bytes(family: Family) -> u8 {
    match family {
        Family::Ipv4 => 20 + 8,
        Family::Ipv6 => 40 + 8,
    }
}

/// A UDP socket at each end, the near one connected to the far one. They give up waiting after
/// some seconds.
fn connected(lab: &Lab, family: Family) -> (UdpSocket, UdpSocket) {
    let far = socket_at(lab.far(), family);
    let near = socket_at(lab.near(), family);
    near.connect(far.local_addr().unwrap()).unwrap();
    (near, far)
}

fn socket_at(end: &Namespace, family: Family) -> UdpSocket {
    end.enter().unwrap();
    let socket = UdpSocket::bind((end.address(family), 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

fn set_dscp(socket: &UdpSocket, family: Family, code_point: u8) {
    let socket = SockRef::from(socket);
    let traffic_class = Dscp::new(code_point).unwrap().traffic_class().into();
    match family {
        Family::Ipv4 => socket.set_tos_v4(traffic_class).unwrap(),
        Family::Ipv6 => socket.set_tclass_v6(traffic_class).unwrap(),
    }
}

/// How many datagrams have arrived when `is_over` the direction to the far end.
fn received_until(lab: &Lab, far: &UdpSocket, is_over: impl Fn(&Truth) -> bool) -> u64 {
    let deadline = clock::now() + Duration::from_secs(5);
    loop {
        let truth = lab.truth().unwrap().near_to_far.links;
        if is_over(&truth) && truth.total.in_flight.frames == 0 {
            break;
        }
        assert!(clock::now() < deadline, "frames are still on their way: {truth:?}");
    }
    // What has left the path has been put into the socket by the same system call.
    far.set_nonblocking(true).unwrap();
    let mut buffer = [0; 2000];
    std::iter::from_fn(|| far.recv(&mut buffer).ok()).count() as u64
}

/// Everything that arrives at an end from now on.
fn frames_at(end: &Namespace) -> PacketReceiver {
    end.enter().unwrap();
    let eth0 = Netlink::open().unwrap().interface("eth0").unwrap().index;
    PacketReceiver::open(eth0, 1514).unwrap()
}

//! Packet ports over a veth pair: every frame counted and compared byte for byte.

mod cable;
pub(crate) mod connections;
pub(crate) mod ending;
mod frames;
pub(crate) mod kernel;
pub(crate) mod next_hop;
pub(crate) mod programs;
pub(crate) mod xdp;

use std::net::{IpAddr, UdpSocket};
use std::num::NonZeroU16;
use std::thread;
use std::time::Duration;

use fp_engine::frame_io::{
    ClientIs, FrameBatch, FrameIo, PacketPort, Prefix, Share, TransportChecksum,
};
use fp_engine::lab::Privileges;
use fp_engine::os::clock;
use fp_engine::os::netlink::Netlink;
use fp_model::{Family, PortRange};

use cable::{Cable, MACS, address};
use frames::{ARP, VLAN, ethernet, ethernet_type, foreign, ip, own, packet, question, tcp};

const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];

pub(crate) fn packet_ports_carry_every_frame_as_it_is(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    every_frame_as_it_is(packet_port(&cable, 0, &OWN), packet_port(&cable, 1, &OWN));
    a_frame_that_is_too_long_is_an_error(packet_port(&cable, 0, &[]), packet_port(&cable, 1, &OWN));
}

pub(crate) fn a_packet_port_receives_what_it_is_for_and_nothing_else(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    nothing_but_its_own(packet_port(&cable, 0, &OWN), packet_port(&cable, 1, &OWN));
}

/// In both directions, of all lengths that the interface takes.
fn every_frame_as_it_is(mut near: impl FrameIo, mut far: impl FrameIo) {
    const ROUNDS: u16 = 20;
    for family in FAMILIES {
        for round in 0..ROUNDS {
            let sent: Vec<Vec<u8>> = (0..64)
                .map(|i| {
                    let bytes = (46 + usize::from(round * 64 + i) * 7 % 1455).max(46);
                    ip(own(family, round << 8 | i), bytes, (round * 64 + i) as u8)
                })
                .collect();
            send(&mut near, &sent);
            assert_eq!(received(&mut far, sent.len()), sent, "{family:?}");
            send(&mut far, &sent);
            assert_eq!(received(&mut near, sent.len()), sent, "{family:?}");
        }
    }
    let frames = u64::from(ROUNDS) * 64 * 2;
    for counters in [near.counters().unwrap(), far.counters().unwrap()] {
        assert_eq!((counters.sent_frames, counters.received_frames), (frames, frames));
        assert_eq!(counters.overrun_frames, 0);
    }
}

/// Those before it in the batch are sent, and its own error is the next call's.
fn a_frame_that_is_too_long_is_an_error(mut near: impl FrameIo, mut far: impl FrameIo) {
    let (fits, longer) = (ip(own(Family::Ipv4, 1), 1500, 1), ip(own(Family::Ipv4, 2), 1501, 2));
    let bytes = [&fits[..], &longer].concat();
    let batch = FrameBatch::new(&bytes, &[1514, 1515]);
    assert_eq!(near.send(batch).unwrap(), 1);
    let error = near.send(batch.after(1)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
    assert_eq!(received(&mut far, 1), [fits]);
}

/// The last frame of each round shows that those before it have been looked at.
fn nothing_but_its_own(mut near: impl FrameIo, mut far: impl FrameIo) {
    for family in FAMILIES {
        let to_own = packet(own(family, 7), 17, 60, 7);
        let kind = ethernet_type(own(family, 7));
        let foreign = [
            ip(foreign(family, 7), 60, 1),
            tcp(foreign(family, 7), 1, 2),
            question(foreign(family, 7)),
            // The same addresses, but not as packets to them.
            ethernet(MACS[1], ARP, &to_own),
            ethernet(MACS[1], 0x88b5, &to_own),
            ethernet(MACS[1], VLAN, &[&[0, 5][..], &kind.to_be_bytes(), &to_own].concat()),
            ip(own(family, 7), 60, 1)[..20].to_vec(),
        ];
        let own = [
            question(own(family, 0x0102)),
            tcp(own(family, 0xffff), 40_000, 7),
            // To a MAC address that is not the interface's.
            ethernet([2, 9, 9, 9, 9, 9], kind, &to_own),
            ip(own(family, 0), 60, 9),
        ];
        send(&mut near, &foreign);
        send(&mut near, &own);
        assert_eq!(received(&mut far, own.len()), own, "{family:?}");
    }
    assert_eq!(far.counters().unwrap().received_frames, 8);
}

/// Its owner answers for its addresses with the port's own MAC address.
pub(crate) fn the_host_takes_no_notice_of_what_a_packet_port_is_sent(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    let mut port = packet_port(&cable, 1, &OWN);
    let far = cable.interface(1);
    assert_ne!(port.mac(), far.mac);
    assert_eq!(port.mac()[0] & 0b11, 0b10, "unicast, locally administered");
    let host_received = || {
        let text = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
        let line = text.lines().filter(|line| line.starts_with("Ip:")).nth(1).unwrap();
        // Forwarding, DefaultTTL, InReceives.
        line.split(' ').nth(3).unwrap().parse::<u64>().unwrap()
    };
    let before = host_received();
    let mut near = packet_port(&cable, 0, &[]);
    let packet = packet(own(Family::Ipv4, 7), 17, 60, 7);
    let ignored = ethernet(port.mac(), 0x0800, &packet);
    send(&mut near, std::slice::from_ref(&ignored));
    assert_eq!(received(&mut port, 1), [ignored]);
    // So that it is known what would be noticed.
    let noticed = ethernet(far.mac, 0x0800, &packet);
    send(&mut near, std::slice::from_ref(&noticed));
    assert_eq!(received(&mut port, 1), [noticed]);
    cable.interface(1);
    let deadline = clock::now() + Duration::from_secs(5);
    while host_received() == before {
        assert!(clock::now() < deadline, "the host has not noticed what was for it");
        thread::yield_now();
    }
    assert_eq!(host_received(), before + 1);
}

pub(crate) fn ports_that_share_an_interface_receive_each_connection_once(privileges: Privileges) {
    type PlaceOf = fn(u16) -> u16;
    let cable = Cable::lay(privileges);
    let mut near = packet_port(&cable, 0, &[]);
    for client in [ClientIs::Source, ClientIs::Destination] {
        let far = cable.interface(1);
        let tens = [0, 1, 2].map(|ten| CLIENTS.start + 10 * ten);
        let tens = tens.map(|first| PortRange { first, last: first + 9 });
        let kinds: [(Vec<Share>, PlaceOf); 2] = [
            (Share::of_each(NonZeroU16::new(3).unwrap(), client).collect(), |port| port % 3),
            (Share::of_ranges(tens, client).collect(), |port| (port - CLIENTS.start) / 10),
        ];
        for (shares, place_of) in kinds {
            let open = |share| PacketPort::open(&far, &prefixes(&OWN), share).unwrap();
            let ports: Vec<PacketPort> = shares.into_iter().map(open).collect();
            each_receives_its_own(&mut near, ports, client, place_of);
        }
    }
}

const CLIENTS: std::ops::Range<u16> = 40_000..40_030;

fn each_receives_its_own(
    near: &mut PacketPort,
    mut ports: Vec<PacketPort>,
    client: ClientIs,
    place_of: fn(u16) -> u16,
) {
    for family in FAMILIES {
        let segment = |port: &u16| match client {
            ClientIs::Source => tcp(own(family, 1), *port, 7),
            ClientIs::Destination => tcp(own(family, 1), 7, *port),
        };
        let of_place = |place| CLIENTS.filter(move |port| place_of(*port) == place);
        let mut sent: Vec<Vec<u8>> = CLIENTS.map(|port| segment(&port)).collect();
        // What has no port number is the first one's.
        let others = [question(own(family, 1)), ip(own(family, 2), 60, 1)];
        sent.extend(others.clone());
        sent.extend(of_place(1).chain(of_place(2)).map(|port| segment(&port)));
        send(near, &sent);
        let [first, second, third] = &mut ports[..] else { panic!("three ports") };
        let expected = |place| of_place(place).map(|port| segment(&port)).collect::<Vec<_>>();
        assert_eq!(received(first, 12), [expected(0), others.to_vec()].concat());
        assert_eq!(received(second, 20), [expected(1), expected(1)].concat());
        assert_eq!(received(third, 20), [expected(2), expected(2)].concat());
    }
    let received = |port: &mut PacketPort| port.counters().unwrap().received_frames;
    assert_eq!(ports.iter_mut().map(received).collect::<Vec<_>>(), [2 * 12, 2 * 20, 2 * 20]);
}

/// A kernel leaves the checksum of what it sends to the interface, and a veth pair hands it on so.
pub(crate) fn a_port_says_whose_checksum_is_still_to_be_made(privileges: Privileges) {
    let cable = Cable::lay(privileges);
    for family in FAMILIES {
        let mut near = packet_port(&cable, 0, &[]);
        let far = cable.interface(1);
        let mut port = PacketPort::open(&far, &prefixes(&OWN), Share::ALL).unwrap();
        let links = kernel_knows_the_way(&cable, family);
        let socket = UdpSocket::bind((address(0, family), 0)).unwrap();
        socket.send_to(&[1; 32], (own(family, 5), 9)).unwrap();
        let (frame, checksum) = next(&mut port);
        assert_eq!(checksum, TransportChecksum::PseudoHeader, "{family:?}");
        let field = if family == Family::Ipv4 { 14 + 20 + 6 } else { 14 + 40 + 6 };
        let found = u16::from_be_bytes([frame[field], frame[field + 1]]);
        assert_eq!(found, pseudo_header_sum(&frame, family), "{family:?}");
        // The same frame, made by this process: nobody has marked it.
        send(&mut near, std::slice::from_ref(&frame));
        assert_eq!(next(&mut port), (frame, TransportChecksum::Whole));
        drop(links);
    }
}

/// Has the near end's kernel send what is for the prefix to the far end.
fn kernel_knows_the_way(cable: &Cable, family: Family) -> Netlink {
    let near = cable.interface(0);
    let links = Netlink::open().unwrap();
    let prefix_len = if family == Family::Ipv4 { 16 } else { 64 };
    links.add_address(near.index, own(family, 1), prefix_len).unwrap();
    links.add_neighbour(near.index, own(family, 5), MACS[1]).unwrap();
    links
}

/// RFC 768, RFC 8200 section 8.1: addresses, length and protocol.
fn pseudo_header_sum(frame: &[u8], family: Family) -> u16 {
    let (addresses, datagram_bytes) = match family {
        Family::Ipv4 => (&frame[26..34], frame.len() - 34),
        Family::Ipv6 => (&frame[22..54], frame.len() - 54),
    };
    let words = addresses.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum = words.sum::<u32>() + datagram_bytes as u32 + 17;
    let folded = (sum & 0xffff) + (sum >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}

fn packet_port(cable: &Cable, end: usize, of: &[fn(Family, u16) -> IpAddr]) -> PacketPort {
    PacketPort::open(&cable.interface(end), &prefixes(of), Share::ALL).unwrap()
}

const OWN: [fn(Family, u16) -> IpAddr; 1] = [own];

fn prefixes(of: &[fn(Family, u16) -> IpAddr]) -> Vec<Prefix> {
    let lens = [(Family::Ipv4, 16), (Family::Ipv6, 64)];
    of.iter()
        .flat_map(|block| lens.map(|(family, len)| Prefix::new(block(family, 0), len).unwrap()))
        .collect()
}

fn send(port: &mut impl FrameIo, frames: &[Vec<u8>]) {
    let bytes = frames.concat();
    let lens: Vec<u16> = frames.iter().map(|frame| frame.len() as u16).collect();
    let mut rest = FrameBatch::new(&bytes, &lens);
    let deadline = clock::now() + Duration::from_secs(5);
    while !rest.is_empty() {
        assert!(clock::now() < deadline, "{} frames are not taken", rest.len());
        rest = rest.after(port.send(rest).unwrap());
    }
}

/// The next frames, and more if there are more.
fn received(port: &mut impl FrameIo, count: usize) -> Vec<Vec<u8>> {
    arrivals(port, count).into_iter().map(|(frame, _)| frame).collect()
}

fn next(port: &mut impl FrameIo) -> (Vec<u8>, TransportChecksum) {
    let mut frames = arrivals(port, 1);
    assert_eq!(frames.len(), 1, "{frames:x?}");
    frames.remove(0)
}

fn arrivals(port: &mut impl FrameIo, count: usize) -> Vec<(Vec<u8>, TransportChecksum)> {
    let mut frames = Vec::new();
    let deadline = clock::now() + Duration::from_secs(5);
    while frames.len() < count {
        assert!(clock::now() < deadline, "{} of {count} frames arrived", frames.len());
        port.wait(deadline).unwrap();
        while port.receive(|frame| frames.push((frame.bytes.to_vec(), frame.checksum))).unwrap() > 0
        {
        }
    }
    frames
}

//! Connections whose clients have other addresses and ports at the server's end.

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::time::Duration;

use fp_model::{Behaviour, ConnectionsLoad};
use fp_net::checksum::{Addresses, Peer};
use fp_net::packet::{Frame, Segment};
use fp_net::swarm::Stop;
use fp_net::tcp::Ports;

use crate::world::{CLIENT, Fates, Middlebox, SERVER, World, load, ms, share, stage, transaction};

/// What a client and its server are to each other inside.
type Inside = ([Ipv4Addr; 2], Ports);

const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);
const FIRST_PORT: u16 = 20_000;

/// Gives each connection a port of one public address, as long as there are any.
fn translator(entries_max: usize) -> (Middlebox, Rc<RefCell<Vec<Inside>>>) {
    let entries: Rc<RefCell<Vec<Inside>>> = Rc::default();
    let known = Rc::clone(&entries);
    let translate = move |from, frame: &[u8]| {
        let Ok(Frame::Tcp(segment)) = Frame::read(frame, Peer::Network) else { return None };
        let Addresses::V4 { source, destination } = segment.envelope.addresses else { return None };
        let mut known = known.borrow_mut();
        if from == CLIENT {
            let inside = ([source, destination], segment.ports);
            let place = known.iter().position(|entry| *entry == inside);
            let asks = frame[47] == 0x02;
            let place = place.or_else(|| {
                let fits = asks && known.len() < entries_max;
                fits.then(|| known.push(inside)).map(|()| known.len() - 1)
            })?;
            let ports = Ports { source: FIRST_PORT + place as u16, ..segment.ports };
            return Some(written(&segment, Addresses::V4 { source: PUBLIC, destination }, ports));
        }
        assert_eq!(destination, PUBLIC);
        let ([client, server], ports) = known[usize::from(segment.ports.destination - FIRST_PORT)];
        assert_eq!((server, ports.destination), (source, segment.ports.source));
        let addresses = Addresses::V4 { source, destination: client };
        let ports = Ports { source: ports.destination, destination: ports.source };
        Some(written(&segment, addresses, ports))
    };
    (Box::new(translate), entries)
}

fn written(segment: &Segment<'_>, addresses: Addresses, ports: Ports) -> Vec<u8> {
    let envelope = fp_net::packet::Envelope { addresses, ..segment.envelope };
    let mut frame = vec![0; 1514];
    let fill = |payload: &mut [u8]| payload.copy_from_slice(segment.payload);
    let length = envelope.write(ports, &segment.header, segment.payload.len(), fill, &mut frame);
    frame.truncate(length);
    frame
}

/// A middlebox that changes payload and puts the checksum right: nobody but the payload's own check
/// can find that.
#[test]
fn payload_that_was_changed_on_the_way_is_found() {
    let mix = vec![share(1, transaction(100, 1000, 1000))];
    let mut world = World::new(&load(vec![stage(0, 10)], mix));
    world.middlebox = Some(Box::new(|from, frame| {
        let Ok(Frame::Tcp(segment)) = Frame::read(frame, Peer::Network) else { return None };
        let mut payload = segment.payload.to_vec();
        match payload.last_mut() {
            Some(byte) if from == SERVER && segment.ports.destination % 2 == 0 => *byte ^= 1,
            Some(_) | None => {}
        }
        let changed = Segment { payload: &payload, ..segment };
        Some(written(&changed, segment.envelope.addresses, segment.ports))
    }));
    world.run_until(ms(500));
    let client = *world.counters(CLIENT);
    // Ten connections from seven addresses to four servers and ports: all have the first port.
    assert_eq!((client.transactions, client.corrupt_payload_bytes), (10, 10_000));
    assert_eq!((client.bad_checksums, world.counters(SERVER).corrupt_payload_bytes), (0, 0));
}

fn translated(connections: u32) -> ConnectionsLoad {
    let rate = Some(fp_model::Rate::bps(100_000));
    let mix = vec![
        share(2, Behaviour::Hold),
        share(6, transaction(200, 3000, 40)),
        share(1, Behaviour::Download { rate }),
        share(1, Behaviour::Both { rate: None }),
    ];
    let mut load = load(vec![stage(200, connections)], mix);
    load.addresses.translated = true;
    load
}

#[test]
fn connections_are_known_by_what_their_clients_say_of_themselves() {
    for seed in 0..3 {
        let rough = Fates { lost: 10, repeated: 10, late: 20, spoilt: 0 };
        let mut world = World::new(&translated(40)).with_chance(seed, rough);
        let (middlebox, entries) = translator(usize::MAX);
        world.middlebox = Some(middlebox);
        // Who has lost a question asks again after one second, and after three.
        world.run_until(ms(3500));
        assert_eq!(entries.borrow().len(), 40);
        world.stop(CLIENT, Stop::RampDown);
        world.run_until(ms(3600));
        world.fates = Fates::default();
        world.run_until(Duration::from_secs(60));
        world.stop(SERVER, Stop::RampDown);
        world.run_until(Duration::from_secs(200));
        world.check_is_over();
        let (client, server) = (*world.counters(CLIENT), *world.counters(SERVER));
        assert_eq!((client.failed.total(), client.established), (0, 40), "{client:?}");
        assert_eq!(client.corrupt_payload_bytes + server.corrupt_payload_bytes, 0);
        assert!(client.transactions > 100, "{client:?}");
        assert!(client.received_bytes >= client.transactions * 3000);
        assert!(server.received_bytes >= client.transactions * 200 + 32 * 8);
    }
}

#[test]
fn a_translator_that_is_full_is_found_out_and_named() {
    let mut load = translated(100);
    load.syn_retransmissions_max = 0;
    let mut world = World::new(&load);
    let (middlebox, _) = translator(64);
    world.middlebox = Some(middlebox);
    world.run_until(Duration::from_secs(5));
    let client = *world.counters(CLIENT);
    assert_eq!((client.active, client.active_peak), (64, 64));
    assert!(client.failed.no_answer >= 36 && client.failed.total() == client.failed.no_answer);
    assert_eq!(client.first_failure.unwrap().active, 64);
    assert_eq!(client.held, None, "100 were wanted");
    assert_eq!(world.counters(SERVER).active, 64);
}

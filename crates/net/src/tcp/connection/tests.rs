//! What scripts cannot say: several segments between two looks, and who may come after whom.

use core::time::Duration;

use fp_model::{Ecn, Time};

use crate::tcp::connection::{Arrival, Connection, State};
use crate::tcp::{Flags, Header, Options, Profile, Sequence, Timestamps};

const NOW: Time = Time::from_nanos(1_000_000_000);
const OWN: Sequence = Sequence::new(100);
const PEER: Sequence = Sequence::new(200);

fn header(sequence: u32, flags: Flags, timestamp: u32) -> Header {
    let timestamps = Some(Timestamps { value: timestamp, echo: 0 });
    Header {
        sequence: PEER.plus(sequence),
        acknowledgement: OWN.plus(1),
        flags,
        window: 1000,
        options: Options { timestamps, ..Options::default() },
    }
}

fn arrive(connection: &mut Connection, header: &Header, payload_bytes: u32) {
    let arrival = Arrival { header, payload_bytes, ecn: Ecn::NotEct };
    connection.on_segment(NOW, &Profile::default(), &arrival);
}

fn established() -> Connection {
    let profile = Profile::default();
    let mut connection = Connection::passive(&profile, OWN, &header(0, Flags::SYN, 7)).unwrap();
    connection.poll_transmit(NOW, &profile).unwrap();
    arrive(&mut connection, &header(1, Flags::ACK, 7), 0);
    assert_eq!(connection.state(), State::Established);
    connection
}

//= rfc9293 MUST-58
//= rfc9293 MUST-59
#[test]
fn of_many_segments_that_waited_all_are_acknowledged_at_once() {
    let mut connection = established();
    for k in 0..10 {
        arrive(&mut connection, &header(1 + 1448 * k, Flags::ACK, 7), 1448);
    }
    let profile = Profile::default();
    let ack = connection.poll_transmit(NOW, &profile).unwrap();
    assert_eq!(ack.header.acknowledgement, PEER.plus(1 + 14_480));
    assert_eq!(connection.poll_transmit(NOW, &profile), None);
}

//= rfc9293 MAY-2
#[test]
fn in_time_wait_a_newer_syn_may_take_the_place_and_an_older_one_may_not() {
    let profile = Profile::default();
    let mut connection = established();
    connection.close();
    assert!(!connection.gives_way_to(&header(10, Flags::SYN, 8)));
    connection.poll_transmit(NOW, &profile).unwrap();
    let fin = Header { acknowledgement: OWN.plus(2), ..header(1, Flags::ACK | Flags::FIN, 7) };
    arrive(&mut connection, &fin, 0);
    assert_eq!(connection.state(), State::TimeWait);
    assert!(connection.gives_way_to(&header(10, Flags::SYN, 8)));
    assert!(!connection.gives_way_to(&header(10, Flags::SYN, 7)));
    assert!(!connection.gives_way_to(&header(10, Flags::ACK, 8)));
    let without_timestamps =
        |sequence| Header { options: Options::default(), ..header(sequence, Flags::SYN, 0) };
    assert!(connection.gives_way_to(&without_timestamps(10)));
    assert!(!connection.gives_way_to(&without_timestamps(1)));
}

/// 2^32 milliseconds are 49.7 days: the alarm is set shortly before they have passed.
#[test]
fn alarms_ring_when_the_clock_of_32_bits_has_gone_round() {
    let profile = Profile::default();
    let now = Time::ZERO + Duration::from_millis(u64::from(u32::MAX) - 10);
    let mut connection = Connection::open(OWN);
    connection.poll_transmit(now, &profile).unwrap();
    let due = now + Duration::from_secs(1);
    assert_eq!(connection.poll_timeout(now), Some(due));
    connection.on_timeout(due - Duration::from_millis(1), &profile);
    assert_eq!(connection.poll_transmit(now, &profile), None);
    connection.on_timeout(due, &profile);
    assert!(connection.poll_transmit(due, &profile).is_some());
}

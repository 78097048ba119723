//! What scripts cannot say: several segments between two looks, and who may come after whom.

use core::time::Duration;

use fp_model::{Ecn, Time};

use crate::tcp::connection::{Arrival, Connection, Reaction, Resent, State};
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

fn arrive(connection: &mut Connection, header: &Header, payload_bytes: u32) -> Reaction {
    let arrival = Arrival { header, payload_bytes, ecn: Ecn::NotEct };
    connection.on_segment(NOW, &Profile::default(), &arrival)
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

#[test]
fn who_sends_is_told_what_is_sent_again_and_why() {
    let profile = Profile::default();
    let again = |connection: &mut Connection, now: Time| {
        let due = connection.poll_timeout(now).unwrap();
        connection.on_timeout(due, &profile);
        connection.poll_transmit(due, &profile).unwrap().resent
    };
    let mut asking = Connection::open(OWN);
    assert_eq!(asking.poll_transmit(NOW, &profile).unwrap().resent, None);
    assert_eq!(again(&mut asking, NOW), Some(Resent::Syn));
    let mut connection = established();
    connection.send(NOW, &profile, 100);
    assert_eq!((connection.written(), connection.unsent_bytes()), (100, 100));
    assert_eq!(connection.poll_transmit(NOW, &profile).unwrap().resent, None);
    assert_eq!((connection.written(), connection.unsent_bytes()), (100, 0));
    assert_eq!(again(&mut connection, NOW), Some(Resent::Timeout));
}

/// Ten segments under way of which the first is lost: what the others bring about tells nothing
/// new, and then the lost one goes again without a timeout. When all have arrived, that is a round
/// trip of those that went once.
#[test]
fn duplicate_acknowledgements_and_round_trips_are_told() {
    let profile = Profile::default();
    let mut connection = established();
    let repeated = Header { window: 60_000, ..header(1, Flags::ACK, 7) };
    arrive(&mut connection, &repeated, 0);
    // A peer who does not say takes 536 bytes, 12 of them timestamps.
    connection.send(NOW, &profile, 5240);
    assert_eq!(core::iter::from_fn(|| connection.poll_transmit(NOW, &profile)).count(), 10);
    for _ in 0..4 {
        let reaction = arrive(&mut connection, &repeated, 0);
        assert!(reaction.duplicate_ack && reaction.rtt.is_none(), "{reaction:?}");
    }
    // Without SACK three of them mean a loss: RFC 5681.
    let again = connection.poll_transmit(NOW, &profile).unwrap();
    assert_eq!((again.resent, again.position), (Some(Resent::Fast), 0));
    let all = Header { acknowledgement: OWN.plus(1 + 5240), ..repeated };
    let later = NOW + Duration::from_millis(20);
    let arrival = Arrival { header: &all, payload_bytes: 0, ecn: Ecn::NotEct };
    let reaction = connection.on_segment(later, &profile, &arrival);
    assert!(!reaction.duplicate_ack && reaction.rtt.is_some(), "{reaction:?}");
    // Nothing is under way: the same once more means nothing.
    let reaction = connection.on_segment(later, &profile, &arrival);
    assert!(!reaction.duplicate_ack);
}

#[test]
fn a_challenge_may_be_forgone() {
    let profile = Profile::default();
    for is_forgone in [false, true] {
        let mut connection = established();
        // A reset within the window, but not at the place that is expected.
        let reaction = arrive(&mut connection, &header(9, Flags::RST, 7), 0);
        assert!(reaction.challenged && reaction.end.is_none());
        if is_forgone {
            connection.forgo_challenge();
        }
        assert_eq!(connection.poll_transmit(NOW, &profile).is_none(), is_forgone);
        assert!(!arrive(&mut connection, &header(1, Flags::ACK, 7), 0).challenged);
    }
}

//! Both ends against each other over a path that loses and delays what it likes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{MicroBursts, Rate, Sender as Writes, Time};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::tcp::{Ack, Algorithm, Receiver, Segment, Sender, Settings};

const SEGMENT_BYTES: u32 = 1000;
const ONE_WAY: Duration = Duration::from_millis(10);
const MILLISECOND: Duration = Duration::from_millis(1);

/// What becomes of a packet: `None` is loss, otherwise milliseconds of extra delay. Packets after
/// the last one named pass at once.
type Fate = Option<u8>;

enum Packet {
    Data(Segment),
    Ack(Ack),
}

struct Connection {
    sender: Sender,
    receiver: Receiver,
    now: Time,
    on_the_way: BTreeMap<(Time, u64), Packet>,
    packets: u64,
    /// What a round trip carries at least: its steps are the segment, a delayed acknowledgement's
    /// alarm and the acknowledgement.
    least_flight_bytes: u64,
    data_fates: Vec<Fate>,
    ack_fates: Vec<Fate>,
    /// Start and end of all segments that arrived.
    arrived: BTreeSet<(u64, u64)>,
    resent: u64,
}

impl Connection {
    fn new(settings: Settings, mut data_fates: Vec<Fate>, mut ack_fates: Vec<Fate>) -> Self {
        data_fates.reverse();
        ack_fates.reverse();
        Self {
            sender: Sender::new(settings),
            receiver: Receiver::new(settings.window_bytes, settings.segment_bytes),
            now: Time::ZERO,
            on_the_way: BTreeMap::new(),
            packets: 0,
            least_flight_bytes: settings.window_bytes.min(settings.segment_bytes.into()),
            data_fates,
            ack_fates,
            arrived: BTreeSet::new(),
            resent: 0,
        }
    }

    /// Runs until the receiver has this much; gives the time it took.
    fn carry(&mut self, bytes: u64) -> Duration {
        self.exchange();
        for _ in 0..100_000 + 4 * bytes / self.least_flight_bytes {
            if self.receiver.next() >= bytes {
                return self.now.since(Time::ZERO);
            }
            self.step();
        }
        panic!("only {} of {bytes} bytes have arrived", self.receiver.next());
    }

    fn step(&mut self) {
        let arrival = self.on_the_way.first_key_value().map(|((at, _), _)| *at);
        let alarms = [arrival, self.sender.poll_timeout(), self.receiver.poll_timeout()];
        let next = alarms.into_iter().flatten().min();
        self.now = self.now.max(next.expect("a connection with work to do waits for something"));
        if self.sender.poll_timeout().is_some_and(|at| at <= self.now) {
            self.sender.on_timeout(self.now);
        }
        while let Some(entry) = self.on_the_way.first_entry().filter(|e| e.key().0 <= self.now) {
            match entry.remove() {
                Packet::Data(segment) => {
                    self.arrived.insert((segment.start, segment.end()));
                    self.receiver.on_segment(self.now, &segment);
                }
                Packet::Ack(ack) => drop(self.sender.on_ack(self.now, &ack)),
            }
            self.exchange();
        }
        self.exchange();
    }

    fn exchange(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.resent += u64::from(segment.is_retransmission);
            let fate = self.data_fates.pop().unwrap_or(Some(0));
            self.forward(fate, Packet::Data(segment));
        }
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            let fate = self.ack_fates.pop().unwrap_or(Some(0));
            self.forward(fate, Packet::Ack(ack));
        }
    }

    fn forward(&mut self, fate: Fate, packet: Packet) {
        if let Some(extra) = fate {
            self.packets += 1;
            let at = self.now + ONE_WAY + MILLISECOND * u32::from(extra);
            self.on_the_way.insert((at, self.packets), packet);
        }
    }

    /// How far the stream goes without a hole, by a plain reading of what arrived.
    fn complete_to(&self) -> u64 {
        let mut reached = 0;
        for (start, end) in &self.arrived {
            if *start > reached {
                break;
            }
            reached = reached.max(*end);
        }
        reached
    }
}

fn settings(window_segments: u64) -> Settings {
    Settings {
        segment_bytes: SEGMENT_BYTES,
        window_bytes: window_segments * u64::from(SEGMENT_BYTES),
        writes: Writes::Bulk,
        algorithm: Algorithm::Reno,
        pacing: None,
    }
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let pattern = MicroBursts { burst_bytes: 7777, bursts: 40, interval: MILLISECOND * 7 };
    let writes =
        prop_oneof![Just(Writes::Bulk), Just(Writes::Burst), Just(Writes::MicroBurst(pattern))];
    let algorithm = prop_oneof![Just(Algorithm::Reno), Just(Algorithm::Cubic)];
    let pacing = prop_oneof![Just(None), Just(Some(Rate::mbps(5)))];
    (1_u64..100_000, writes, algorithm, pacing).prop_map(
        |(window_bytes, writes, algorithm, pacing)| Settings {
            segment_bytes: SEGMENT_BYTES,
            window_bytes,
            writes,
            algorithm,
            pacing,
        },
    )
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![2 => Just(None), 5 => Just(Some(0)), 2 => (1_u8..60).prop_map(Some)];
    vec(fate, 0..300)
}

proptest! {
    #[test]
    fn whatever_is_lost_or_late_the_stream_gets_through_complete_and_in_order(
        settings in any_settings(),
        data_fates in fates(),
        ack_fates in fates(),
    ) {
        let mut connection = Connection::new(settings, data_fates, ack_fates);
        connection.carry(200_000);
        prop_assert_eq!(connection.receiver.next(), connection.complete_to());
    }
}

/// Ten segments at once, the fourth lost: its retransmission is found necessary when three beyond
/// it have arrived and is there after three one-way trips.
#[test]
//= rfc8985 6.2
fn a_lost_segment_is_sent_again_after_one_round_trip() {
    let mut fates = Vec::from([Some(0); 10]);
    fates[3] = None;
    let mut connection = Connection::new(settings(10), fates, Vec::new());
    assert_eq!(connection.carry(10_000), ONE_WAY * 3);
    assert_eq!(connection.resent, 1);
}

/// The last two of eight are lost. Two round trips of 20 ms and 8 ms after the last
/// acknowledgement, at 68 ms, the eighth is sent again; at 88 ms it is known to have arrived, which
/// the seventh has not although it was sent before; that arrives at 98 ms.
#[test]
//= rfc8985 7.2
fn a_lost_tail_is_found_by_a_probe() {
    let mut fates = Vec::from([Some(0); 8]);
    fates[6] = None;
    fates[7] = None;
    let burst = Settings { writes: Writes::Burst, ..settings(8) };
    let mut connection = Connection::new(burst, fates, Vec::new());
    assert_eq!(connection.carry(8_000), MILLISECOND * 98);
    assert_eq!(connection.resent, 2);
}

//= rfc7640 B
/// Bursts of five segments at 0, 50 and 100 ms, each there one way later.
#[test]
fn micro_bursts_leave_at_their_times() {
    let pattern = MicroBursts { burst_bytes: 5000, bursts: 3, interval: MILLISECOND * 50 };
    let micro = Settings { writes: Writes::MicroBurst(pattern), ..settings(100) };
    let mut connection = Connection::new(micro, Vec::new(), Vec::new());
    assert_eq!(connection.carry(5_000), ONE_WAY);
    assert_eq!(connection.carry(10_000), MILLISECOND * 60);
    assert_eq!(connection.carry(15_000), MILLISECOND * 110);
    while connection.sender.poll_timeout().is_some() {
        connection.step();
    }
    assert_eq!(connection.receiver.next(), 15_000);
}

/// One segment alone may just not be acknowledged yet: the probe takes the place of the timeout,
/// 220 ms after the last acknowledgement, and the window does not collapse.
#[test]
fn a_lone_lost_tail_is_probed_for_when_the_timeout_would_come() {
    let mut fates = Vec::from([Some(0); 10]);
    fates[9] = None;
    let burst = Settings { writes: Writes::Burst, ..settings(10) };
    let mut connection = Connection::new(burst, fates, Vec::new());
    assert_eq!(connection.carry(10_000), MILLISECOND * (20 + 220 + 10));
    assert_eq!(connection.resent, 1);
    assert!(connection.sender.congestion_window_bytes() >= 10_000);
}

/// Nothing was ever acknowledged: a timeout of 1 s, the second after 2 s more.
#[test]
fn a_lost_first_window_is_sent_again_after_the_timeouts() {
    let mut connection = Connection::new(settings(1), Vec::from([None; 2]), Vec::new());
    assert_eq!(connection.carry(1000), Duration::from_secs(3) + ONE_WAY);
}

/// One segment is 9 ms late and overtaken by many: it is sent again, the first copy arrives, and
/// the window is given back.
#[test]
fn a_window_reduced_without_loss_is_given_back() {
    let mut fates = Vec::from([Some(0); 30]);
    fates[10] = Some(9);
    let mut connection = Connection::new(settings(40), fates, Vec::new());
    connection.carry(200_000);
    assert_eq!(connection.resent, 1);
    assert!(connection.sender.congestion_window_bytes() >= 40_000);
}

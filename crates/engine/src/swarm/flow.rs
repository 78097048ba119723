//! One end's half of a flow of TCP that the program's own TCP carries: it sends or it receives.
//!
//! Its halves are those of the kernel's engine, so that everything made from them is the same; what
//! this TCP does not have, such as a send buffer, is unknown.

use std::time::Duration;

use fp_model::{Dscp, Time, Timing};
use fp_net::swarm::{Account, Counters};
use fp_net::tcp::Algorithm;

use super::{Driver, Met, SwarmError};
use crate::Lease;
use crate::control::message as control;
use crate::frame_io::FrameIo;
use crate::half::{
    Half, ReceiverSlot, SenderSlot, TcpReceiverHalf, TcpSenderConnection, TcpSenderHalf,
};
use crate::open_slots::OpenSlots;
use crate::os::clock;

/// How often the lease is asked.
const LOOK_UP: Duration = Duration::from_millis(20);
/// When the trial is over, so long may be spent on telling everybody between the ends.
const PARTING_MAX: Duration = Duration::from_secs(1);

/// Which half of the flow this end is, and how it sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Sender(Algorithm),
    Receiver,
}

/// When it takes place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course<'a> {
    pub(crate) timing: &'a Timing,
    pub(crate) start: Time,
    /// After the start.
    pub(crate) begins: Duration,
}

impl<Port: FrameIo + Send> Met<Port> {
    /// Runs this end's half until all connections are closed after the steady time, or until the
    /// trial is over. `progress` is told of each beat that passes.
    ///
    /// # Errors
    /// A connection that fails before the steady time is over, payload that is not what was sent, a
    /// silent peer, or an interface that is gone.
    pub(crate) fn run_flow(
        self,
        side: Side,
        course: &Course<'_>,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, control::Seen),
    ) -> Result<Half, SwarmError> {
        let Self { drivers, asked: _asked, .. } = self;
        let [mut driver] = <[Driver<Port>; 1]>::try_from(drivers)
            .unwrap_or_else(|_| unreachable!("few connections are one part"));
        let shard = driver.shard_mut();
        shard.keep_accounts();
        if let Side::Sender(algorithm) = side {
            shard.send_with(algorithm);
        }
        driver.begin_at(course.start + course.begins);
        let mut record = Record::new(side, course, driver.shard().accounts().len());
        record.drive(&mut driver, course, lease, progress)?;
        let dropped_frames = driver.port_counters().map_err(SwarmError::Frames)?.overrun_frames;
        driver.abort(clock::now() + PARTING_MAX).map_err(SwarmError::Frames)?;
        Ok(record.into_half(dropped_frames))
    }
}

/// What became of the flow, beat by beat and connection by connection.
struct Record {
    side: Side,
    start: Time,
    open: OpenSlots,
    /// Whether each beat is of the steady time.
    steady: Vec<bool>,
    connections: Vec<Connection>,
    sent: Vec<SenderSlot>,
    received: Vec<ReceiverSlot>,
    whole_good_bytes: u64,
    last_byte: Time,
    /// Open at once since the last cut, the most.
    active_most: u32,
}

/// One of them, as it stood at three cuts: the last one, that before the steady time, and the last
/// one of that.
#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    latest: Seen,
    steady_start: Seen,
    steady_end: Seen,
    window_max_bytes: Option<u64>,
    segment_bytes: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    account: Account,
    /// `None`: it rested.
    window_limited: Option<Duration>,
}

impl Record {
    fn new(side: Side, course: &Course<'_>, connections: usize) -> Self {
        let beats = course.timing.beats();
        let unopened = Seen { window_limited: Some(Duration::ZERO), ..Seen::default() };
        let connection = Connection {
            latest: unopened,
            steady_start: unopened,
            steady_end: unopened,
            ..Connection::default()
        };
        Self {
            side,
            start: course.start,
            open: OpenSlots::new(course.timing, course.start),
            steady: beats.iter().map(|beat| beat.steady).collect(),
            connections: vec![connection; connections],
            sent: Vec::with_capacity(beats.len()),
            received: Vec::with_capacity(beats.len()),
            whole_good_bytes: 0,
            last_byte: course.start,
            active_most: 0,
        }
    }

    fn drive<Port: FrameIo>(
        &mut self,
        driver: &mut Driver<Port>,
        course: &Course<'_>,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, control::Seen),
    ) -> Result<(), SwarmError> {
        let steady_end = course.start + course.timing.active();
        while let Some(end) = self.open.next_end() {
            driver.step(end.min(clock::now() + LOOK_UP)).map_err(SwarmError::Frames)?;
            let (now, counters) = (clock::now(), *driver.shard().counters());
            self.look(&counters, now, lease);
            if !lease.is_live(now) {
                return Err(SwarmError::Ended);
            }
            expect_sound(&counters, now < steady_end)?;
            while self.open.next_end().is_some_and(|end| end <= now) {
                self.cut_next(driver, now, progress);
            }
            let Counters { active, pending, closing, .. } = counters;
            if self.is_settling() && [active, pending, closing] == [0; 3] {
                self.cut_next(driver, now, progress);
            }
        }
        Ok(())
    }

    fn look(&mut self, counters: &Counters, now: Time, lease: &Lease) {
        self.active_most = self.active_most.max(counters.active);
        if counters.received_bytes > self.whole_good_bytes {
            self.whole_good_bytes = counters.received_bytes;
            self.last_byte = now;
            lease.renew_by_data(now);
        }
    }

    /// In the beat after the steady time.
    fn is_settling(&self) -> bool {
        self.open.open() + 1 == self.steady.len()
    }

    /// Cuts the beat that fills, be it over or not.
    fn cut_next<Port: FrameIo>(
        &mut self,
        driver: &Driver<Port>,
        now: Time,
        progress: &mut dyn FnMut(usize, control::Seen),
    ) {
        let beat = self.open.close_open();
        let is_steady = |beat: usize| self.steady.get(beat).copied().unwrap_or_default();
        let (steady, steady_next) = (is_steady(beat), is_steady(beat + 1));
        let before = self.sums();
        self.note(driver, now);
        for connection in &mut self.connections {
            if steady {
                connection.steady_end = connection.latest;
            } else if steady_next {
                connection.steady_start = connection.latest;
                connection.steady_end = connection.latest;
            }
        }
        let after = self.sums();
        let seen = match self.side {
            Side::Sender(_) => {
                let sent = self.sender_slot(driver, now, [&before, &after]);
                self.sent.push(sent);
                control::Seen::Sent(sent)
            }
            Side::Receiver => {
                let received = ReceiverSlot {
                    cut_ns: now.since(self.start).as_nanos() as u64,
                    received_bytes: after.received_bytes - before.received_bytes,
                    active_connections: Some(self.active_most),
                };
                self.active_most = driver.shard().counters().active;
                self.received.push(received);
                control::Seen::Received(received)
            }
        };
        progress(beat, seen);
    }

    /// Takes down how each connection stands.
    fn note<Port: FrameIo>(&mut self, driver: &Driver<Port>, now: Time) {
        for (connection, account) in self.connections.iter_mut().zip(driver.shard().accounts()) {
            connection.latest = Seen { account: *account, window_limited: None };
        }
        for (number, sending) in driver.shard().sending(now) {
            let Some(connection) = self.connections.get_mut(number as usize) else { continue };
            connection.latest.window_limited = Some(sending.window_limited);
            connection.segment_bytes = Some(sending.segment_bytes);
            connection.window_max_bytes =
                connection.window_max_bytes.max(Some(sending.window_max_bytes));
        }
    }

    /// Of all connections at the last cut.
    fn sums(&self) -> Account {
        self.connections.iter().fold(Account::default(), |sum, connection| {
            let account = &connection.latest.account;
            Account {
                sent_bytes: sum.sent_bytes + account.sent_bytes,
                resent_bytes: sum.resent_bytes + account.resent_bytes,
                received_bytes: sum.received_bytes + account.received_bytes,
                ..sum
            }
        })
    }

    fn sender_slot<Port: FrameIo>(
        &self,
        driver: &Driver<Port>,
        now: Time,
        [before, after]: [&Account; 2],
    ) -> SenderSlot {
        let (mut cwnd_bytes, mut rtts, mut rtt_sum) = (0, 0, Duration::ZERO);
        for (_, sending) in driver.shard().sending(now) {
            cwnd_bytes += sending.congestion_window_bytes;
            if let Some(rtt) = sending.rtt {
                (rtts, rtt_sum) = (rtts + 1, rtt_sum + rtt);
            }
        }
        SenderSlot {
            sent_bytes: after.sent_bytes - before.sent_bytes,
            retransmitted_bytes: after.resent_bytes - before.resent_bytes,
            rtt_ns: (rtt_sum.as_nanos() as u64).checked_div(rtts),
            cwnd_bytes: Some(cwnd_bytes),
        }
    }

    fn into_half(self, dropped_frames: u64) -> Half {
        match self.side {
            Side::Sender(algorithm) => Half::TcpSender(TcpSenderHalf {
                slots: self.sent,
                beats_per_slot: 1,
                connections: self.connections.iter().map(|each| each.sender(algorithm)).collect(),
                dropped_frames,
            }),
            Side::Receiver => {
                let seen = || self.connections.iter().map(Connection::steady);
                let dscp =
                    |account: &Account| account.received_traffic_class.map(Dscp::of_traffic_class);
                Half::TcpReceiver(TcpReceiverHalf {
                    slots: self.received,
                    beats_per_slot: 1,
                    good_bytes: seen()
                        .map(|[from, to]| to.received_bytes - from.received_bytes)
                        .collect(),
                    received_segments: seen()
                        .map(|[from, to]| Some(to.received_segments - from.received_segments))
                        .collect(),
                    dscp_received: seen().map(|[_, to]| dscp(to)).collect(),
                    whole_good_bytes: self.whole_good_bytes,
                    whole_until_ns: self.last_byte.since(self.start).as_nanos() as u64,
                    dropped_frames,
                })
            }
        }
    }
}

impl Connection {
    /// How it stood when the steady time began, and when that ended.
    const fn steady(&self) -> [&Account; 2] {
        [&self.steady_start.account, &self.steady_end.account]
    }

    fn sender(&self, algorithm: Algorithm) -> TcpSenderConnection {
        let [from, to] = self.steady();
        let nanos = |time: Duration| time.as_nanos() as u64;
        let limited = [self.steady_start.window_limited, self.steady_end.window_limited];
        let limited = match limited {
            [Some(from), Some(to)] => to.checked_sub(from),
            _ => None,
        };
        TcpSenderConnection {
            transmitted_bytes: to.sent_bytes - from.sent_bytes,
            retransmitted_bytes: to.resent_bytes - from.resent_bytes,
            rtt_mean_ns: to.round_trips.mean_since(&from.round_trips).map(nanos),
            rtt_min_ns: to.round_trips.min.map(nanos),
            window_effective_bytes: self.window_max_bytes,
            segment_bytes: self.segment_bytes,
            congestion_control: match algorithm {
                Algorithm::Cubic => "cubic",
                Algorithm::Reno => "reno",
            }
            .to_owned(),
            sent_segments: Some(to.sent_segments - from.sent_segments),
            receive_window_limited_ns: limited.map(nanos),
            // There is no buffer: what is sent is made as it leaves.
            send_buffer_limited_ns: None,
            busy_ns: None,
        }
    }
}

/// Nothing that a flow's figures could not tell of.
fn expect_sound(counters: &Counters, is_active: bool) -> Result<(), SwarmError> {
    if counters.corrupt_payload_bytes > 0 {
        return Err(SwarmError::Corrupt { bytes: counters.corrupt_payload_bytes });
    }
    let failed = counters.failed.total();
    // Later, what the path did not carry in time is broken off.
    if failed > 0 && is_active { Err(SwarmError::Failed(counters.failed)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use fp_model::{
        Behaviour, ConnectionsShare, ConnectionsStage, FailedConnections, Family, Rate,
    };
    use fp_net::packet::MacAddress;
    use fp_net::swarm::Role;

    use super::*;
    use crate::frame_io::MemoryPort;
    use crate::swarm::tests::{driver, load};
    use crate::udp::tests::long_lease;

    const CONNECTIONS: u32 = 3;

    /// Both halves of a flow that the client's end sends, and how many beats each told of.
    fn halves(timing: &Timing) -> [(Half, usize); 2] {
        let mut load = load(Family::Ipv6, 1, 1);
        let stage = |lasts, connections| ConnectionsStage { lasts, connections };
        let active = timing.active();
        let none = Duration::ZERO;
        load.stages = vec![stage(none, CONNECTIONS), stage(active, CONNECTIONS), stage(none, 0)];
        let behaviour = Behaviour::Upload { rate: Some(Rate::mbps(20)) };
        load.mix = vec![ConnectionsShare { weight: 1, behaviour }];
        let [near, far] = MemoryPort::pair();
        let [near_mac, far_mac] = [near.mac(), far.mac()].map(MacAddress);
        let clients = driver(near, far_mac, Role::Client, &load, Family::Ipv6);
        let servers = driver(far, near_mac, Role::Server, &load, Family::Ipv6);
        let met = |driver, role| Met { drivers: vec![driver], role, bytes_total: 0, asked: None };
        let start = clock::now() + Duration::from_millis(20);
        let course = Course { timing, start, begins: none };
        let lease = long_lease();
        let half = |met: Met<MemoryPort>, side| {
            let mut beats = 0;
            let mut progress = |beat: usize, _: control::Seen| {
                assert_eq!(beat, beats);
                beats += 1;
            };
            let half = met.run_flow(side, &course, &lease, &mut progress).unwrap();
            (half, beats)
        };
        thread::scope(|scope| {
            let receiving = scope.spawn(|| half(met(servers, Role::Server), Side::Receiver));
            let sent = half(met(clients, Role::Client), Side::Sender(Algorithm::Reno));
            [sent, receiving.join().unwrap()]
        })
    }

    #[test]
    fn both_halves_of_a_flow_count_the_same_payload() {
        let millis = Duration::from_millis;
        let timing = Timing { warm_up: millis(50), steady: millis(150), settle: millis(5000) };
        let [(sent, sent_beats), (received, received_beats)] = halves(&timing);
        let beats = timing.beats().len();
        assert_eq!((sent_beats, received_beats), (beats, beats));
        let (Half::TcpSender(sent), Half::TcpReceiver(received)) = (sent, received) else {
            panic!("other halves")
        };
        let new = |slot: &SenderSlot| slot.sent_bytes - slot.retransmitted_bytes;
        let whole: u64 = sent.slots.iter().map(new).sum();
        assert_eq!(whole, received.whole_good_bytes);
        let arrived: u64 = received.slots.iter().map(|slot| slot.received_bytes).sum();
        assert_eq!(arrived, whole);
        // 20 Mbit/s are 2,500 bytes in a millisecond. Whoever stands still makes up for it, at the end
        // too: what was due by the last byte may have been sent, and a segment of each connection.
        let until_last_byte = Duration::from_nanos(received.whole_until_ns).max(millis(200));
        let of_one = (until_last_byte.as_secs_f64() * 2.5e6) as u64 + 1400;
        assert!(whole > 0 && whole <= u64::from(CONNECTIONS) * of_one, "{whole} of {of_one}");
        let steady: u64 = received.good_bytes.iter().sum();
        assert!(steady > 0 && steady <= whole, "{steady}");
        let counts = [sent.connections.len(), received.good_bytes.len()];
        assert_eq!(counts, [CONNECTIONS as usize; 2]);
        for connection in &sent.connections {
            assert_eq!(connection.congestion_control, "reno");
            assert!(connection.sent_segments > Some(0));
            assert_eq!((connection.busy_ns, connection.send_buffer_limited_ns), (None, None));
        }
        assert_eq!(received.dscp_received, [Some(Dscp::BEST_EFFORT); CONNECTIONS as usize]);
    }

    #[test]
    fn what_figures_cannot_tell_of_ends_the_flow() {
        let sound = Counters::default();
        assert!(expect_sound(&sound, true).is_ok());
        let failed = FailedConnections { reset: 2, ..FailedConnections::default() };
        let failed = Counters { failed, ..sound };
        assert!(expect_sound(&failed, true).unwrap_err().to_string().contains("2 reset"));
        assert!(expect_sound(&failed, false).is_ok(), "the path did not carry it in time");
        let corrupt = Counters { corrupt_payload_bytes: 7, ..sound };
        for is_active in [true, false] {
            let refused = expect_sound(&corrupt, is_active).unwrap_err().to_string();
            assert!(refused.starts_with("7 bytes of payload"), "{refused}");
        }
    }
}

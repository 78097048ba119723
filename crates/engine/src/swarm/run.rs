//! One end's half of a trial: a thread for each shard, from the common start to the end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use fp_model::{ConnectionsReport, StoppedConnections, Time, Timing};
use fp_net::swarm::{Counters, Role, Tally, client_report};

use super::early_stop::{self, EarlyStop};
use super::{Driver, Met, SwarmError};
use crate::Lease;
use crate::frame_io::{FrameIo, PortCounters};
use crate::half::{ConnectionsHalf, ConnectionsSlot};
use crate::open_slots::OpenSlots;
use crate::os::clock;
use crate::os::thread_usage::ThreadUsage;

/// How often the lease is asked.
const LOOK_UP: Duration = Duration::from_millis(20);
/// When the trial is over, so long may be spent on telling everybody between the ends.
const PARTING_MAX: Duration = Duration::from_secs(1);

/// What all shards of one end have in common.
#[derive(Clone, Copy, Debug)]
struct Course<'a> {
    timing: &'a Timing,
    start: Time,
    begins: Duration,
    lease: &'a Lease,
    role: Role,
    /// Set when one of them fails: the others have no use then.
    is_broken: &'a AtomicBool,
}

/// What a shard has come to.
#[derive(Debug)]
struct Ended {
    tally: Tally,
    port: PortCounters,
    stopped: Option<StoppedConnections>,
    /// Of a thread of its own.
    longest_stall: Duration,
    processor_share: f64,
}

impl<Port: FrameIo + Send> Met<Port> {
    pub(crate) const fn role(&self) -> Role {
        self.role
    }

    /// Runs this end's half until the trial is over, or its connections are after they were told to
    /// end. `progress` is told of each beat that passes.
    ///
    /// # Errors
    /// Where the peer is no longer heard, or the interface is gone.
    pub(crate) fn run(
        self,
        timing: &Timing,
        start: Time,
        begins: Duration,
        lease: &Lease,
        progress: &mut dyn FnMut(usize, ConnectionsSlot),
    ) -> Result<ConnectionsHalf, SwarmError> {
        let Self { drivers, role, bytes_total, asked: _asked } = self;
        let is_broken = AtomicBool::new(false);
        let course = Course { timing, start, begins, lease, role, is_broken: &is_broken };
        let mut gathering = Gathering::new(drivers.len(), timing.beats().len(), progress);
        let ended = course.run_all(drivers, &mut gathering)?;
        let slots = gathering.finish();
        let Some(whole) = ended.into_iter().reduce(Ended::and) else {
            unreachable!("a load has at least one part")
        };
        let Ended { tally, port, stopped, longest_stall, processor_share } = whole;
        let client = || ConnectionsReport { stopped, ..client_report(&tally, bytes_total) };
        Ok(ConnectionsHalf {
            client: (role == Role::Client).then(client),
            counters: tally.counters,
            sent_frames: port.sent_frames,
            received_frames: port.received_frames,
            dropped_frames: port.overrun_frames,
            longest_stall_ns: longest_stall.as_nanos() as u64,
            busiest_thread: processor_share,
            slots,
        })
    }
}

impl Ended {
    /// Both shards together.
    fn and(mut self, other: Self) -> Self {
        self.tally.merge(&other.tally);
        self.port.sent_frames += other.port.sent_frames;
        self.port.received_frames += other.port.received_frames;
        self.port.overrun_frames += other.port.overrun_frames;
        self.port.send_refusals += other.port.send_refusals;
        self.stopped = early_stop::beside(self.stopped, other.stopped);
        self.longest_stall = self.longest_stall.max(other.longest_stall);
        self.processor_share = self.processor_share.max(other.processor_share);
        self
    }
}

impl Course<'_> {
    /// The first shard in this thread, the others in threads of their own.
    fn run_all<Port: FrameIo + Send>(
        &self,
        drivers: Vec<Driver<Port>>,
        gathering: &mut Gathering<'_>,
    ) -> Result<Vec<Ended>, SwarmError> {
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            let mut drivers = drivers.into_iter();
            let first = drivers.next();
            let mut others = Vec::with_capacity(drivers.len());
            for (place, driver) in (1..).zip(drivers) {
                let tell = tell.clone();
                let name = format!("shard {place}");
                let shard = thread::Builder::new().name(name);
                let shard = shard.spawn_scoped(scope, move || self.run_beside(driver, &tell));
                others.push(shard.map_err(|error| self.broken(SwarmError::Thread(error)))?);
            }
            let own = first.map(|driver| {
                self.run(driver, &mut |slot, seen| {
                    gathering.add(slot, seen);
                    told.try_iter().for_each(|(slot, seen)| gathering.add(slot, seen));
                })
            });
            // A panic of a shard is one of its flow.
            let others = others
                .into_iter()
                .map(|shard| shard.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            let ended = all_of(own.into_iter().chain(others));
            told.try_iter().for_each(|(slot, seen)| gathering.add(slot, seen));
            ended
        })
    }

    fn run_beside<Port: FrameIo>(
        &self,
        driver: Driver<Port>,
        tell: &Sender<(usize, ConnectionsSlot)>,
    ) -> Result<Ended, SwarmError> {
        let mut usage = ThreadUsage::begin();
        let ended = self.run(driver, &mut |slot, seen| {
            usage.look();
            // Whoever gathers them waits for this thread.
            let _ = tell.send((slot, seen));
        });
        ended.map(|ended| Ended {
            longest_stall: usage.longest_stall(),
            processor_share: usage.processor_share(),
            ..ended
        })
    }

    fn run<Port: FrameIo>(
        &self,
        mut driver: Driver<Port>,
        on_slot: &mut dyn FnMut(usize, ConnectionsSlot),
    ) -> Result<Ended, SwarmError> {
        driver.begin_at(self.start + self.begins);
        let stopped = self.drive(&mut driver, on_slot).map_err(|error| self.broken(error))?;
        let port = driver.port_counters().map_err(SwarmError::Frames)?;
        let tally = driver.shard().tally().clone();
        // Who opened them knows of all; whoever is between the ends need not remember them.
        if self.role == Role::Client {
            driver.abort(clock::now() + PARTING_MAX).map_err(SwarmError::Frames)?;
        }
        Ok(Ended { tally, port, stopped, longest_stall: Duration::ZERO, processor_share: 0.0 })
    }

    fn drive<Port: FrameIo>(
        &self,
        driver: &mut Driver<Port>,
        on_slot: &mut dyn FnMut(usize, ConnectionsSlot),
    ) -> Result<Option<StoppedConnections>, SwarmError> {
        let mut open = OpenSlots::new(self.timing, self.start);
        let mut before = Counters::default();
        let (mut early_stop, mut now) = (None, self.start);
        while let Some(end) = open.next_end() {
            let until = end.min(clock::now() + LOOK_UP);
            driver.step(until).map_err(SwarmError::Frames)?;
            now = clock::now();
            if !self.lease.is_live(now) || self.is_broken.load(Ordering::Relaxed) {
                return Err(SwarmError::Ended);
            }
            while let Some((slot, _)) = open.close_by(now) {
                let after = *driver.shard().counters();
                on_slot(slot, slot_between(&before, &after));
                before = after;
            }
            if open.next_end().is_some() && self.is_wound_down(driver, now, &mut early_stop) {
                on_slot(open.at(now), slot_between(&before, driver.shard().counters()));
                break;
            }
        }
        let ended_at = now.min(open.last_end());
        Ok(early_stop.map(|early_stop| early_stop.ended(self.start, ended_at)))
    }

    /// Whether it was told to end before its time, and has ended.
    fn is_wound_down<Port: FrameIo>(
        &self,
        driver: &mut Driver<Port>,
        now: Time,
        early_stop: &mut Option<EarlyStop>,
    ) -> bool {
        let Some(stop) = self.lease.winding_down(self.role).filter(|_| now > self.start) else {
            return false;
        };
        let told = (self.role, stop);
        let early_stop = early_stop.get_or_insert_with(|| EarlyStop::begin(driver, told, now));
        early_stop.is_over(driver, self.timing.settle, now)
    }

    fn broken(&self, error: SwarmError) -> SwarmError {
        self.is_broken.store(true, Ordering::Relaxed);
        error
    }
}

/// All of them, or why not: where one failed, the others were broken off.
fn all_of(
    shards: impl Iterator<Item = Result<Ended, SwarmError>>,
) -> Result<Vec<Ended>, SwarmError> {
    let (mut all, mut failure) = (Vec::new(), None);
    for shard in shards {
        match shard {
            Ok(ended) => all.push(ended),
            // The first one that says why.
            Err(error) => match &failure {
                None | Some(SwarmError::Ended) => failure = Some(error),
                Some(_) => {}
            },
        }
    }
    failure.map_or(Ok(all), Err)
}

fn slot_between(before: &Counters, after: &Counters) -> ConnectionsSlot {
    ConnectionsSlot {
        active: after.active,
        pending: after.pending,
        attempted: after.attempted - before.attempted,
        established: after.established - before.established,
        closed: after.closed - before.closed,
        failed: after.failed.total() - before.failed.total(),
        transactions: after.transactions - before.transactions,
        received_bytes: after.received_bytes - before.received_bytes,
    }
}

/// The slots of all shards, put together as they come and told on in their order.
struct Gathering<'a> {
    shards: usize,
    slots: Vec<ConnectionsSlot>,
    /// How many shards have told of each.
    told_by: Vec<usize>,
    /// Those before it have been told on.
    next: usize,
    progress: &'a mut dyn FnMut(usize, ConnectionsSlot),
}

impl<'a> Gathering<'a> {
    fn new(
        shards: usize,
        slots: usize,
        progress: &'a mut dyn FnMut(usize, ConnectionsSlot),
    ) -> Self {
        let (slots, told_by) = (vec![ConnectionsSlot::default(); slots], vec![0; slots]);
        Self { shards, slots, told_by, next: 0, progress }
    }

    /// All that was told of: who was over before its time has told of its last slot's part, and who
    /// was so before the others has told of fewer slots.
    fn finish(mut self) -> Vec<ConnectionsSlot> {
        let told = self.told_by.iter().rposition(|shards| *shards > 0).map_or(0, |last| last + 1);
        for slot in self.next..told {
            (self.progress)(slot, self.slots[slot]);
        }
        self.slots.truncate(told);
        self.slots
    }

    fn add(&mut self, slot: usize, seen: ConnectionsSlot) {
        self.slots[slot] = self.slots[slot].beside(seen);
        self.told_by[slot] += 1;
        while self.told_by.get(self.next) == Some(&self.shards) {
            (self.progress)(self.next, self.slots[self.next]);
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use fp_model::{Behaviour, ConnectionsLoad, ConnectionsShare, ConnectionsStage, Family};
    use fp_net::packet::MacAddress;
    use fp_net::swarm::{Stop, shares_by_client_port};

    use super::*;
    use crate::frame_io::MemoryPort;
    use crate::swarm::tests::{driver, load};
    use crate::udp::tests::long_lease;

    /// Clients and servers: two shards at each end, with a cable for each part of the load.
    fn both_ends(whole: &ConnectionsLoad) -> [Met<MemoryPort>; 2] {
        let (mut clients, mut servers) = (Vec::new(), Vec::new());
        for load in &shares_by_client_port(whole, 2) {
            let [near, far] = MemoryPort::pair();
            let [near_mac, far_mac] = [near.mac(), far.mac()].map(MacAddress);
            clients.push(driver(near, far_mac, Role::Client, load, Family::Ipv4));
            servers.push(driver(far, near_mac, Role::Server, load, Family::Ipv4));
        }
        let met = |drivers, role| Met { drivers, role, bytes_total: 92_000, asked: None };
        [met(clients, Role::Client), met(servers, Role::Server)]
    }

    #[test]
    fn the_shards_of_an_end_are_counted_together() {
        const CONNECTIONS: u32 = 1000;
        let millis = Duration::from_millis;
        let mut whole = load(Family::Ipv4, 2, 3);
        let stage = |lasts, connections| ConnectionsStage { lasts: millis(lasts), connections };
        whole.stages = vec![stage(100, CONNECTIONS), stage(200, CONNECTIONS), stage(0, 0)];
        let think = Duration::from_secs(3600);
        let behaviour = Behaviour::Transaction { request_bytes: 100, response_bytes: 200, think };
        whole.mix = vec![ConnectionsShare { weight: 1, behaviour }];
        let [clients, servers] = both_ends(&whole);
        let timing = Timing { warm_up: millis(100), steady: millis(300), settle: millis(300) };
        let (start, lease) = (clock::now() + millis(20), long_lease());
        let run = |met: Met<MemoryPort>| {
            let mut told = Vec::new();
            let mut progress = |slot, seen: ConnectionsSlot| told.push((slot, seen));
            let half = met.run(&timing, start, Duration::ZERO, &lease, &mut progress).unwrap();
            let slots: Vec<usize> = told.iter().map(|(slot, _)| *slot).collect();
            assert_eq!(slots, (0..timing.beats().len()).collect::<Vec<_>>());
            let seen: Vec<ConnectionsSlot> = told.into_iter().map(|(_, seen)| seen).collect();
            assert_eq!(seen, half.slots);
            half
        };
        let (client, server) = thread::scope(|scope| {
            let serving = scope.spawn(|| run(servers));
            (run(clients), serving.join().unwrap())
        });
        let all = u64::from(CONNECTIONS);
        for counters in [&client.counters, &server.counters] {
            let Counters { attempted, established, closed, transactions, .. } = *counters;
            assert_eq!([attempted, established, closed, transactions], [all; 4], "{counters:?}");
        }
        assert_eq!(server.counters.received_bytes, 100 * all);
        assert_eq!(client.slots.iter().map(|slot| slot.established).sum::<u64>(), all);
        assert_eq!(client.sent_frames, server.received_frames);
        assert_eq!(server.sent_frames, client.received_frames);
        assert!(client.client.is_some() && server.client.is_none());
    }

    /// In the middle of what would last for an hour.
    #[test]
    fn who_is_told_to_stop_closes_what_is_open_and_tells_what_there_was() {
        const CONNECTIONS: u32 = 1000;
        let millis = Duration::from_millis;
        let hour = Duration::from_secs(3600);
        let mut whole = load(Family::Ipv4, 2, 3);
        let stage = |lasts| ConnectionsStage { lasts, connections: CONNECTIONS };
        whole.stages = vec![stage(millis(100)), stage(hour)];
        whole.mix = vec![ConnectionsShare { weight: 1, behaviour: Behaviour::Hold }];
        let timing = Timing { warm_up: Duration::ZERO, steady: hour, settle: millis(500) };
        for stop in [Stop::RampDown, Stop::Abort] {
            let [clients, servers] = both_ends(&whole);
            let (start, lease) = (clock::now() + millis(20), long_lease());
            let run = |met: Met<MemoryPort>, progress: &mut dyn FnMut(usize, ConnectionsSlot)| {
                met.run(&timing, start, Duration::ZERO, &lease, progress).unwrap()
            };
            let (client, server) = thread::scope(|scope| {
                let serving = scope.spawn(|| run(servers, &mut |_, _| ()));
                let client = run(clients, &mut |_, seen| {
                    if seen.active == CONNECTIONS {
                        lease.wind_down(Role::Client, stop);
                    }
                });
                lease.wind_down(Role::Server, stop);
                (client, serving.join().unwrap())
            });
            let all = u64::from(CONNECTIONS);
            let Counters { attempted, established, closed, active, .. } = client.counters;
            assert_eq!([attempted, established, closed], [all; 3], "{:?}", client.counters);
            assert_eq!((active, server.counters.active), (0, 0));
            let stopped = client.client.unwrap().stopped.unwrap();
            assert_eq!((stopped.active, stopped.is_abort), (CONNECTIONS, stop == Stop::Abort));
            assert!(stopped.at >= millis(100) && stopped.at <= stopped.until);
            let slots = client.slots.len();
            let last = timing.beats()[slots - 1];
            assert!(last.start <= stopped.until && stopped.until <= last.end, "{stopped:?}");
            assert_eq!(client.slots.iter().map(|slot| slot.closed).sum::<u64>(), all);
            assert_eq!(client.slots.last().unwrap().active, 0);
            assert!(server.slots.len() >= slots);
        }
    }

    #[test]
    fn slots_are_told_on_in_their_order_when_all_shards_have_told_of_them() {
        let mut told = Vec::new();
        let mut progress = |slot, seen: ConnectionsSlot| told.push((slot, seen.active));
        let mut gathering = Gathering::new(2, 3, &mut progress);
        let seen = |active| ConnectionsSlot { active, ..ConnectionsSlot::default() };
        // The second shard is ahead of the first one, and then behind it.
        for (slot, active) in [(0, 1), (1, 10), (0, 2), (1, 20), (2, 100), (2, 200)] {
            gathering.add(slot, seen(active));
        }
        let active: Vec<u32> = gathering.slots.iter().map(|slot| slot.active).collect();
        assert_eq!(active, [3, 30, 300]);
        assert_eq!(told, [(0, 3), (1, 30), (2, 300)]);
    }

    #[test]
    fn the_shard_that_says_why_is_believed_before_those_that_were_broken_off() {
        let failed = |error| Err(SwarmError::Thread(std::io::Error::other(error)));
        let outcome =
            all_of([Err(SwarmError::Ended), failed("first"), failed("second")].into_iter());
        assert!(outcome.unwrap_err().to_string().contains("first"));
        let outcome = all_of([Err(SwarmError::Ended), Err(SwarmError::Ended)].into_iter());
        assert!(matches!(outcome, Err(SwarmError::Ended)));
    }
}

//! One shard over one packet port: what arrived goes in, what is due goes out, and else it waits.

use std::io;
use std::time::Duration;

use fp_model::Time;
use fp_net::swarm::{Outbox, Shard, Stop};

use crate::frame_io::{FrameBatch, FrameIo, PortCounters};
use crate::os::clock;

/// A shard and the port by which it meets its peer.
#[derive(Debug)]
pub struct Driver<Port> {
    port: Port,
    shard: Shard,
    outbox: Outbox,
    lens: Vec<u16>,
}

/// As many as a receive queue of a veth pair takes without losing one of several batches.
const FRAMES_MAX: usize = 64;
/// A port that has no room has some after a while.
const NO_ROOM_PAUSE: Duration = Duration::from_micros(100);

impl<Port: FrameIo> Driver<Port> {
    pub fn new(port: Port, shard: Shard) -> Self {
        let outbox = Outbox::new(FRAMES_MAX, shard.frame_bytes_max());
        Self { port, shard, outbox, lens: Vec::with_capacity(FRAMES_MAX) }
    }

    pub const fn shard(&self) -> &Shard {
        &self.shard
    }

    /// For what is to be settled before it begins.
    pub(super) const fn shard_mut(&mut self) -> &mut Shard {
        &mut self.shard
    }

    /// For what is to be done before it begins.
    pub(super) const fn port(&mut self) -> &mut Port {
        &mut self.port
    }

    /// # Panics
    /// Where it has begun already.
    pub fn begin_at(&mut self, start: Time) {
        self.shard.begin_at(start);
    }

    /// # Errors
    /// Where the kernel does not tell.
    pub fn port_counters(&mut self) -> io::Result<PortCounters> {
        self.port.counters()
    }

    /// Takes a batch of what has arrived, does what is due and sends a batch; where there was
    /// nothing of all that, waits until there is, but not beyond `until`.
    ///
    /// # Errors
    /// Where the interface is down or gone.
    pub fn step(&mut self, until: Time) -> io::Result<()> {
        let Self { port, shard, outbox, .. } = self;
        // Of each by itself: an earlier time would make round trips shorter than they are.
        let arrived = port.receive(|frame| shard.on_frame(clock::now(), frame.bytes, outbox))?;
        let now = clock::now();
        shard.poll(now, outbox);
        let sent = self.send()?;
        if arrived > 0 || sent > 0 {
            return Ok(());
        }
        let due = match self.outbox.is_empty() {
            true => self.shard.next_due(now).unwrap_or(until),
            false => now + NO_ROOM_PAUSE,
        };
        self.port.wait(due.min(until))
    }

    /// Has all connections end.
    pub(super) fn stop(&mut self, stop: Stop) {
        self.shard.stop(stop);
    }

    /// It was stopped, no connection is left, and nothing is left to be sent.
    pub(super) fn is_over(&self) -> bool {
        self.shard.is_over() && self.outbox.is_empty()
    }

    /// Breaks off what is still open and tells the peers and all between, until `until` at most.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn abort(&mut self, until: Time) -> io::Result<()> {
        self.shard.stop(Stop::Abort);
        while !self.is_over() && clock::now() < until {
            self.step(until)?;
        }
        Ok(())
    }

    /// Gives how many have left.
    fn send(&mut self) -> io::Result<usize> {
        if self.outbox.is_empty() {
            return Ok(0);
        }
        self.lens.clear();
        self.lens.extend(self.outbox.frames().map(|frame| frame.len() as u16));
        let sent = self.port.send(FrameBatch::new(self.outbox.bytes(), &self.lens))?;
        self.outbox.on_sent(sent);
        Ok(sent)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use fp_model::{Behaviour, ConnectionsShare, ConnectionsStage, Family};
    use fp_net::packet::MacAddress;
    use fp_net::swarm::{Counters, Role};

    use super::*;
    use crate::frame_io::MemoryPort;
    use crate::swarm::tests::{driver, load};

    const CONNECTIONS: u32 = 1000;

    fn step(driver: &mut Driver<MemoryPort>) {
        driver.step(clock::now() + Duration::from_millis(2)).unwrap();
    }

    /// All at once, each asks and is answered, all are closed.
    #[test]
    fn two_ends_open_speak_to_and_close_connections_and_no_frame_is_missing() {
        let mut load = load(Family::Ipv6, 2, 3);
        let stage = |millis, connections| ConnectionsStage {
            lasts: Duration::from_millis(millis),
            connections,
        };
        load.stages = vec![stage(0, CONNECTIONS), stage(300, CONNECTIONS), stage(0, 0)];
        let think = Duration::from_secs(3600);
        let behaviour = Behaviour::Transaction { request_bytes: 10, response_bytes: 5000, think };
        load.mix = vec![ConnectionsShare { weight: 1, behaviour }];
        let [near, far] = MemoryPort::pair();
        let [near_mac, far_mac] = [near.mac(), far.mac()].map(MacAddress);
        let mut client = driver(near, far_mac, Role::Client, &load, Family::Ipv6);
        let mut server = driver(far, near_mac, Role::Server, &load, Family::Ipv6);
        let all = u64::from(CONNECTIONS);
        let is_over = AtomicBool::new(false);
        let deadline = clock::now() + Duration::from_secs(20);
        thread::scope(|scope| {
            let serving = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) && clock::now() < deadline {
                    step(&mut server);
                }
                // What was on its way when the client's end was done.
                let quiet = clock::now() + Duration::from_millis(50);
                while clock::now() < quiet {
                    step(&mut server);
                }
            });
            while client.shard().counters().closed < all && clock::now() < deadline {
                step(&mut client);
            }
            is_over.store(true, Ordering::Relaxed);
            serving.join().unwrap();
            while client.port.receive(|_| ()).unwrap() > 0 {}
        });
        for counters in [client.shard().counters(), server.shard().counters()] {
            let Counters { attempted, established, closed, transactions, .. } = *counters;
            assert_eq!([attempted, established, closed, transactions], [all; 4], "{counters:?}");
            assert_eq!((counters.bad_checksums, counters.corrupt_payload_bytes), (0, 0));
        }
        assert_eq!(server.shard().counters().received_bytes, 10 * all);
        assert_eq!(client.shard().counters().received_bytes, 5000 * all);
        let (near, far) = (client.port_counters().unwrap(), server.port_counters().unwrap());
        assert_eq!(
            (near.sent_frames, far.sent_frames),
            (far.received_frames, near.received_frames)
        );
    }
}

//! Two ports joined in memory: what the cheapest interface could do.

use std::io;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fp_model::Time;

use super::{ArrivedFrame, FrameBatch, FrameIo, PortCounters, RECEIVE_BATCH, TransportChecksum};
use crate::os::clock;
use crate::os::netlink::Mac;

/// One end of a cable in memory that loses nothing: where it is full, sending has to wait.
#[derive(Debug)]
pub struct MemoryPort {
    mac: Mac,
    incoming: Arc<Queue>,
    outgoing: Arc<Queue>,
    /// Taken from the cable, of which the first frames have been shown.
    arrived: Frames,
    shown: Shown,
    counters: PortCounters,
}

/// One direction of the cable.
#[derive(Debug, Default)]
struct Queue {
    frames: Mutex<Frames>,
    arrival: Condvar,
}

#[derive(Debug, Default)]
struct Frames {
    bytes: Vec<u8>,
    lens: Vec<u16>,
    /// Whether somebody has to be woken by what arrives.
    is_awaited: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    frames: usize,
    bytes: usize,
}

impl MemoryPort {
    /// The most frames that are under way in one direction and have not been taken off the cable.
    pub const SLOTS: usize = 8192;

    pub fn pair() -> [Self; 2] {
        let (there, back) = (Arc::<Queue>::default(), Arc::<Queue>::default());
        let end = |last, incoming, outgoing| Self {
            mac: [0x02, 0, 0, 0, 0, last],
            incoming,
            outgoing,
            arrived: Frames::default(),
            shown: Shown::default(),
            counters: PortCounters::default(),
        };
        [end(1, Arc::clone(&back), Arc::clone(&there)), end(2, there, back)]
    }

    const fn has_shown_all(&self) -> bool {
        self.shown.frames == self.arrived.lens.len()
    }

    /// Takes all that is on the cable at once, so that both ends meet seldom.
    fn take_arrivals(&mut self) {
        self.arrived.clear();
        self.shown = Shown::default();
        let mut frames = self.incoming.lock();
        mem::swap(&mut frames.bytes, &mut self.arrived.bytes);
        mem::swap(&mut frames.lens, &mut self.arrived.lens);
    }
}

impl FrameIo for MemoryPort {
    fn mac(&self) -> Mac {
        self.mac
    }

    fn receive(&mut self, mut on_frame: impl FnMut(ArrivedFrame<'_>)) -> io::Result<usize> {
        if self.has_shown_all() {
            self.take_arrivals();
        }
        let lens = &self.arrived.lens[self.shown.frames..];
        let batch = &lens[..lens.len().min(RECEIVE_BATCH)];
        for len in batch {
            let (from, until) = (self.shown.bytes, self.shown.bytes + usize::from(*len));
            let bytes = &self.arrived.bytes[from..until];
            on_frame(ArrivedFrame { bytes, checksum: TransportChecksum::Whole });
            self.shown.bytes = until;
        }
        self.shown.frames += batch.len();
        self.counters.received_frames += batch.len() as u64;
        Ok(batch.len())
    }

    fn send(&mut self, frames: FrameBatch<'_>) -> io::Result<usize> {
        let mut cable = self.outgoing.lock();
        let taken = frames.len().min(Self::SLOTS - cable.lens.len());
        let bytes = frames.bytes.len() - frames.after(taken).bytes.len();
        cable.bytes.extend_from_slice(&frames.bytes[..bytes]);
        cable.lens.extend_from_slice(&frames.lens[..taken]);
        if mem::take(&mut cable.is_awaited) {
            self.outgoing.arrival.notify_one();
        }
        self.counters.sent_frames += taken as u64;
        self.counters.send_refusals += u64::from(taken < frames.len());
        Ok(taken)
    }

    fn wait(&mut self, until: Time) -> io::Result<()> {
        if !self.has_shown_all() {
            return Ok(());
        }
        let mut cable = self.incoming.lock();
        while cable.lens.is_empty() {
            let now = clock::now();
            if now >= until {
                break;
            }
            cable.is_awaited = true;
            let waited = self.incoming.arrival.wait_timeout(cable, until.since(now));
            cable = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        cable.is_awaited = false;
        Ok(())
    }

    fn counters(&mut self) -> io::Result<PortCounters> {
        Ok(self.counters)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Frames> {
        // Whoever panicked had added whole frames or none: nothing that can panic is between.
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Frames {
    fn clear(&mut self) {
        self.bytes.clear();
        self.lens.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// As many frames of several lengths, each of its own bytes.
    fn frames(count: u16) -> (Vec<u8>, Vec<u16>) {
        let lens: Vec<u16> = (0..count).map(|i| 60 + i % 7).collect();
        let bytes = lens.iter().zip(0_u8..=u8::MAX).flat_map(|(len, i)| vec![i; (*len).into()]);
        (bytes.collect(), lens)
    }

    fn received(port: &mut MemoryPort) -> (Vec<u8>, Vec<u16>) {
        let (mut bytes, mut lens) = (Vec::new(), Vec::new());
        loop {
            let shown = port.receive(|frame| {
                bytes.extend_from_slice(frame.bytes);
                lens.push(frame.bytes.len() as u16);
            });
            if shown.unwrap() == 0 {
                return (bytes, lens);
            }
        }
    }

    #[test]
    fn what_one_end_sends_the_other_receives_and_nobody_else() {
        let [mut near, mut far] = MemoryPort::pair();
        let (there, back) = (frames(200), frames(3));
        assert_eq!(near.send(FrameBatch::new(&there.0, &there.1)).unwrap(), 200);
        assert_eq!(far.send(FrameBatch::new(&back.0, &back.1)).unwrap(), 3);
        assert_eq!(received(&mut far), there);
        assert_eq!(received(&mut near), back);
        assert_eq!(received(&mut far), (vec![], vec![]));
        let counters = far.counters().unwrap();
        assert_eq!((counters.received_frames, counters.sent_frames), (200, 3));
    }

    #[test]
    fn a_full_cable_takes_no_more_until_the_other_end_has_received() {
        let [mut near, mut far] = MemoryPort::pair();
        let (bytes, lens) = (vec![0; 60 * 5000], vec![60; 5000]);
        let batch = FrameBatch::new(&bytes, &lens);
        assert_eq!(near.send(batch).unwrap(), 5000);
        assert_eq!(near.send(batch).unwrap(), MemoryPort::SLOTS - 5000);
        assert_eq!(near.send(batch).unwrap(), 0);
        assert_eq!(near.counters().unwrap().send_refusals, 2);
        assert_eq!(received(&mut far).1.len(), MemoryPort::SLOTS);
        assert_eq!(near.send(batch).unwrap(), 5000);
    }

    #[test]
    fn a_port_waits_until_its_time_or_a_frame() {
        let [mut near, mut far] = MemoryPort::pair();
        let until = clock::now() + Duration::from_millis(2);
        far.wait(until).unwrap();
        assert!(clock::now() >= until);
        let waiting = thread::spawn(move || {
            far.wait(clock::now() + Duration::from_secs(600)).unwrap();
            received(&mut far).1
        });
        near.send(FrameBatch::new(&[7; 60], &[60])).unwrap();
        assert_eq!(waiting.join().unwrap(), [60]);
    }
}

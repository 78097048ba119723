//! The end that sends: each frame when it is due, or not at all.

use std::io;
use std::sync::Arc;

use fp_model::{FramesLoad, Slot, Time, Timing};
use fp_net::stream::{DepartureTally, Due, PendingFrames, Schedule};

use super::outlet::{Outgoing, Outlet};
use super::{HEAD_BYTES, Head, Stream};
use crate::half::{FramesSenderHalf, SenderSlot};
use crate::os::udp::{self, BATCH};
use crate::udp::{FrameError, Kind, ProvenSocket};

/// Sends the frames of a flow when they are due, and says slot by slot how many left.
///
/// A frame belongs to the slot in which it was due. It leaves by a system call of its own as long
/// as that keeps up with the rate; frames that are overdue share a call, 32 at most.
/// One 2 GHz core keeps up with 1.1 million whole frames of 64 bytes a second, 900,000 through a UDP
/// socket, or 9 Gbit/s of 1518 bytes.
#[derive(Debug)]
pub(super) struct FrameSender {
    outlet: Outlet,
    schedule: Arc<Schedule>,
    pending: PendingFrames,
    start: Time,
    departures: DepartureTally,
    mark: [u8; 4],
    /// How many frames have the lengths of the cycle, one after the other.
    cycle_frames: u64,
    beats: Vec<Slot>,
    /// Those of the beats that are over.
    slots: Vec<SenderSlot>,
    /// In the beat that is not.
    sent_bytes: u64,
}

impl FrameSender {
    /// # Errors
    /// Frames too short or too long.
    pub(super) fn new(
        proven: ProvenSocket,
        stream: Stream<'_, FramesLoad>,
        timing: &Timing,
        start: Time,
    ) -> Result<Self, FrameError> {
        let schedule = Arc::new(Schedule::begun_after(stream.begins, stream.load, timing));
        let payloads_bytes = stream.payloads_bytes()?;
        let cycle_frames = payloads_bytes.len() as u64;
        let mark = proven.mark(Kind::Frame);
        let outlet = Outlet::open(proven, &payloads_bytes, schedule.peak_frames_per_second());
        Ok(Self {
            outlet,
            pending: PendingFrames::of(&schedule),
            start,
            departures: DepartureTally::new(Arc::clone(&schedule)),
            schedule,
            mark,
            cycle_frames,
            beats: timing.beats(),
            slots: Vec::new(),
            sent_bytes: 0,
        })
    }

    pub(super) fn peak_frames_per_second(&self) -> u64 {
        self.schedule.peak_frames_per_second()
    }

    pub(super) fn finish(self) -> FramesSenderHalf {
        let sent_by = self.outlet.sent_by();
        let packet_sockets_refused = self.outlet.packet_sockets_refused();
        let frames = self.departures.finish(sent_by);
        FramesSenderHalf { frames, packet_sockets_refused, slots: self.slots }
    }

    /// When there is something to do; `None` when the flow is over.
    pub(super) fn next_instant(&mut self, now: Time) -> Option<Time> {
        let slot = self.beats.get(self.slots.len())?;
        Some(match self.pending.next(now.since(self.start)) {
            Some(due) if due.at < slot.end => self.start + self.pending.leaves_at(due),
            Some(_) => self.start + slot.end,
            // Nothing is ever due again.
            None => now,
        })
    }

    /// Does what there is to do at its instant: sends what is due, or ends a slot, and says which.
    ///
    /// # Errors
    /// Frames that are longer than any packet, a socket that fails.
    pub(super) fn proceed(
        &mut self,
        now: Time,
        may_send: bool,
    ) -> Result<Option<(usize, SenderSlot)>, FrameError> {
        let index = self.slots.len();
        let Some(slot) = self.beats.get(index).copied() else { return Ok(None) };
        let mut together = [Due::default(); BATCH];
        let passed = now.since(self.start);
        if let Some(count) = self.pending.take(passed, slot.end, &mut together) {
            self.sent_bytes += match may_send {
                true => self.send_frames(&together[..count], now)?,
                false => self.count_as_lost(&together[..count], now),
            };
            return Ok(None);
        }
        let seen = SenderSlot { sent_bytes: self.sent_bytes, ..SenderSlot::default() };
        self.sent_bytes = 0;
        self.slots.push(seen);
        Ok(Some((index, seen)))
    }

    /// Returns how many bytes left; frames that find no room in the host are not tried again.
    fn send_frames(&mut self, together: &[Due], now: Time) -> Result<u64, FrameError> {
        const TRIES: u32 = 3;
        let (mut sent_bytes, mut tries) = (0, 0);
        let mut waiting = together;
        while let Some((first, others)) = waiting.split_first() {
            match self.send_batch(waiting, now) {
                Ok(count) => {
                    let (left, rest) = waiting.split_at(count);
                    let left_at = now.since(self.start);
                    let bytes = left.iter().map(|due| self.departures.on_departure(*due, left_at));
                    sent_bytes += bytes.sum::<u64>();
                    (waiting, tries) = (rest, 0);
                }
                // News of an earlier frame comes in place of sending this one: once more.
                Err(error) if udp::is_about_an_earlier_datagram(&error) && tries < TRIES => {
                    tries += 1;
                }
                Err(error) if udp::is_too_big(&error) => {
                    let frame_bytes = self.schedule.sizes().of(first.sequence);
                    return Err(FrameError::FrameTooLong { frame_bytes });
                }
                // No route, or an interface that is down: the path under test begins at the host's
                // own interface, so that the frame is lost on it.
                Err(error) if udp::is_without_a_way(&error) => {
                    sent_bytes += self.departures.on_departure(*first, now.since(self.start));
                    (waiting, tries) = (others, 0);
                }
                Err(error)
                    if udp::is_out_of_room(&error) || udp::is_about_an_earlier_datagram(&error) =>
                {
                    (waiting, tries) = (others, 0);
                }
                Err(source) => {
                    return Err(FrameError::Socket { doing: "send UDP frames", source });
                }
            }
        }
        Ok(sent_bytes)
    }

    /// Counts frames as sent that may not leave, so that they count as lost: they were due on a path
    /// over which the peer is not heard.
    fn count_as_lost(&mut self, together: &[Due], now: Time) -> u64 {
        let left_at = now.since(self.start);
        together.iter().map(|due| self.departures.on_departure(*due, left_at)).sum()
    }

    fn send_batch(&self, batch: &[Due], now: Time) -> io::Result<usize> {
        let mut frames = [Outgoing { place: 0, head: [0; HEAD_BYTES] }; BATCH];
        let mut leaving = 0;
        for (frame, Due { sequence, .. }) in frames.iter_mut().zip(batch.iter().copied()) {
            let unsent_before = self.departures.unsent_before(sequence, leaving);
            leaving += u64::from(sequence >= self.schedule.steady_from());
            let head = Head { sequence, unsent_before, sent_at: now.since(self.start) };
            frame.head = head.marked(self.mark);
            frame.place = (sequence % self.cycle_frames) as usize;
        }
        self.outlet.send(&frames[..batch.len()])
    }
}

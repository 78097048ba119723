//! The end that sends: each frame when it is due, or not at all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fp_model::{FramesLoad, Slot, Time, Timing};
use fp_net::stream::{Cursor, DepartureTally, Due, Schedule};

use super::outlet::{Outgoing, Outlet};
use super::{HEAD_BYTES, Head, Stream};
use crate::half::{FramesSenderHalf, SenderSlot};
use crate::os::udp::{self, BATCH};
use crate::udp::{FrameError, Kind, ProvenSocket};

/// A frame later than this is not sent at all. Frames held up by the host leave back to back when
/// it lets go, and a longer burst of them could overflow a policer that is to be measured: better
/// to say that they were not sent than to blame the network for their loss.
const LATENESS_MAX: Duration = Duration::from_millis(5);

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
    dues: Dues,
    start: Time,
    departures: DepartureTally,
    catch_up: CatchUp,
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
            dues: Dues::of(&schedule),
            start,
            departures: DepartureTally::new(Arc::clone(&schedule)),
            schedule,
            catch_up: CatchUp::default(),
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
        // At once, however many they are: a host that cannot keep up would never get past them.
        self.dues.pass_over_before(now.since(self.start).saturating_sub(LATENESS_MAX));
        Some(match self.dues.next {
            Some(due) if due.at < slot.end => self.start + self.catch_up.leaves_at(due.at),
            Some(_) => self.start + slot.end,
            // Nothing is ever due again.
            None => now,
        })
    }

    /// Does what there is to do at its instant: sends what is due, or ends a slot, and says which.
    ///
    /// # Errors
    /// Frames that are longer than any packet, a socket that fails.
    pub(super) fn proceed(&mut self, now: Time) -> Result<Option<(usize, SenderSlot)>, FrameError> {
        let index = self.slots.len();
        let Some(slot) = self.beats.get(index).copied() else { return Ok(None) };
        if let Some(first) = self.dues.take_if(|due| due.at < slot.end) {
            self.sent_bytes += self.send_from(first, slot, now)?;
            return Ok(None);
        }
        let seen = SenderSlot { sent_bytes: self.sent_bytes, ..SenderSlot::default() };
        self.sent_bytes = 0;
        self.slots.push(seen);
        Ok(Some((index, seen)))
    }

    /// Sends this frame and those that are overdue with it; returns how many bytes left.
    fn send_from(&mut self, first: Due, slot: Slot, now: Time) -> Result<u64, FrameError> {
        let passed = now.since(self.start);
        let mut together = [first; BATCH];
        let mut count = 0;
        let mut next = Some(first);
        while let Some(due) = next {
            self.catch_up.on_departure(due.at, passed);
            if passed.saturating_sub(due.at) <= LATENESS_MAX {
                together[count] = due;
                count += 1;
            }
            let catch_up = self.catch_up;
            let is_overdue = |due: &Due| due.at < slot.end && catch_up.leaves_at(due.at) <= passed;
            next = if count < BATCH { self.dues.take_if(is_overdue) } else { None };
        }
        self.send_frames(&together[..count], now)
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

/// How frames that the host has held up for a moment leave: one by one, at most half as fast again as
/// they were due, and not as a burst. What is left of a longer stall leaves at once, for a busy host
/// may not let go for long enough to spread it.
#[derive(Clone, Copy, Debug, Default)]
struct CatchUp {
    last_due: Duration,
    /// How much later than due the last frame left.
    late: Duration,
}

impl CatchUp {
    const SPREAD_MAX: Duration = Duration::from_micros(250);
    /// Frames closer than this share a call as soon as one is late.
    const GAP_MIN: Duration = Duration::from_micros(3);

    fn leaves_at(self, due: Duration) -> Duration {
        let gap = due.saturating_sub(self.last_due);
        if gap < Self::GAP_MIN {
            return due;
        }
        due + self.late.saturating_sub(gap / 3).min(Self::SPREAD_MAX)
    }

    const fn on_departure(&mut self, due: Duration, left_at: Duration) {
        (self.last_due, self.late) = (due, left_at.saturating_sub(due));
    }
}

/// The frames of a schedule, of which the next one is known.
#[derive(Debug)]
struct Dues {
    schedule: Arc<Schedule>,
    after: Cursor,
    next: Option<Due>,
}

impl Dues {
    fn of(schedule: &Arc<Schedule>) -> Self {
        let mut after = schedule.cursor_at(Duration::ZERO);
        let next = schedule.next(&mut after);
        Self { schedule: Arc::clone(schedule), after, next }
    }

    fn take_if(&mut self, is_wanted: impl FnOnce(&Due) -> bool) -> Option<Due> {
        let due = self.next.filter(is_wanted)?;
        self.next = self.schedule.next(&mut self.after);
        Some(due)
    }

    fn pass_over_before(&mut self, time: Duration) {
        if self.next.is_some_and(|due| due.at < time) {
            self.after = self.schedule.cursor_at(time);
            self.next = self.schedule.next(&mut self.after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn micros(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    /// When the frames that follow leave, if each leaves when it may.
    fn departures(mut catch_up: CatchUp, dues: impl Iterator<Item = u64>) -> Vec<u128> {
        dues.map(|due| {
            let left_at = catch_up.leaves_at(micros(due));
            catch_up.on_departure(micros(due), left_at);
            left_at.as_nanos()
        })
        .collect()
    }

    #[test]
    fn a_moment_that_was_lost_is_caught_up_in_two_more() {
        // A frame every 30 µs; the one due at 300 µs left 60 µs late.
        let late = CatchUp { last_due: micros(300), late: micros(60) };
        let left_at = departures(late, (330..=510).step_by(30));
        // Two thirds of 30 µs apart, until they are on time after 120 µs.
        let expected = [380_000, 400_000, 420_000, 440_000, 460_000, 480_000, 510_000];
        assert_eq!(left_at, expected);
    }

    #[test]
    fn of_a_long_stall_all_but_a_quarter_of_a_millisecond_is_caught_up_at_once() {
        let late = CatchUp { last_due: micros(0), late: micros(3000) };
        let left_at = departures(late, [100, 2700, 2800].into_iter());
        // 250 µs after they were due, and then a third of the gap earlier each time.
        assert_eq!(left_at, [350_000, 2_700_000, 2_800_000]);
        // What was due while the host stood still may leave as soon as it goes on, at 3,000 µs.
        assert!(late.leaves_at(micros(2750)) <= micros(3000));
        assert!(late.leaves_at(micros(2751)) > micros(3000));
    }

    #[test]
    fn frames_a_microsecond_apart_leave_together_once_they_are_late() {
        let late = CatchUp { last_due: micros(10), late: micros(50) };
        assert_eq!(departures(late, 11..14), [11_000, 12_000, 13_000]);
    }
}

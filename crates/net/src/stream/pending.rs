//! The frames of a stream that have not left yet, and how a sender that was held up catches up.

use alloc::sync::Arc;
use core::time::Duration;

use super::schedule::{Cursor, Due, Schedule};

/// A frame later than this is not sent at all. Frames held up by the host leave back to back when
/// it lets go, and a longer burst of them could overflow a policer that is to be measured: better
/// to say that they were not sent than to blame the network for their loss.
const LATENESS_MAX: Duration = Duration::from_millis(5);

/// The frames of a schedule that have not left, in their order.
#[derive(Debug)]
pub struct PendingFrames {
    schedule: Arc<Schedule>,
    after: Cursor,
    next: Option<Due>,
    catch_up: CatchUp,
}

impl PendingFrames {
    pub fn of(schedule: &Arc<Schedule>) -> Self {
        let mut after = schedule.cursor_at(Duration::ZERO);
        let next = schedule.next(&mut after);
        Self { schedule: Arc::clone(schedule), after, next, catch_up: CatchUp::default() }
    }

    /// The next frame, so long after the start of the trial; those that are too late to be sent are
    /// left out at once, however many they are: a host that cannot keep up would never get past them.
    pub fn next(&mut self, passed: Duration) -> Option<Due> {
        let earliest = passed.saturating_sub(LATENESS_MAX);
        if self.next.is_some_and(|due| due.at < earliest) {
            self.after = self.schedule.cursor_at(earliest);
            self.next = self.schedule.next(&mut self.after);
        }
        self.next
    }

    /// When this frame leaves, if nothing else holds it up.
    pub fn leaves_at(&self, due: Due) -> Duration {
        self.catch_up.leaves_at(due.at)
    }

    /// Takes the next frame and those that are overdue with it, all of them due before `end`, and
    /// says how many of them are to leave together now. `None` where no frame is due before `end`.
    pub fn take(&mut self, passed: Duration, end: Duration, together: &mut [Due]) -> Option<usize> {
        let mut next = Some(self.take_if(|due| due.at < end)?);
        let mut count = 0;
        while let Some(due) = next {
            self.catch_up.on_departure(due.at, passed);
            if passed.saturating_sub(due.at) <= LATENESS_MAX {
                together[count] = due;
                count += 1;
            }
            let catch_up = self.catch_up;
            let is_overdue = |due: &Due| due.at < end && catch_up.leaves_at(due.at) <= passed;
            next = if count < together.len() { self.take_if(is_overdue) } else { None };
        }
        Some(count)
    }

    fn take_if(&mut self, is_wanted: impl FnOnce(&Due) -> bool) -> Option<Due> {
        let due = self.next.filter(is_wanted)?;
        self.next = self.schedule.next(&mut self.after);
        Some(due)
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

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

//! The host's monotonic clock: the one place where time enters a process.

use std::time::Duration;

use fp_model::Time;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds on `CLOCK_MONOTONIC`.
pub fn now() -> Time {
    of(clock_gettime(ClockId::Monotonic))
}

/// Nanoseconds since 1970 on `CLOCK_REALTIME`: for kernel timestamps and for dates.
pub fn wall() -> Time {
    of(clock_gettime(ClockId::Realtime))
}

/// Sleeps until `time` on the monotonic clock; a signal may end it earlier.
pub(crate) fn sleep_until(time: Time) {
    // The caller looks at the clock again: whether a signal has cut the sleep short is no matter.
    let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(time));
}

/// Nanoseconds by which the wall clock is ahead of the monotonic one. The kernel stamps arrivals
/// by the wall clock; taken just after, the difference does not suffer when that clock is set.
pub(crate) fn wall_ahead_of_monotonic() -> u64 {
    const TRIES: usize = 4;
    const UNDISTURBED: Duration = Duration::from_micros(2);
    let (mut ahead, mut shortest) = (0, Duration::MAX);
    for _ in 0..TRIES {
        let before = now();
        let wall = self::wall();
        let after = now();
        let took = after.since(before);
        if took < shortest {
            shortest = took;
            ahead = wall.as_nanos().saturating_sub((before + took / 2).as_nanos());
        }
        // A thread that was interrupted between the two readings reads again.
        if took < UNDISTURBED {
            break;
        }
    }
    ahead
}

/// A time of the wall clock, which was ahead by so many nanoseconds, on the monotonic one.
pub(crate) const fn monotonic(wall: Time, ahead_ns: u64) -> Time {
    Time::from_nanos(wall.as_nanos().saturating_sub(ahead_ns))
}

fn of(time: Timespec) -> Time {
    // Neither clock is before its epoch on a running host.
    Time::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn timespec(time: Time) -> Timespec {
    let nanos = time.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}

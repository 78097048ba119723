//! The host's monotonic clock: the one place where time enters a process.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
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
///
/// Until it is set, the answer stays the same to the nanosecond: two frames a microsecond apart keep
/// their order although the difference is taken anew between them.
pub(crate) fn wall_ahead_of_monotonic() -> u64 {
    const TRIES: usize = 4;
    const UNDISTURBED: Duration = Duration::from_micros(2);
    static KNOWN: AtomicU64 = AtomicU64::new(u64::MAX);
    let known = KNOWN.load(Relaxed);
    let mut reading = Reading::take();
    if reading.agrees_with(known) {
        return known;
    }
    // A thread that was interrupted between the two clocks reads them again.
    for _ in 1..TRIES {
        if reading.took() < UNDISTURBED {
            break;
        }
        let again = Reading::take();
        if again.took() < reading.took() {
            reading = again;
        }
    }
    let ahead = reading.ahead();
    KNOWN.store(ahead, Relaxed);
    ahead
}

/// The wall clock between two looks at the monotonic one.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before: Time,
    wall: Time,
    after: Time,
}

impl Reading {
    fn take() -> Self {
        Self { before: now(), wall: self::wall(), after: now() }
    }

    fn took(self) -> Duration {
        self.after.since(self.before)
    }

    /// To half of the time that it took.
    fn ahead(self) -> u64 {
        self.wall.as_nanos().saturating_sub((self.before + self.took() / 2).as_nanos())
    }

    fn agrees_with(self, ahead_ns: u64) -> bool {
        (self.before..=self.after).contains(&monotonic(self.wall, ahead_ns))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    /// A wall clock that is a second ahead, looked at for 3 µs.
    #[test]
    fn what_is_known_holds_as_long_as_no_reading_excludes_it() {
        const SECOND: u64 = 1_000_000_000;
        let reading = Reading { before: at(7_000), wall: at(SECOND + 8_000), after: at(10_000) };
        assert_eq!(reading.ahead(), SECOND - 500);
        for known in [SECOND - 2_000, SECOND - 500, SECOND, SECOND + 1_000] {
            assert!(reading.agrees_with(known), "{known}");
        }
        for set in [SECOND - 2_001, SECOND + 1_001, 0, u64::MAX] {
            assert!(!reading.agrees_with(set), "{set}");
        }
    }

    /// However often this thread is interrupted: nobody sets the clock of a host that runs tests.
    #[test]
    fn the_difference_of_the_clocks_settles() {
        let first = wall_ahead_of_monotonic();
        let readings = std::iter::repeat_with(wall_ahead_of_monotonic).take(10_000);
        let last = readings.inspect(|ahead| assert!(ahead.abs_diff(first) < 1_000_000)).last();
        let settled = last.unwrap();
        let others = std::iter::repeat_with(wall_ahead_of_monotonic).take(10_000);
        let changed = others.filter(|ahead| *ahead != settled).count();
        assert_eq!(changed, 0);
    }
}

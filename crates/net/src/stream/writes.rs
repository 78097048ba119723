//! What an application with a pace of its own has written by when.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{Pace, Rate, Timing};

use super::pace_segments::{PaceSegment, pace_segments};
use super::poisson::PoissonProcess;

/// The payload that a paced application writes to one connection, in whole units. Times are from the
/// start of the trial.
#[derive(Debug)]
pub struct PacedWrites {
    unit: Unit,
    course: Course,
}

/// What a paced application writes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Full segments, unless they are long in coming.
    Segment { bytes: u32 },
    /// This much, however long it takes to become due.
    Write { bytes: u32 },
}

impl Unit {
    fn bytes(self) -> u64 {
        match self {
            Self::Segment { bytes } | Self::Write { bytes } => u64::from(bytes.max(1)),
        }
    }
}

#[derive(Debug)]
enum Course {
    Rates(Vec<Part>),
    /// A unit each.
    Scattered(PoissonProcess),
}

#[derive(Debug)]
struct Part {
    segment: PaceSegment,
    /// What all segments before it took: bits times nanoseconds of a second.
    bit_nanos_before: u128,
}

/// A segment that takes longer to become due is not waited for.
const WAIT_MAX: Duration = Duration::from_millis(20);
/// Longer than a host keeps a thread waiting and than a path takes to mend a loss.
const PATIENCE: Duration = Duration::from_millis(100);
const BYTE_NANOS: u128 = 8_000_000_000;

impl PacedWrites {
    /// Of the connection of this index; `None` for an application that always has more to send.
    pub fn of(
        pace: &Pace,
        connection: u32,
        begins: Duration,
        timing: &Timing,
        unit: Unit,
    ) -> Option<Self> {
        let active = timing.active();
        let until = active.as_nanos() as u64;
        let begins = begins.min(active).as_nanos() as u64;
        // Connections of one group do not all roll the same dice.
        let of_connection = |seed: u64| seed.wrapping_add(u64::from(connection));
        let course = match pace {
            Pace::Unlimited => return None,
            Pace::Poisson { rate, seed } => {
                let per_nano = rate.as_bps() as f64 / (unit.bytes() * 8) as f64 / 1e9;
                let seed = of_connection(*seed);
                Course::Scattered(PoissonProcess::new(seed, begins, until, per_nano))
            }
            Pace::OnOff { rate, on_mean, off_mean, seed } => {
                let (rate, on_mean, off_mean) = (*rate, *on_mean, *off_mean);
                let pace = Pace::OnOff { rate, on_mean, off_mean, seed: of_connection(*seed) };
                Course::Rates(parts(pace_segments(&pace, begins, until)))
            }
            Pace::Constant { .. } | Pace::Steps { .. } => {
                Course::Rates(parts(pace_segments(pace, begins, until)))
            }
        };
        Some(Self { unit, course })
    }

    /// What is to have been written by `elapsed`. It does not fall with time, but where the pace
    /// quickens, by less than a unit.
    pub fn bytes_by(&self, elapsed: Duration) -> u64 {
        match &self.course {
            Course::Rates(parts) => {
                let Some(part) = part_at(parts, elapsed) else { return 0 };
                let bytes = (part.bit_nanos_by(elapsed.as_nanos() as u64) / BYTE_NANOS) as u64;
                if self.waits_for_units(part) { bytes - bytes % self.unit.bytes() } else { bytes }
            }
            Course::Scattered(process) => {
                let writes = process.count_before(elapsed.as_nanos() as u64 + 1);
                writes.saturating_mul(self.unit.bytes())
            }
        }
    }

    /// What has been due for so long that it is not written any more: an application that finds no
    /// room does not make up for it later.
    pub fn bytes_given_up_by(&self, elapsed: Duration) -> u64 {
        elapsed.checked_sub(PATIENCE).map_or(0, |before| self.bytes_by(before))
    }

    /// When, after `elapsed`, there is more to write than by then; `None`: never.
    pub fn next_after(&self, elapsed: Duration) -> Option<Duration> {
        match &self.course {
            Course::Rates(parts) => self.next_of(parts, elapsed),
            Course::Scattered(process) => {
                let writes = process.count_before(elapsed.as_nanos() as u64 + 1);
                let next = process.leaf_of(writes)?.time_of(writes)?;
                Some(Duration::from_nanos(next))
            }
        }
    }

    fn next_of(&self, parts: &[Part], elapsed: Duration) -> Option<Duration> {
        let Some(part) = part_at(parts, elapsed) else {
            return parts.first().map(|part| Duration::from_nanos(part.segment.from));
        };
        let ends = Duration::from_nanos(part.segment.until);
        let rate = u128::from(part.segment.rate.as_bps());
        let now = elapsed.as_nanos() as u64;
        let after = match rate {
            0 => None,
            _ if !self.waits_for_units(part) => Some(elapsed + WAIT_MAX),
            rate => {
                let unit = u128::from(self.unit.bytes()) * BYTE_NANOS;
                let by_now = part.bit_nanos_by(now);
                let short = unit - by_now % unit;
                u64::try_from(short.div_ceil(rate))
                    .ok()
                    .map(|wait| elapsed + Duration::from_nanos(wait))
            }
        };
        match after.filter(|at| *at < ends) {
            Some(at) => Some(at),
            // What the next segment brings, from its first nanosecond on.
            None => (part.segment.until > now && !is_last(parts, part)).then_some(ends),
        }
    }

    fn waits_for_units(&self, part: &Part) -> bool {
        part.segment.rate != Rate::ZERO
            && match self.unit {
                Unit::Segment { .. } => part.segment.rate.bytes_in(WAIT_MAX) >= self.unit.bytes(),
                Unit::Write { .. } => true,
            }
    }
}

fn is_last(parts: &[Part], part: &Part) -> bool {
    parts.last().is_some_and(|last| last.segment.until == part.segment.until)
}

fn parts(segments: Vec<PaceSegment>) -> Vec<Part> {
    let mut bit_nanos_before = 0;
    let part = |segment: PaceSegment| {
        let part = Part { segment, bit_nanos_before };
        bit_nanos_before = part.bit_nanos_by(segment.until);
        part
    };
    segments.into_iter().map(part).collect()
}

/// The last that has begun by then.
fn part_at(parts: &[Part], elapsed: Duration) -> Option<&Part> {
    let now = elapsed.as_nanos() as u64;
    let begun = parts.partition_point(|part| part.segment.from <= now);
    parts.get(begun.checked_sub(1)?)
}

impl Part {
    fn bit_nanos_by(&self, time: u64) -> u128 {
        let passed = time.min(self.segment.until).saturating_sub(self.segment.from);
        self.bit_nanos_before + u128::from(passed) * u128::from(self.segment.rate.as_bps())
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fp_model::Step;
    use proptest::prelude::*;

    use super::*;

    const TIMING: Timing = Timing {
        warm_up: Duration::from_millis(100),
        steady: Duration::from_millis(400),
        settle: Duration::ZERO,
    };

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    const SEGMENT: Unit = Unit::Segment { bytes: 1500 };

    #[test]
    fn a_pace_is_kept_in_whole_segments_from_when_the_flow_begins() {
        // 8 Mbit/s are 1,000 bytes a millisecond; then nothing; then half of it.
        let step = |rate, millis| Step { rate: Rate::mbps(rate), lasts: ms(millis) };
        let steps = vec![step(8, 10), step(0, 5), step(4, 1)];
        let pace = Pace::Steps { steps };
        let writes = PacedWrites::of(&pace, 0, ms(20), &TIMING, SEGMENT).unwrap();
        let by = [19, 20, 21, 22, 29, 30, 35, 38, 500, 900].map(|at| writes.bytes_by(ms(at)));
        // 9,000 bytes at 29 ms are six segments; the pause brings the rest of the 10,000; at 38 ms
        // there are 11,500, of which seven are whole. At the end 10,000 and 465 · 500.
        assert_eq!(by, [0, 0, 0, 1500, 9000, 10_000, 9000, 10_500, 241_500, 241_500]);
        let next = [0, 20, 22, 29, 30].map(|at| writes.next_after(ms(at)));
        let micros = |us| Some(Duration::from_micros(us));
        assert_eq!(next, [Some(ms(20)), micros(21_500), Some(ms(23)), Some(ms(30)), Some(ms(35))]);
        assert_eq!(writes.next_after(ms(500)), None);
        assert!(PacedWrites::of(&Pace::Unlimited, 0, ms(0), &TIMING, SEGMENT).is_none());
    }

    #[test]
    fn a_slow_pace_does_not_wait_for_segments() {
        // 1,500 bytes at 80 kbit/s take 150 ms; 20 ms bring 200.
        let pace = Pace::Constant { rate: Rate::bps(80_000) };
        let writes = PacedWrites::of(&pace, 0, ms(0), &TIMING, SEGMENT).unwrap();
        assert_eq!(writes.next_after(ms(0)), Some(ms(20)));
        assert_eq!(writes.bytes_by(ms(20)), 200);
    }

    #[test]
    fn writes_of_a_size_of_their_own_are_waited_for_however_slow_the_pace() {
        // The same pace in writes of 3,000 bytes: one each 300 ms.
        let pace = Pace::Constant { rate: Rate::bps(80_000) };
        let unit = Unit::Write { bytes: 3000 };
        let writes = PacedWrites::of(&pace, 0, ms(0), &TIMING, unit).unwrap();
        assert_eq!(writes.next_after(ms(0)), Some(ms(300)));
        assert_eq!([299, 300, 500].map(|at| writes.bytes_by(ms(at))), [0, 3000, 3000]);
    }

    proptest! {
        /// Whoever writes when told to has written what the pace asks for, less than a segment
        /// short of it or what 20 ms bring.
        #[test]
        fn nothing_is_missed_between_two_writes(
            rates in prop::collection::vec(0_u64..200_000_000, 1..6),
            seed in any::<u64>(),
            is_scattered in any::<bool>(),
            begins_ms in 0_u64..200,
        ) {
            let rate = Rate::bps(rates[0] / 20);
            let steps = rates.iter().map(|rate| Step { rate: Rate::bps(*rate), lasts: ms(60) });
            let unit = Unit::Segment { bytes: 1448 };
            let pace = if is_scattered {
                Pace::Poisson { rate, seed }
            } else {
                Pace::Steps { steps: steps.collect() }
            };
            let writes = PacedWrites::of(&pace, 3, ms(begins_ms), &TIMING, unit).unwrap();
            let (mut now, mut written) = (Duration::ZERO, 0);
            let mut rounds = 0;
            while let Some(next) = writes.next_after(now) {
                prop_assert!(next > now, "{next:?} is not after {now:?}");
                let just_before = next - Duration::from_nanos(1);
                let due = writes.bytes_by(just_before).saturating_sub(written);
                let slow = writes.bytes_by(now) == 0 || due <= 200_000_000 / 8 / 50;
                prop_assert!(due < 1448 || slow, "{due} bytes were due before {next:?}");
                now = next;
                written = written.max(writes.bytes_by(now));
                rounds += 1;
                prop_assert!(rounds < 20_000);
            }
            prop_assert!(writes.bytes_by(ms(500)).saturating_sub(written) <= 1448);
        }
    }
}

//! When the frames of a paced stream are due, to the nanosecond and without drift.

use alloc::vec::Vec;
use core::iter;
use core::num::NonZeroU64;
use core::time::Duration;

use fp_model::{FrameSizes, FramesLoad, Pace, Rate, Timing};

use super::pace_segments::{PaceSegment, pace_segments};
use super::poisson::{Leaf, PoissonProcess};

/// The frames of a trial: which there are and when each is due.
///
/// A frame is due when all bits before it, of the same rate, have taken their time, rounded down to
/// the nanosecond. Whatever the lengths, nothing adds up to a drift. Frames of a Poisson process are
/// due by chance, whatever their lengths.
#[derive(Debug)]
pub struct Schedule {
    sizes: FrameSizes,
    is_traced: bool,
    course: Course,
    steady_ns: (u64, u64),
    steady_from: u64,
    planned_frames: u64,
}

#[derive(Debug)]
enum Course {
    Parts(Vec<Part>),
    Scattered { process: PoissonProcess, frames_per_second: u64 },
}

/// A time of one rate, in nanoseconds from the start of the trial.
#[derive(Debug)]
struct Part {
    from: u64,
    until: u64,
    rate: Rate,
    /// Sequence number of the frame with which it begins.
    first: u64,
    /// What each length of the cycle takes: whole nanoseconds, and the remainder in parts of the
    /// rate. Nothing where the rate is zero.
    takes: Vec<(u64, u64)>,
}

/// A frame and the time from the start of the trial at which it is due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Due {
    pub sequence: u64,
    pub at: Duration,
}

/// A place in a schedule.
#[derive(Clone, Copy, Debug)]
pub struct Cursor(Place);

#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each stream")]
enum Place {
    InPart(InPart),
    /// The next frame's number, and the leaf that the one before was of.
    Scattered {
        sequence: u64,
        leaf: Option<Leaf>,
    },
}

#[derive(Clone, Copy, Debug)]
struct InPart {
    part: usize,
    sequence: u64,
    /// When the frame is due, and the remainder that it carries; `None` where the part has none.
    next: Option<(u64, u128)>,
}

impl Schedule {
    const SECOND_NS: u64 = 1_000_000_000;

    /// Of a flow that begins with its trial.
    pub fn new(load: &FramesLoad, timing: &Timing) -> Self {
        Self::begun_after(Duration::ZERO, load, timing)
    }

    /// Of a flow that begins so long after the start of its trial.
    pub fn begun_after(begins: Duration, load: &FramesLoad, timing: &Timing) -> Self {
        let nanos = |time: Duration| time.as_nanos() as u64;
        let (warm_up, active) = (nanos(timing.warm_up), nanos(timing.active()));
        let mut schedule = Self {
            sizes: load.sizes.clone(),
            is_traced: load.trace,
            course: Course::of(load, nanos(begins.min(timing.active())), active),
            steady_ns: (warm_up, active),
            steady_from: 0,
            planned_frames: 0,
        };
        schedule.steady_from = schedule.frames_before(warm_up);
        schedule.planned_frames = schedule.frames_before(active) - schedule.steady_from;
        schedule
    }

    pub const fn sizes(&self) -> &FrameSizes {
        &self.sizes
    }

    /// Whether the receiver is to tell how the frames arrived.
    pub const fn is_traced(&self) -> bool {
        self.is_traced
    }

    /// Sequence number of the first frame due in the steady time.
    pub const fn steady_from(&self) -> u64 {
        self.steady_from
    }

    /// Frames due in the steady time.
    pub const fn planned_frames(&self) -> u64 {
        self.planned_frames
    }

    /// One above the last frame's sequence number.
    pub const fn frames_due(&self) -> u64 {
        self.steady_from + self.planned_frames
    }

    /// The frames that are due at `from`, or later, in turn.
    pub fn frames_from(&self, from: Duration) -> impl Iterator<Item = Due> + use<'_> {
        let mut cursor = self.cursor_at(from);
        iter::from_fn(move || self.next(&mut cursor))
    }

    /// Where the first frame is that is due at `from` or later.
    pub fn cursor_at(&self, from: Duration) -> Cursor {
        let from = from.as_nanos() as u64;
        Cursor(match &self.course {
            Course::Parts(parts) => Place::InPart(self.place_at(parts, from)),
            Course::Scattered { process, .. } => {
                Place::Scattered { sequence: process.count_before(from), leaf: None }
            }
        })
    }

    fn place_at(&self, parts: &[Part], from: u64) -> InPart {
        let part = parts.partition_point(|part| part.from <= from).saturating_sub(1);
        let Some(current) = parts.get(part) else {
            return InPart { part, sequence: 0, next: None };
        };
        let passed = current.frames_before(from, &self.sizes);
        let bit_nanos = current.bits_of_first(passed, &self.sizes) * 1_000_000_000;
        let rate = u128::from(current.rate.as_bps());
        let next = bit_nanos.checked_div(rate).and_then(|after| {
            let due = current.from.checked_add(u64::try_from(after).ok()?)?;
            Some((due, bit_nanos % rate))
        });
        InPart { part, sequence: current.first + passed, next }
    }

    /// The frame at `cursor`, which goes on to the one after it.
    pub fn next(&self, cursor: &mut Cursor) -> Option<Due> {
        match (&self.course, &mut cursor.0) {
            (Course::Parts(parts), Place::InPart(place)) => next_of(parts, place),
            (Course::Scattered { process, .. }, Place::Scattered { sequence, leaf }) => {
                let known = leaf.and_then(|leaf| leaf.time_of(*sequence));
                let due = known.or_else(|| {
                    *leaf = process.leaf_of(*sequence);
                    (*leaf)?.time_of(*sequence)
                })?;
                *sequence += 1;
                Some(Due { sequence: *sequence - 1, at: Duration::from_nanos(due) })
            }
            // A cursor of another schedule.
            (Course::Parts(_), Place::Scattered { .. })
            | (Course::Scattered { .. }, Place::InPart(_)) => None,
        }
    }

    /// When a frame is due; never a time after the trial, whatever the number.
    pub fn due_of(&self, sequence: u64) -> Duration {
        let sequence = sequence.min(self.frames_due());
        let due = match &self.course {
            Course::Parts(parts) => self.due_in(parts, sequence),
            Course::Scattered { process, .. } => {
                process.leaf_of(sequence).and_then(|leaf| leaf.time_of(sequence))
            }
        };
        Duration::from_nanos(due.unwrap_or(self.steady_ns.1).min(self.steady_ns.1))
    }

    /// `None` where there are no frames at all.
    fn due_in(&self, parts: &[Part], sequence: u64) -> Option<u64> {
        let begun = parts.partition_point(|part| part.first <= sequence);
        let part = parts.get(begun.checked_sub(1)?)?;
        let bit_nanos = part.bits_of_first(sequence - part.first, &self.sizes) * 1_000_000_000;
        let after = bit_nanos.checked_div(part.rate.as_bps().into()).unwrap_or(0);
        Some(part.from.saturating_add(after as u64))
    }

    /// Frames a second at the highest rate of the trial, rounded up; in the mean where they are due
    /// by chance.
    pub fn peak_frames_per_second(&self) -> u64 {
        match &self.course {
            Course::Parts(parts) => {
                let peak = parts.iter().map(|part| part.rate).max().unwrap_or(Rate::ZERO);
                frames_per_second(peak, &self.sizes)
            }
            Course::Scattered { frames_per_second, .. } => *frames_per_second,
        }
    }

    /// A frame's share of the steady time.
    pub(super) fn one_frame_stands_for(&self) -> Duration {
        let (from, until) = self.steady_ns;
        Duration::from_nanos((until - from) / self.planned_frames.max(1))
    }

    /// One above the last frame that is near the beginning of the steady time, and the first one that
    /// is near its end.
    pub(super) fn edges(&self) -> (u64, u64) {
        const EDGE_MAX_NS: u64 = 50_000_000;
        let (from, until) = self.steady_ns;
        let edge = ((until - from) / 20).min(EDGE_MAX_NS);
        (self.frames_before(from + edge), self.frames_before(until - edge))
    }

    /// The sequence numbers with which the seconds of the steady time begin, and the one that ends
    /// the last of them.
    pub(super) fn seconds(&self) -> Vec<u64> {
        let (from, until) = self.steady_ns;
        let mut begins: Vec<u64> = (from..until)
            .step_by(Self::SECOND_NS as usize)
            .map(|second| self.frames_before(second))
            .collect();
        begins.push(self.frames_due());
        begins
    }

    fn frames_before(&self, time: u64) -> u64 {
        match &self.course {
            Course::Parts(parts) => {
                let begun = parts.partition_point(|part| part.from < time);
                let current = begun.checked_sub(1).and_then(|last| parts.get(last));
                current.map_or(0, |part| part.first + part.frames_before(time, &self.sizes))
            }
            Course::Scattered { process, .. } => process.count_before(time),
        }
    }
}

impl Course {
    fn of(load: &FramesLoad, begins: u64, active: u64) -> Self {
        if let Pace::Poisson { rate, seed } = load.pace {
            let cycle_bits = load.sizes.cycle_bytes() as f64 * 8.0;
            let cycles_per_nano = rate.as_bps() as f64 / cycle_bits / 1e9;
            let per_nano = cycles_per_nano * load.sizes.lengths().len() as f64;
            let process = PoissonProcess::new(seed, begins, active, per_nano);
            let frames_per_second = frames_per_second(rate, &load.sizes);
            return Self::Scattered { process, frames_per_second };
        }
        let mut first = 0;
        let part = |PaceSegment { from, until, rate }: PaceSegment| {
            let part = Part { from, until, rate, first, takes: takes(rate, &load.sizes) };
            first += part.frames_before(until, &load.sizes);
            part
        };
        Self::Parts(pace_segments(&load.pace, begins, active).into_iter().map(part).collect())
    }
}

fn frames_per_second(rate: Rate, sizes: &FrameSizes) -> u64 {
    let frames = u128::from(rate.as_bps()) * sizes.lengths().len() as u128;
    frames.div_ceil(u128::from(sizes.cycle_bytes()) * 8) as u64
}

/// The frame at `place` among `parts`, which goes on to the one after it.
fn next_of(parts: &[Part], place: &mut InPart) -> Option<Due> {
    loop {
        let part = parts.get(place.part)?;
        if let Some((due, carried)) = place.next.filter(|(due, _)| *due < part.until) {
            let sequence = place.sequence;
            place.next = part.after(due, carried, sequence);
            place.sequence += 1;
            return Some(Due { sequence, at: Duration::from_nanos(due) });
        }
        place.part += 1;
        let next = parts.get(place.part)?;
        place.next = (next.rate != Rate::ZERO).then_some((next.from, 0));
    }
}

fn takes(rate: Rate, sizes: &FrameSizes) -> Vec<(u64, u64)> {
    let Some(rate) = NonZeroU64::new(rate.as_bps()) else { return Vec::new() };
    // A length is below 2^32 bytes, so that its bits times 10^9 fit 2^65: 128 bits to be safe, and
    // what does not fit 64 afterwards is never due.
    let bit_nanos = |length: &u32| u128::from(*length) * 8_000_000_000;
    let rate = u128::from(rate.get());
    let take = |length| {
        let whole = u64::try_from(bit_nanos(length) / rate).unwrap_or(u64::MAX);
        (whole, (bit_nanos(length) % rate) as u64)
    };
    sizes.lengths().iter().map(take).collect()
}

impl Part {
    /// When the frame after `sequence` is due: the remainder of the division by the rate is carried
    /// from frame to frame.
    fn after(&self, due: u64, carried: u128, sequence: u64) -> Option<(u64, u128)> {
        let rate = u128::from(self.rate.as_bps());
        let (whole, carry) = self.takes[(sequence % self.takes.len() as u64) as usize];
        let carried = carried + u128::from(carry);
        let over = carried >= rate;
        let due = due.checked_add(whole)?.checked_add(u64::from(over))?;
        Some((due, if over { carried - rate } else { carried }))
    }

    /// Of the first `frames` frames of the part.
    fn bits_of_first(&self, frames: u64, sizes: &FrameSizes) -> u128 {
        8 * (sizes.bytes_of_first(self.first + frames) - sizes.bytes_of_first(self.first))
    }

    /// Those frames of the part before which fewer bits come than have passed by `time`: a frame
    /// with ⌊bits · 10⁹ / rate⌋ < t has bits · 10⁹ / rate < t, as t is whole.
    fn frames_before(&self, time: u64, sizes: &FrameSizes) -> u64 {
        let time = time.min(self.until).saturating_sub(self.from);
        let bit_nanos = u128::from(time) * u128::from(self.rate.as_bps());
        let bytes = bit_nanos.div_ceil(8_000_000_000);
        if bytes == 0 {
            return 0;
        }
        let frames = sizes.frames_begun_in(sizes.bytes_of_first(self.first) + bytes);
        (frames - u128::from(self.first)) as u64
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use fp_model::Step;
    use proptest::prelude::*;

    use super::*;

    fn timing(warm_up_ms: u64, steady_ms: u64) -> Timing {
        Timing {
            warm_up: Duration::from_millis(warm_up_ms),
            steady: Duration::from_millis(steady_ms),
            settle: Duration::ZERO,
        }
    }

    fn constant(frame_bytes: u32, rate: Rate) -> FramesLoad {
        FramesLoad::new(FrameSizes::fixed(frame_bytes), Pace::Constant { rate })
    }

    #[test]
    fn frames_at_40_mbit_are_due_every_303_600_ns() {
        // 1518 bytes are 12,144 bits; at 40 Mbit/s they take 303.6 µs. 2 s hold 6587.6 intervals,
        // so 6588 frames are due in them, the first at 0.
        let load = constant(1518, Rate::mbps(40));
        let schedule = Schedule::new(&load, &timing(0, 2000));
        let dues: Vec<_> =
            schedule.frames_from(Duration::ZERO).map(|due| due.at.as_nanos()).take(3).collect();
        assert_eq!(dues, [0, 303_600, 607_200]);
        assert_eq!(schedule.planned_frames(), 6588);
        assert_eq!(schedule.frames_from(Duration::ZERO).count(), 6588);
        assert_eq!(schedule.peak_frames_per_second(), 3294);
    }

    #[test]
    fn a_frame_due_as_the_steady_time_begins_belongs_to_it() {
        // 1,000 frames a second: 100 are due before 100 ms, the 101st at 100 ms sharp.
        let load = constant(1000, Rate::mbps(8));
        let schedule = Schedule::new(&load, &timing(100, 400));
        assert_eq!((schedule.steady_from(), schedule.planned_frames()), (100, 400));
    }

    #[test]
    fn the_time_of_a_frame_is_that_at_which_it_comes_in_turn() {
        let step = |rate, millis| Step { rate, lasts: Duration::from_millis(millis) };
        let steps = vec![step(Rate::mbps(7), 3), step(Rate::ZERO, 1), step(Rate::mbps(3), 9)];
        let sizes = FrameSizes::new(vec![100, 333]).unwrap();
        let load = FramesLoad::new(sizes, Pace::Steps { steps });
        let schedule = Schedule::new(&load, &timing(4, 9));
        let dues: Vec<_> = schedule.frames_from(Duration::ZERO).collect();
        assert!(dues.len() > 20);
        assert!(dues.iter().all(|due| schedule.due_of(due.sequence) == due.at));
    }

    #[test]
    fn each_step_begins_with_a_frame_and_the_last_one_stays() {
        // Frames of 1,000 bytes: 8 Mbit/s is one a millisecond, 16 Mbit/s one each 500 µs; nothing
        // is due while the rate is zero.
        let step = |rate, millis| Step { rate, lasts: Duration::from_millis(millis) };
        let steps = vec![
            step(Rate::mbps(8), 2),
            step(Rate::ZERO, 1),
            step(Rate::mbps(16), 1),
            step(Rate::mbps(4), 1),
        ];
        let load = FramesLoad::new(FrameSizes::fixed(1000), Pace::Steps { steps });
        let schedule = Schedule::new(&load, &timing(3, 5));
        let dues: Vec<_> =
            schedule.frames_from(Duration::ZERO).map(|due| due.at.as_micros()).collect();
        assert_eq!(dues, [0, 1000, 3000, 3500, 4000, 6000]);
        assert_eq!((schedule.steady_from(), schedule.planned_frames()), (2, 4));
    }

    #[test]
    fn a_step_goes_on_in_the_mix_where_the_one_before_has_ended() {
        // 100, 200 and 300 bytes take 100, 200 and 300 µs at 8 Mbit/s. Two are due in 150 µs; then
        // at twice the rate 300, 100, 200 bytes take 150, 50 and 100 µs.
        let steps = [(8, 150), (16, 350)].map(|(mbps, micros)| Step {
            rate: Rate::mbps(mbps),
            lasts: Duration::from_micros(micros),
        });
        let sizes = FrameSizes::new(vec![100, 200, 300]).unwrap();
        let load = FramesLoad::new(sizes, Pace::Steps { steps: steps.to_vec() });
        let half_a_milli = Timing { steady: Duration::from_micros(500), ..timing(0, 0) };
        let schedule = Schedule::new(&load, &half_a_milli);
        let dues: Vec<_> =
            schedule.frames_from(Duration::ZERO).map(|due| due.at.as_micros()).collect();
        assert_eq!(dues, [0, 100, 150, 300, 350, 450]);
        assert_eq!(schedule.planned_frames(), 6);
    }

    #[test]
    fn a_second_begins_with_the_first_frame_due_in_it() {
        // 1.5 s of 8 Mbit/s and then 16 Mbit/s, frames of 1,000 bytes, after 0.5 s of warm-up:
        // 500 frames, then 1,000 and, from 1.5 s on, 2,000 a second for 1.25 s.
        let steps =
            [8, 16].map(|mbps| Step { rate: Rate::mbps(mbps), lasts: Duration::from_millis(1500) });
        let sizes = FrameSizes::fixed(1000);
        let load = FramesLoad::new(sizes, Pace::Steps { steps: steps.to_vec() });
        let schedule = Schedule::new(&load, &timing(500, 2250));
        assert_eq!(schedule.seconds(), [500, 1500, 3500, 4000]);
    }

    #[test]
    fn steps_that_outlast_the_trial_are_cut() {
        let step = Step { rate: Rate::mbps(8), lasts: Duration::from_secs(9) };
        let load = FramesLoad::new(FrameSizes::fixed(1000), Pace::Steps { steps: vec![step; 2] });
        assert_eq!(Schedule::new(&load, &timing(0, 10)).frames_from(Duration::ZERO).count(), 10);
    }

    #[test]
    fn nothing_is_due_before_the_flow_begins() {
        // One frame a millisecond from 30 ms on: 20 until 50 ms, 100 more until 150 ms.
        let load = constant(1000, Rate::mbps(8));
        let begins = Duration::from_millis(30);
        let schedule = Schedule::begun_after(begins, &load, &timing(50, 100));
        let first = schedule.frames_from(Duration::ZERO).next().unwrap();
        assert_eq!(first, Due { sequence: 0, at: begins });
        assert_eq!((schedule.steady_from(), schedule.planned_frames()), (20, 100));
        let never = Schedule::begun_after(Duration::from_secs(9), &load, &timing(50, 100));
        assert_eq!(never.frames_from(Duration::ZERO).count(), 0);
    }

    proptest! {
        /// One thing leads to another: times in turn, the number before a time, the time of a number.
        #[test]
        fn frames_due_by_chance_are_the_same_however_they_are_asked_for(
            seed in any::<u64>(),
            lengths in prop::collection::vec(64_u32..1518, 1..4),
            rate in 10_000_u64..50_000_000,
            begins_ms in 0_u64..30,
            from_us in 0_u64..120_000,
        ) {
            let pace = Pace::Poisson { rate: Rate::bps(rate), seed };
            let load = FramesLoad::new(FrameSizes::new(lengths).unwrap(), pace);
            let begins = Duration::from_millis(begins_ms);
            let schedule = Schedule::begun_after(begins, &load, &timing(20, 80));
            let dues: Vec<_> = schedule.frames_from(Duration::ZERO).collect();
            prop_assert_eq!(dues.len() as u64, schedule.frames_due());
            prop_assert!(dues.iter().all(|due| due.at >= begins && due.at < Duration::from_millis(100)));
            prop_assert!(dues.windows(2).all(|pair| pair[0].at <= pair[1].at));
            prop_assert!(dues.iter().all(|due| schedule.due_of(due.sequence) == due.at));
            let from = Duration::from_micros(from_us);
            let later = dues.iter().copied().filter(|due| due.at >= from);
            prop_assert!(schedule.frames_from(from).eq(later));
        }

        #[test]
        fn due_times_do_not_drift(
            lengths in prop::collection::vec(64_u32..9018, 1..12),
            rate in 1_000_u64..20_000_000_000,
            warm_up_ms in 0_u64..20,
        ) {
            let sizes = FrameSizes::new(lengths.clone()).unwrap();
            let load = FramesLoad::new(sizes, Pace::Constant { rate: Rate::bps(rate) });
            let schedule = Schedule::new(&load, &timing(warm_up_ms, 20));
            let (mut count, mut bytes) = (0, 0_u128);
            for due in schedule.frames_from(Duration::ZERO) {
                let exact = bytes * 8_000_000_000 / u128::from(rate);
                bytes += u128::from(lengths[count as usize % lengths.len()]);
                prop_assert_eq!(due.at.as_nanos(), exact);
                prop_assert_eq!(due.sequence, count);
                prop_assert_eq!(
                    due.at >= Duration::from_millis(warm_up_ms),
                    count >= schedule.steady_from()
                );
                count += 1;
            }
            prop_assert_eq!(schedule.steady_from() + schedule.planned_frames(), count);
        }

        #[test]
        fn frames_passed_over_change_nothing_of_those_that_follow(
            rates in prop::collection::vec(0_u64..100_000_000, 1..5),
            lengths in prop::collection::vec(1_u32..300, 1..6),
            from_us in 0_u64..25_000,
        ) {
            let step = |rate| Step { rate: Rate::bps(rate), lasts: Duration::from_millis(5) };
            let steps = rates.into_iter().map(step).collect();
            let sizes = FrameSizes::new(lengths).unwrap();
            let load = FramesLoad::new(sizes, Pace::Steps { steps });
            let schedule = Schedule::new(&load, &timing(0, 20));
            let from = Duration::from_micros(from_us);
            let one_by_one = schedule.frames_from(Duration::ZERO).filter(|due| due.at >= from);
            prop_assert!(schedule.frames_from(from).eq(one_by_one));
        }
    }
}

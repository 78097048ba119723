//! How many connections there should be at which instant, and how fast they may be set up.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::{ConnectionsStage, Time};

/// The stages of a load from an instant on.
#[derive(Debug)]
pub(super) struct Ramp {
    start: Time,
    legs: Vec<Leg>,
}

/// A stage, by nanoseconds from the start.
#[derive(Clone, Copy, Debug)]
struct Leg {
    begins: u64,
    lasts: u64,
    from: u32,
    to: u32,
}

impl Ramp {
    pub(super) fn new(stages: &[ConnectionsStage], start: Time) -> Self {
        let (mut begins, mut from) = (0_u64, 0);
        let legs = stages.iter().map(|stage| {
            let lasts = u64::try_from(stage.lasts.as_nanos()).unwrap_or(u64::MAX);
            let leg = Leg { begins, lasts, from, to: stage.connections };
            (begins, from) = (begins.saturating_add(lasts), stage.connections);
            leg
        });
        Self { legs: legs.collect(), start }
    }

    /// The same stages from another instant on.
    pub(super) const fn begin_at(&mut self, start: Time) {
        self.start = start;
    }

    /// How many there should be: of the straight line, what is whole of what has been passed.
    pub(super) fn wanted(&self, now: Time) -> u32 {
        let passed = now.as_nanos().saturating_sub(self.start.as_nanos());
        match self.leg_at(passed) {
            Some(leg) if now >= self.start => leg.wanted(passed - leg.begins),
            Some(_) => 0,
            None => self.legs.last().map_or(0, |leg| leg.to),
        }
    }

    /// The same number is wanted for some time.
    pub(super) fn is_level(&self, now: Time) -> bool {
        let passed = now.as_nanos().saturating_sub(self.start.as_nanos());
        self.leg_at(passed).is_none_or(|leg| leg.from == leg.to)
    }

    /// When another number is wanted than now.
    pub(super) fn next_change(&self, now: Time) -> Option<Time> {
        if now < self.start {
            return Some(self.start);
        }
        let passed = now.as_nanos() - self.start.as_nanos();
        let current = self.leg_at(passed)?;
        let within = current.next_change(passed - current.begins);
        let next = within.map(|after| current.begins + after).or_else(|| {
            let later = self.legs.iter().filter(|leg| leg.begins > passed && leg.lasts > 0);
            later.filter_map(|leg| Some(leg.begins + leg.next_change(0)?)).min()
        });
        // A stage of no time changes the number at once.
        let jump = self.legs.iter().find(|leg| leg.lasts == 0 && leg.begins > passed);
        let jump = jump.filter(|leg| leg.from != leg.to).map(|leg| leg.begins);
        [next, jump].into_iter().flatten().min().map(|at| self.start + Duration::from_nanos(at))
    }

    /// The stage that passes.
    fn leg_at(&self, passed: u64) -> Option<&Leg> {
        self.legs.iter().find(|leg| passed < leg.begins.saturating_add(leg.lasts))
    }
}

impl Leg {
    fn wanted(&self, passed: u64) -> u32 {
        let moved = u128::from(self.from.abs_diff(self.to)) * u128::from(passed);
        let moved = (moved / u128::from(self.lasts)) as u32;
        if self.to >= self.from { self.from + moved } else { self.from - moved }
    }

    /// From its beginning; `None`: it stays as it is until the end of the stage.
    fn next_change(&self, passed: u64) -> Option<u64> {
        let distance = u128::from(self.from.abs_diff(self.to));
        let moved = (distance * u128::from(passed)).checked_div(self.lasts.into())?;
        let next = ((moved + 1) * u128::from(self.lasts)).checked_div(distance)?;
        let is_exact = (moved + 1) * u128::from(self.lasts) % distance == 0;
        Some(next as u64 + u64::from(!is_exact))
    }
}

/// So many in a second, evenly: what was not used in a millisecond is lost.
#[derive(Debug)]
pub(super) struct Allowance {
    per_second: u32,
    /// When the next one is allowed.
    next: Time,
}

impl Allowance {
    const SAVED_MAX: Duration = Duration::from_millis(1);

    pub(super) const fn new(per_second: u32, start: Time) -> Self {
        Self { per_second, next: start }
    }

    pub(super) const fn begin_at(&mut self, start: Time) {
        self.next = start;
    }

    /// Uses one up; `false`: none is left.
    pub(super) fn take(&mut self, now: Time) -> bool {
        if self.next > now {
            return false;
        }
        let each = 1_000_000_000_u64.div_ceil(u64::from(self.per_second.max(1)));
        self.next = self.next.max(now - Self::SAVED_MAX) + Duration::from_nanos(each);
        true
    }

    pub(super) const fn next(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn stage(lasts_ms: u64, connections: u32) -> ConnectionsStage {
        ConnectionsStage { lasts: Duration::from_millis(lasts_ms), connections }
    }

    /// The line written out in rational numbers, each comparison multiplied through.
    fn is_on_the_line(stages: &[ConnectionsStage], at_ns: u64, wanted: u32) -> bool {
        let (mut begins, mut from) = (0_u128, 0_i128);
        for stage in stages {
            let (lasts, to) = (stage.lasts.as_nanos(), i128::from(stage.connections));
            let passed = u128::from(at_ns).wrapping_sub(begins);
            if u128::from(at_ns) < begins + lasts {
                let (lasts, passed) = (lasts as i128, passed as i128);
                // Of the way |to - from| · passed / lasts, less than one is missing.
                let way = (to - from).abs() * passed;
                let moved = (i128::from(wanted) - from).abs() * lasts;
                let is_right_way = (i128::from(wanted) - from) * (to - from) >= 0;
                return is_right_way && moved <= way && way < moved + lasts;
            }
            (begins, from) = (begins + lasts, to);
        }
        i128::from(wanted) == from
    }

    proptest! {
        #[test]
        fn the_number_is_the_line_rounded_towards_where_it_came_from(
            stages in vec((0_u64..5000, 0_u32..100_000), 1..6),
            instants in vec(0_u64..25_000_000_000, 20),
        ) {
            let stages: Vec<_> = stages.into_iter().map(|(ms, n)| stage(ms, n)).collect();
            let start = Time::from_nanos(77);
            let ramp = Ramp::new(&stages, start);
            for at in instants {
                let now = start + Duration::from_nanos(at);
                let wanted = ramp.wanted(now);
                prop_assert!(is_on_the_line(&stages, at, wanted), "{} at {}", wanted, at);
                if let Some(next) = ramp.next_change(now) {
                    prop_assert!(next > now);
                    prop_assert_eq!(ramp.wanted(next - Duration::from_nanos(1)), wanted);
                    prop_assert_ne!(ramp.wanted(next), wanted);
                } else {
                    prop_assert_eq!(ramp.wanted(start + Duration::from_secs(100)), wanted);
                }
            }
        }

        #[test]
        fn no_more_are_allowed_than_the_rate_and_a_millisecond_of_it(
            per_second in 1_u32..1_000_000,
            waits_us in vec(0_u64..30_000, 1..200),
        ) {
            let mut now = Time::ZERO;
            let mut allowance = Allowance::new(per_second, now);
            let mut used = 0_u64;
            for wait in waits_us {
                now = now + Duration::from_micros(wait);
                while allowance.take(now) {
                    used += 1;
                }
                prop_assert!(allowance.next() > now);
                let rate = u128::from(per_second);
                let most = rate * (u128::from(now.as_nanos()) + 1_000_000) / 1_000_000_000 + 1;
                prop_assert!(u128::from(used) <= most, "{} of {}", used, most);
            }
        }
    }

    /// A million in 5 s are 200,000 in each second.
    #[test]
    fn a_million_in_five_seconds_is_a_line() {
        let ramp = Ramp::new(&[stage(5000, 1_000_000), stage(10_000, 1_000_000)], Time::ZERO);
        let wanted = [0, 1, 2, 5, 9].map(|s| ramp.wanted(Time::from_nanos(s * 1_000_000_000)));
        assert_eq!(wanted, [0, 200_000, 400_000, 1_000_000, 1_000_000]);
        assert!(!ramp.is_level(Time::from_nanos(4_000_000_000)));
        assert!(ramp.is_level(Time::from_nanos(5_000_000_000)));
    }
}

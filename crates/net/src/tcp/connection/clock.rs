//! Instants in 32 and 16 bits: ticks of a millisecond.
//!
//! A deadline is told from one that has passed as long as it lies within half of the circle: 24.8
//! days in 32 bits, 32.7 s in 16. Deadlines round up, so that no alarm rings too early.

use core::time::Duration;

use fp_model::Time;

const TICK: Duration = Duration::from_millis(1);
const TICK_NANOS: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(u32);

impl Tick {
    /// The tick that passes.
    pub(crate) const fn at(now: Time) -> Self {
        Self((now.as_nanos() / TICK_NANOS) as u32)
    }

    /// The first tick after so long.
    pub(crate) fn after(now: Time, wait: Duration) -> Self {
        Self((now + wait).as_nanos().div_ceil(TICK_NANOS) as u32)
    }

    pub(crate) const fn get(self) -> u32 {
        self.0
    }

    pub(crate) const fn is_due(self, now: Time) -> bool {
        self.0.wrapping_sub(Self::at(now).0) as i32 <= 0
    }

    /// The instant of a deadline; what has passed is now.
    pub(crate) fn instant(self, now: Time) -> Time {
        let wait = self.0.wrapping_sub(Self::at(now).0) as i32;
        match u32::try_from(wait) {
            Ok(ticks) if ticks > 0 => start_of_tick(now) + TICK * ticks,
            Ok(_) | Err(_) => now,
        }
    }
}

/// A deadline that is near.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NearTick(u16);

impl NearTick {
    pub(crate) fn after(now: Time, wait: Duration) -> Self {
        Self(Tick::after(now, wait).0 as u16)
    }

    pub(crate) const fn whole(self, now: Time) -> Tick {
        let passing = Tick::at(now).0;
        let wait = self.0.wrapping_sub(passing as u16) as i16;
        Tick(passing.wrapping_add(wait as u32))
    }
}

fn start_of_tick(now: Time) -> Time {
    now - Duration::from_nanos(now.as_nanos() % TICK_NANOS)
}

/// When the tick ended that passed `ago` ticks before this one.
pub(crate) fn end_of_tick(now: Time, ago: u32) -> Time {
    let end = start_of_tick(now) + TICK - Duration::from_nanos(1);
    (end - TICK * ago).min(now)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_deadline_is_never_early_and_less_than_a_tick_late(
            now_nanos in 0..u64::from(u32::MAX) * TICK_NANOS * 3,
            wait_nanos in 0..20_u64 * 86_400_000_000_000,
        ) {
            let now = Time::from_nanos(now_nanos);
            let due = now + Duration::from_nanos(wait_nanos);
            let instant = Tick::after(now, Duration::from_nanos(wait_nanos)).instant(now);
            prop_assert!(instant >= due && instant.since(due) < TICK);
        }

        #[test]
        fn a_near_deadline_is_the_same(
            now_nanos in 0..u64::from(u32::MAX) * TICK_NANOS * 3,
            wait_nanos in 0..30_000 * TICK_NANOS,
        ) {
            let (now, wait) = (Time::from_nanos(now_nanos), Duration::from_nanos(wait_nanos));
            prop_assert_eq!(NearTick::after(now, wait).whole(now), Tick::after(now, wait));
        }
    }
}

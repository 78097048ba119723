//! The far end's clock as the near end knows it, from exchanges of time stamps as in NTP.

use std::time::Duration;

use fp_model::Time;

/// One exchange: question and answer, each stamped as it left and as it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) near_sent: Time,
    pub(crate) far_received: Time,
    pub(crate) far_answered: Time,
    pub(crate) near_received: Time,
}

/// The exchange with the least doubt so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FarClock {
    best: Option<Estimate>,
    pub(crate) exchanges: u32,
    rtt_min: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// The far end's clock less the near end's, in nanoseconds, modulo 2^64.
    offset_ns: u64,
    rtt: Duration,
    at: Time,
}

/// How far two unsteered clocks may drift apart: 100 parts per million each.
pub(crate) const DRIFT: f64 = 2e-4;

impl FarClock {
    pub(crate) fn on_exchange(&mut self, exchange: &Exchange) {
        let whole = exchange.near_received.since(exchange.near_sent);
        let away = exchange.far_answered.since(exchange.far_received);
        let rtt = whole.saturating_sub(away);
        let there = wrapping_difference(exchange.far_received, exchange.near_sent);
        let back = wrapping_difference(exchange.far_answered, exchange.near_received);
        // The mean of the two differences, whatever either clock counts from.
        let half_apart = (there.wrapping_sub(back) as i64) / 2;
        let offset_ns = back.wrapping_add_signed(half_apart);
        let estimate = Estimate { offset_ns, rtt, at: exchange.near_received };
        self.exchanges = self.exchanges.saturating_add(1);
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        let now = exchange.near_received;
        if self.best.is_none_or(|best| estimate.doubt(now) <= best.doubt(now)) {
            self.best = Some(estimate);
        }
    }

    /// The shortest round trip on the control connection.
    pub(crate) const fn rtt(&self) -> Option<Duration> {
        self.rtt_min
    }

    /// What the far end's clock shows when the near end's shows `near`.
    pub(crate) fn at(&self, near: Time) -> Option<Time> {
        let best = self.best?;
        Some(Time::from_nanos(near.as_nanos().wrapping_add(best.offset_ns)))
    }

    /// What the near end's clock shows when the far end's shows `far`.
    pub(crate) fn near_at(&self, far: Time) -> Time {
        Time::from_nanos(far.as_nanos().wrapping_add_signed(-self.offset_ns()))
    }

    /// The far end's clock less the near end's.
    pub(crate) fn offset_ns(&self) -> i64 {
        self.best.map_or(0, |best| best.offset_ns as i64)
    }

    /// How far times since a start may be apart at the two ends, if the start was fixed at `start`
    /// by what is known here, and `later` is what became known until `now`.
    pub(crate) fn error_since(&self, start: Time, later: &Self, now: Time) -> Duration {
        let (Some(then), Some(known)) = (self.best, later.best) else {
            return Duration::from_nanos(u64::MAX);
        };
        let drifted_ns = known.offset_ns.wrapping_sub(then.offset_ns) as i64;
        let by_now = Duration::from_nanos(drifted_ns.unsigned_abs()) + known.doubt(now);
        then.doubt(start).max(by_now)
    }
}

impl Estimate {
    fn doubt(&self, now: Time) -> Duration {
        self.rtt / 2 + now.since(self.at).mul_f64(DRIFT)
    }
}

const fn wrapping_difference(later: Time, earlier: Time) -> u64 {
    later.as_nanos().wrapping_sub(earlier.as_nanos())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exchange(near_sent: u64, offset: i64, there: u64, stay: u64, back: u64) -> Exchange {
        let far_received = (near_sent + there).wrapping_add_signed(offset);
        Exchange {
            near_sent: Time::from_nanos(near_sent),
            far_received: Time::from_nanos(far_received),
            far_answered: Time::from_nanos(far_received + stay),
            near_received: Time::from_nanos(near_sent + there + stay + back),
        }
    }

    proptest! {
        #[test]
        fn the_clock_is_known_to_half_the_shortest_round_trip(
            offset in -1_000_000_000_000_i64..1_000_000_000_000,
            ways in prop::collection::vec((1_000_u64..50_000_000, 1_000_u64..50_000_000), 8..20),
        ) {
            let mut clock = FarClock::default();
            let begin = 2_000_000_000_000;
            for (there, back) in &ways {
                clock.on_exchange(&exchange(begin, offset, *there, 5_000, *back));
            }
            let shortest = ways.iter().map(|(there, back)| there + back).min().unwrap();
            let read = clock.at(Time::from_nanos(begin)).unwrap().as_nanos() as i64;
            let error = (read - begin as i64 - offset).unsigned_abs();
            prop_assert!(error <= shortest / 2 + 1, "{error} ns of {shortest}");
            prop_assert_eq!(clock.rtt(), Some(Duration::from_nanos(shortest)));
        }
    }

    #[test]
    fn a_start_is_as_wrong_as_the_clocks_may_have_been_and_have_drifted() {
        let mut clock = FarClock::default();
        clock.on_exchange(&exchange(1_000_000, 500, 10_000, 0, 10_000));
        let start = Time::from_nanos(1_020_000);
        let began = clock;
        // Known to half of 20 µs.
        assert_eq!(began.error_since(start, &clock, start), Duration::from_micros(10));
        // A minute later an exchange of 14 µs shows that the clocks have drifted apart by 3 ms.
        let minute = 60_000_000_000;
        clock.on_exchange(&exchange(minute, 3_000_500, 7_000, 0, 7_000));
        let now = Time::from_nanos(minute + 14_000);
        assert_eq!(began.error_since(start, &clock, now), Duration::from_nanos(3_007_000));
    }

    #[test]
    fn an_hour_old_exchange_yields_to_a_slower_fresh_one() {
        let mut clock = FarClock::default();
        clock.on_exchange(&exchange(1_000_000, 500, 10_000, 0, 10_000));
        let later = 3_600_000_000_000;
        // A millisecond of doubt now against 0.2 ms/s times an hour.
        clock.on_exchange(&exchange(later, 900, 1_000_000, 0, 1_000_000));
        assert_eq!(clock.at(Time::from_nanos(later)), Some(Time::from_nanos(later + 900)));
    }
}

//! Round-trip times and the retransmission timeout of RFC 6298.

use core::time::Duration;

/// RFC 6298 section 2.1.
const RTO_WITHOUT_SAMPLE: Duration = Duration::from_secs(1);
const RTO_MAX: Duration = Duration::from_secs(120);
/// The clock granularity G of RFC 6298: Linux takes 200 ms, so that its timeout is never less than
/// that above the smoothed round trip. The RFC's minimum of 1 s is not kept, as nobody keeps it.
const GRANULARITY: Duration = Duration::from_millis(200);

/// The bounds of a timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) without_sample: Duration,
    /// The timeout is never less than this above the smoothed round trip.
    pub(crate) margin_min: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { without_sample: RTO_WITHOUT_SAMPLE, margin_min: GRANULARITY }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct RoundTrips {
    timeouts: Timeouts,
    smoothed: Option<Duration>,
    variation: Duration,
    min: Option<Duration>,
    backoff: u32,
}

impl RoundTrips {
    /// As they were when the connection last rested.
    pub(crate) fn resumed(
        timeouts: Timeouts,
        smoothed: Option<Duration>,
        variation: Duration,
        backoff: u32,
    ) -> Self {
        Self { timeouts, smoothed, variation, min: smoothed, backoff }
    }

    /// RFC 6298 sections 2.2 and 2.3; timestamps make samples of retransmissions unambiguous.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        self.backoff = 0;
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        let Some(smoothed) = self.smoothed else {
            //= rfc6298 2.2
            self.smoothed = Some(rtt);
            self.variation = rtt / 2;
            return;
        };
        //= rfc6298 2.3
        self.variation = self.variation * 3 / 4 + smoothed.abs_diff(rtt) / 4;
        self.smoothed = Some(smoothed * 7 / 8 + rtt / 8);
    }

    /// RFC 6298 section 5.5.
    pub(crate) fn back_off(&mut self) {
        self.backoff += 1;
    }

    pub(crate) fn timeout(&self) -> Duration {
        let timeout = match self.smoothed {
            //= rfc6298 2.1
            None => self.timeouts.without_sample,
            Some(smoothed) => smoothed + (self.variation * 4).max(self.timeouts.margin_min),
        };
        //= rfc6298 2.5
        //= rfc9293 MUST-19
        timeout.saturating_mul(1 << self.backoff.min(16)).min(RTO_MAX)
    }

    pub(crate) const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    pub(crate) const fn variation(&self) -> Duration {
        self.variation
    }

    pub(crate) const fn backoff(&self) -> u32 {
        self.backoff
    }

    pub(crate) const fn min(&self) -> Option<Duration> {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(54);

    #[test]
    //= rfc6298 2.1
    fn the_timeout_is_1_s_before_the_first_sample() {
        assert_eq!(RoundTrips::default().timeout(), Duration::from_secs(1));
    }

    /// 54 ms and four times the variation, which is 27 ms after one sample: less than 200 ms.
    #[test]
    //= rfc6298 2.2
    fn the_timeout_is_200_ms_above_a_steady_round_trip() {
        let mut rtt = RoundTrips::default();
        rtt.on_sample(RTT);
        assert_eq!(rtt.timeout(), Duration::from_millis(254));
    }

    /// RFC 6298 section 2.3 by hand: 400 ms after 200 ms. The variation is
    /// 3/4 · 100 + 1/4 · 200 = 125 ms, the smoothed round trip 7/8 · 200 + 1/8 · 400 = 225 ms.
    #[test]
    //= rfc6298 2.3
    fn the_timeout_follows_the_variation() {
        let mut rtt = RoundTrips::default();
        rtt.on_sample(Duration::from_millis(200));
        rtt.on_sample(Duration::from_millis(400));
        assert_eq!(rtt.timeout(), Duration::from_millis(225 + 4 * 125));
    }

    #[test]
    //= rfc6298 2.5
    //= rfc9293 MUST-19
    fn each_timeout_doubles_the_next_until_two_minutes_or_a_sample() {
        let mut rtt = RoundTrips::default();
        rtt.on_sample(RTT);
        rtt.back_off();
        assert_eq!(rtt.timeout(), Duration::from_millis(508));
        for _ in 0..60 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), Duration::from_secs(120));
        rtt.on_sample(RTT);
        assert!(rtt.timeout() < Duration::from_millis(300));
    }
}

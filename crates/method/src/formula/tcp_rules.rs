//! What TCP does by its rules: initial windows, thresholds, timeouts and the rate that loss allows.

use core::time::Duration;

use crate::{BitsPerSecond, Bytes, Number, Seconds};

/// The initial window of RFC 5681 §3.1.
pub fn initial_window(smss_bytes: u64) -> Bytes {
    let segments: u64 = match smss_bytes {
        2191.. => 2,
        1096..=2190 => 3,
        0..=1095 => 4,
    };
    Bytes::whole(smss_bytes) * Number::from(segments)
}

/// The initial window of ten segments, RFC 6928 §2.
pub fn large_initial_window(mss: Bytes) -> Bytes {
    let most = (mss * Number::whole(2)).max(Bytes::whole(14_600));
    (mss * Number::whole(10)).min(most)
}

/// The slow start threshold after a loss, RFC 5681 equation 4, in whole bytes.
pub fn slow_start_threshold(flight: Bytes, smss: Bytes) -> Bytes {
    let two = Number::whole(2);
    (flight / two).floor().max(smss * two)
}

/// The retransmission timer of RFC 6298 §2.
#[derive(Clone, Copy, Debug)]
pub struct RetransmissionTimer {
    granularity: Seconds,
    estimate: Option<RttEstimate>,
}

/// Of the round-trip time, after one more sample.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimate {
    pub smoothed: Seconds,
    pub variation: Seconds,
    /// Before the floor of one second.
    pub raw_timeout: Seconds,
    pub timeout: Seconds,
}

impl RetransmissionTimer {
    pub const fn new(granularity: Seconds) -> Self {
        Self { granularity, estimate: None }
    }

    pub fn on_sample(&mut self, rtt: Seconds) -> RttEstimate {
        let (smoothed, variation) = match self.estimate {
            None => (rtt, rtt / Number::whole(2)),
            Some(before) => {
                // The variation goes first: it is counted from the old mean.
                let off = Seconds((before.smoothed - rtt).0.abs());
                let variation = before.variation + (off - before.variation) / Number::whole(4);
                (before.smoothed + (rtt - before.smoothed) / Number::whole(8), variation)
            }
        };
        let raw_timeout = smoothed + self.granularity.max(variation * Number::whole(4));
        let timeout = raw_timeout.max(Seconds(Number::ONE));
        let estimate = RttEstimate { smoothed, variation, raw_timeout, timeout };
        self.estimate = Some(estimate);
        estimate
    }
}

/// The rate that random loss allows a Reno sender, with a constant of 1: Mathis and others.
pub fn loss_limited_rate(mss: Bytes, rtt: Seconds, loss_ratio: Number) -> BitsPerSecond {
    mss / rtt / loss_ratio.sqrt()
}

/// The constant of the model for a receiver that acknowledges every segment: the root of 3/2.
pub fn mathis_constant() -> Number {
    Number::ratio(3, 2).sqrt()
}

/// How long CUBIC takes to bring a window back to where it lost a segment: K of RFC 9438 §4.2, with
/// its C of 0.4 segments per cubic second and a window that gives up 30 %.
pub fn cubic_epoch(window_segments: f64) -> Duration {
    Duration::from_secs_f64(libm::cbrt(window_segments.max(1.0) * 0.3 / 0.4))
}

/// The same of Reno, which gives up half of its window and gets a segment back in a round trip.
pub fn reno_epoch(window_segments: f64, rtt: Duration) -> Duration {
    rtt.mul_f64(window_segments.max(1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use fp_model::Rate;

    use super::*;

    #[test]
    fn the_initial_window_is_two_to_four_segments() {
        for (smss, window) in [(536, 2144), (1096, 3288), (2190, 6570), (2191, 4382)] {
            assert_eq!(initial_window(smss), Bytes::whole(window));
        }
    }

    #[test]
    fn the_large_initial_window_is_ten_segments_but_for_jumbo_frames_two() {
        for (mss, window) in [(536, 5360), (1460, 14_600), (8960, 17_920)] {
            assert_eq!(large_initial_window(Bytes::whole(mss)), Bytes::whole(window));
        }
    }

    #[test]
    fn the_threshold_is_half_of_the_flight_and_two_segments_at_least() {
        let after = |flight| slow_start_threshold(Bytes::whole(flight), Bytes::whole(1460));
        assert_eq!(after(100_000), Bytes::whole(50_000));
        assert_eq!(after(2000), Bytes::whole(2920));
    }

    /// 0.1 s, then 0.2: variation ¾·0.05 + ¼·0.1 = 0.0625, mean ⅞·0.1 + ⅛·0.2 = 0.1125.
    #[test]
    fn the_variation_is_updated_before_the_mean() {
        let seconds = |text| Seconds(Number::parse(text).unwrap());
        let mut timer = RetransmissionTimer::new(seconds("0.001"));
        let first = timer.on_sample(seconds("0.1"));
        assert_eq!((first.raw_timeout, first.timeout), (seconds("0.3"), seconds("1")));
        let second = timer.on_sample(seconds("0.2"));
        assert_eq!((second.smoothed, second.variation), (seconds("0.1125"), seconds("0.0625")));
        assert_eq!(second.raw_timeout, seconds("0.3625"));
    }

    /// 36 segments: 36 · 0.3 / 0.4 = 27, whose cube root is 3. Half of them in round trips of 50 ms.
    #[test]
    fn a_window_comes_back_after_a_loss_in_the_cube_root_of_its_size_or_a_segment_per_round_trip() {
        assert!((cubic_epoch(36.0).as_secs_f64() - 3.0).abs() < 1e-9);
        assert_eq!(reno_epoch(36.0, Duration::from_millis(50)), Duration::from_millis(900));
    }

    /// 1460 · 8 / (0.05 · 0.01) = 23.36 Mbit/s.
    #[test]
    fn one_loss_in_ten_thousand_at_50_ms_allows_23_mbit() {
        let rtt = Seconds::of_millis(Number::whole(50));
        let rate = loss_limited_rate(Bytes::whole(1460), rtt, Number::ratio(1, 10_000));
        assert!((rate.to_f64().unwrap() / 23_360_000.0 - 1.0).abs() < 1e-12);
        let lossless = loss_limited_rate(Bytes::whole(1460), rtt, Number::ZERO);
        assert_eq!(lossless.to_rate(), None::<Rate>);
    }
}

//! One-way delays of many frames in little memory.

use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Jitter;

use super::arrivals::DelayStatistics;

/// One-way delays in nanoseconds, each with the same unknown difference of the two clocks.
///
/// Every delay is kept up to 131,071 of them; from then on every second one, then every fourth, and
/// so on: memory stays the same and the sample stays spread over the whole trial.
#[derive(Debug)]
pub(super) struct Delays {
    /// Of all frames, the warm-up's too.
    smallest: i64,
    kept: Vec<i64>,
    stride: u64,
    count: u64,
    min: i64,
    max: i64,
    sum: i128,
}

impl Default for Delays {
    fn default() -> Self {
        Self {
            smallest: i64::MAX,
            kept: Vec::new(),
            stride: 1,
            count: 0,
            min: i64::MAX,
            max: i64::MIN,
            sum: 0,
        }
    }
}

impl Delays {
    const KEPT_MAX: usize = 1 << 17;

    pub(super) fn add_of_warm_up(&mut self, delay: i64) {
        self.smallest = self.smallest.min(delay);
    }

    pub(super) fn add(&mut self, delay: i64) {
        self.smallest = self.smallest.min(delay);
        self.min = self.min.min(delay);
        self.max = self.max.max(delay);
        self.sum += i128::from(delay);
        if self.count.is_multiple_of(self.stride) {
            self.kept.push(delay);
        }
        self.count += 1;
        if self.kept.len() == Self::KEPT_MAX {
            let mut place = 0_usize;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.stride *= 2;
        }
    }

    /// The statistics, and by how much the 99th percentile exceeds the smallest delay of all.
    pub(super) fn finish(mut self) -> Option<(DelayStatistics, Duration)> {
        self.kept.sort_unstable();
        // The smallest delay that at least so many of a thousand do not exceed.
        let percentile = |per_mille: usize| {
            let rank = (self.kept.len() * per_mille).div_ceil(1000);
            self.kept.get(rank.checked_sub(1)?).copied()
        };
        let p99 = percentile(990)?;
        let statistics = DelayStatistics {
            min_ns: self.min,
            mean_ns: (self.sum / i128::from(self.count)) as i64,
            p50_ns: percentile(500)?,
            p99_ns: p99,
            p99_9_ns: percentile(999)?,
            max_ns: self.max,
            samples: self.count,
        };
        Some((statistics, Duration::from_nanos(p99.abs_diff(self.smallest))))
    }
}

/// Variation of the delay from frame to frame, in the order of arrival.
#[derive(Debug, Default)]
pub(super) struct Variation {
    last: Option<(u64, i64)>,
    /// RFC 3550 section 6.4.1.
    estimate_ns: f64,
    seen: u64,
    successive_sum_ns: u128,
    successive: u64,
}

impl Variation {
    pub(super) fn add(&mut self, sequence: u64, delay: i64) {
        if let Some((last_sequence, last_delay)) = self.last.replace((sequence, delay)) {
            let variation_ns = delay.abs_diff(last_delay);
            self.estimate_ns += (variation_ns as f64 - self.estimate_ns) / 16.0;
            self.seen += 1;
            if sequence == last_sequence + 1 {
                self.successive_sum_ns += u128::from(variation_ns);
                self.successive += 1;
            }
        }
    }

    pub(super) fn finish(self) -> Option<Jitter> {
        let mean_ns = self.successive_sum_ns / u128::from(self.successive.max(1));
        (self.seen > 0).then(|| Jitter {
            rfc3550: Duration::from_nanos(self.estimate_ns as u64),
            mean: Some(Duration::from_nanos(mean_ns as u64)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_have_their_nearest_ranks() {
        let mut delays = Delays::default();
        delays.add_of_warm_up(-5);
        // 1 to 1,000 in some order.
        (0..1000).for_each(|n| delays.add((n * 7) % 1000 + 1));
        let (statistics, growth) = delays.finish().unwrap();
        let expected = DelayStatistics {
            min_ns: 1,
            // 500.5 rounded down.
            mean_ns: 500,
            p50_ns: 500,
            p99_ns: 990,
            p99_9_ns: 999,
            max_ns: 1000,
            samples: 1000,
        };
        assert_eq!(statistics, expected);
        assert_eq!(growth, Duration::from_nanos(995));
        assert!(Delays::default().finish().is_none());
    }

    #[test]
    fn delays_of_a_long_trial_are_thinned_evenly() {
        let mut delays = Delays::default();
        (0..1_000_000).for_each(|delay| delays.add(delay));
        assert!(delays.kept.len() < Delays::KEPT_MAX);
        let (statistics, growth) = delays.finish().unwrap();
        assert_eq!((statistics.min_ns, statistics.max_ns), (0, 999_999));
        // One in eight is kept, so that a rank is eight off at most.
        assert!((growth.as_nanos() as i64 - 990_000).abs() <= 8, "{growth:?}");
        assert!((statistics.p99_9_ns - 999_000).abs() <= 8);
    }

    #[test]
    fn jitter_follows_the_estimator_of_rfc_3550() {
        let mut variation = Variation::default();
        // |D| is 16 and 32: J = 0 + 16/16 = 1, then 1 + 31/16 = 2.9375. Frames 1 and 3 are no
        // successive pair, 0 and 1 are.
        for (sequence, delay) in [(0, 100), (1, 116), (3, 84)] {
            variation.add(sequence, delay);
        }
        let jitter = variation.finish().unwrap();
        assert_eq!(jitter.rfc3550, Duration::from_nanos(2));
        assert_eq!(jitter.mean, Some(Duration::from_nanos(16)));
        assert_eq!(Variation::default().finish(), None);
    }
}

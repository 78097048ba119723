//! A histogram of deviations from a plan: fine enough for percentiles, small whatever it holds.

use alloc::vec::Vec;
use fp_model::Deviations;

use crate::histogram::Histogram;

/// With bins of 3 %.
#[derive(Debug)]
pub(super) struct DeviationHistogram {
    deviations: Histogram<5>,
    log2_bins_us: Vec<u64>,
}

impl DeviationHistogram {
    pub(super) fn new() -> Self {
        Self { deviations: Histogram::new(), log2_bins_us: Vec::new() }
    }

    pub(super) fn add(&mut self, deviation_ns: u64) {
        self.deviations.add(deviation_ns);
        let bin = (deviation_ns / 1000).checked_ilog2().map_or(0, |log2| log2 as usize + 1);
        if self.log2_bins_us.len() <= bin {
            self.log2_bins_us.resize(bin + 1, 0);
        }
        self.log2_bins_us[bin] += 1;
    }

    pub(super) fn into_deviations(self) -> Deviations {
        Deviations {
            count: self.deviations.count(),
            p50: self.deviations.percentile(5000),
            p99: self.deviations.percentile(9900),
            max: self.deviations.max(),
            log2_bins_us: self.log2_bins_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    /// 500 ns lie in the doubling from 256 to 511, of 32 parts of 8 each: from 496 to 503. 3000 ns lie
    /// in that from 2048 on, of parts of 64: 2048 + 15 · 64 - 1 = 3007.
    #[test]
    fn a_hundred_deviations_have_their_percentiles_and_bins() {
        let mut histogram = DeviationHistogram::new();
        // 0.5 µs fifty times, 1 µs 48 times, 3 µs and 5 ms once.
        let each = [(500, 50), (1000, 48), (3000, 1), (5_000_000, 1)];
        for (deviation_ns, times) in each {
            (0..times).for_each(|_| histogram.add(deviation_ns));
        }
        let deviations = histogram.into_deviations();
        assert_eq!(deviations.count, 100);
        assert_eq!(deviations.p50, Duration::from_nanos(503));
        assert_eq!(deviations.p99, Duration::from_nanos(3007));
        assert_eq!(deviations.max, Duration::from_millis(5));
        // 3 µs lie from 2 to 4, 5 ms from 4.096 to 8.192.
        assert_eq!(deviations.log2_bins_us, [50, 48, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }
}

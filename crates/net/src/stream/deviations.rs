//! A histogram of deviations from a plan: fine enough for percentiles, small whatever it holds.

use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use fp_model::Deviations;

/// Exact up to 63 ns; from there on each doubling is cut into 32 equal parts, 3 % at most.
#[derive(Debug)]
pub(super) struct DeviationHistogram {
    counts: Vec<u64>,
    log2_bins_us: Vec<u64>,
    count: u64,
    max_ns: u64,
}

const EXACT: u64 = 64;
const PARTS_BITS: u32 = 5;
const PARTS: usize = 1 << PARTS_BITS;
/// Deviations of 2^42 ns, which is more than an hour, count as such.
const DOUBLING_MAX: u32 = 41;
const DOUBLING_MIN: u32 = EXACT.ilog2();
const COUNTS: usize = EXACT as usize + (DOUBLING_MAX - DOUBLING_MIN + 1) as usize * PARTS;

impl DeviationHistogram {
    pub(super) fn new() -> Self {
        Self { counts: vec![0; COUNTS], log2_bins_us: Vec::new(), count: 0, max_ns: 0 }
    }

    pub(super) fn add(&mut self, deviation_ns: u64) {
        self.counts[place(deviation_ns)] += 1;
        let bin = (deviation_ns / 1000).checked_ilog2().map_or(0, |log2| log2 as usize + 1);
        if self.log2_bins_us.len() <= bin {
            self.log2_bins_us.resize(bin + 1, 0);
        }
        self.log2_bins_us[bin] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(deviation_ns);
    }

    pub(super) fn into_deviations(self) -> Deviations {
        Deviations {
            count: self.count,
            p50: self.percentile(50),
            p99: self.percentile(99),
            max: Duration::from_nanos(self.max_ns),
            log2_bins_us: self.log2_bins_us,
        }
    }

    /// The end of the part in which the deviation of that rank is.
    fn percentile(&self, percent: u64) -> Duration {
        let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let mut passed = 0;
        let reached = self.counts.iter().position(|count| {
            passed += u128::from(*count);
            passed >= rank
        });
        Duration::from_nanos(reached.map_or(0, last_of).min(self.max_ns))
    }
}

fn place(deviation_ns: u64) -> usize {
    if deviation_ns < EXACT {
        return deviation_ns as usize;
    }
    let doubling = deviation_ns.ilog2();
    if doubling > DOUBLING_MAX {
        return COUNTS - 1;
    }
    let part = (deviation_ns >> (doubling - PARTS_BITS)) as usize % PARTS;
    EXACT as usize + (doubling - DOUBLING_MIN) as usize * PARTS + part
}

/// The largest deviation that has this place.
fn last_of(place: usize) -> u64 {
    let Some(beyond) = place.checked_sub(EXACT as usize) else { return place as u64 };
    let doubling = DOUBLING_MIN + (beyond / PARTS) as u32;
    (((PARTS + beyond % PARTS + 1) as u64) << (doubling - PARTS_BITS)) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_deviation_lies_at_most_3_percent_below_the_end_of_its_part(
            deviation_ns in prop_oneof![0_u64..5000, 0_u64..1 << 42],
        ) {
            let last = last_of(place(deviation_ns));
            prop_assert!(last >= deviation_ns);
            prop_assert!((last - deviation_ns) as f64 <= deviation_ns as f64 / 32.0);
            prop_assert_eq!(place(last), place(deviation_ns));
        }
    }

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
        assert_eq!(deviations.p50, Duration::from_nanos(last_of(place(500))));
        assert_eq!(deviations.p99, Duration::from_nanos(last_of(place(3000))));
        assert_eq!(deviations.max, Duration::from_millis(5));
        // 3 µs lie from 2 to 4, 5 ms from 4.096 to 8.192.
        assert_eq!(deviations.log2_bins_us, [50, 48, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn what_is_beyond_all_parts_is_told_as_the_largest() {
        let mut histogram = DeviationHistogram::new();
        histogram.add(u64::MAX);
        assert_eq!(histogram.into_deviations().max, Duration::from_nanos(u64::MAX));
    }
}

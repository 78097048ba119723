//! Counts of durations in bins that grow with them: fine enough for percentiles, small whatever they
//! hold.

use alloc::boxed::Box;
use alloc::vec;
use core::time::Duration;

use fp_model::TimeSummary;

/// Exact below 2^(`PARTS_BITS` + 1) ns; from there on each doubling is cut into 2^`PARTS_BITS` equal
/// parts.
#[derive(Clone, Debug)]
pub struct Histogram<const PARTS_BITS: u32> {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

/// With bins of less than 1 %.
pub type FineHistogram = Histogram<7>;

/// Durations of 2^42 ns, which is more than an hour, count as such.
const DOUBLING_MAX: u32 = 41;

impl<const PARTS_BITS: u32> Histogram<PARTS_BITS> {
    const PARTS: usize = 1 << PARTS_BITS;
    const EXACT: usize = Self::PARTS * 2;
    const COUNTS: usize = Self::EXACT + (DOUBLING_MAX - PARTS_BITS) as usize * Self::PARTS;

    pub fn new() -> Self {
        let counts = vec![0; Self::COUNTS].into();
        Self { counts, count: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    pub fn add(&mut self, nanos: u64) {
        self.counts[Self::place(nanos)] += 1;
        self.count += 1;
        self.sum_ns += u128::from(nanos);
        self.min_ns = self.min_ns.min(nanos);
        self.max_ns = self.max_ns.max(nanos);
    }

    /// Adds all that another one holds.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The largest of all.
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max_ns)
    }

    /// The end of the bin in which the duration of that rank is, of 10,000 ranks.
    pub fn percentile(&self, of_ten_thousand: u16) -> Duration {
        let rank = (u128::from(self.count) * u128::from(of_ten_thousand)).div_ceil(10_000);
        let mut passed = 0;
        let reached = self.counts.iter().position(|count| {
            passed += u128::from(*count);
            passed >= rank
        });
        Duration::from_nanos(match reached {
            // It has no end.
            Some(place) if place == Self::COUNTS - 1 => self.max_ns,
            Some(place) => Self::last_of(place).min(self.max_ns),
            None => 0,
        })
    }

    /// `None` where there is nothing.
    pub fn summary(&self) -> Option<TimeSummary> {
        let mean = self.sum_ns.checked_div(self.count.into())?;
        Some(TimeSummary {
            samples: self.count,
            min: Duration::from_nanos(self.min_ns),
            mean: Duration::from_nanos(mean as u64),
            p50: self.percentile(5000),
            p90: self.percentile(9000),
            p99: self.percentile(9900),
            p99_9: self.percentile(9990),
            p99_99: self.percentile(9999),
            max: self.max(),
        })
    }

    fn place(nanos: u64) -> usize {
        if nanos < Self::EXACT as u64 {
            return nanos as usize;
        }
        let doubling = nanos.ilog2();
        if doubling > DOUBLING_MAX {
            return Self::COUNTS - 1;
        }
        let part = (nanos >> (doubling - PARTS_BITS)) as usize % Self::PARTS;
        Self::EXACT + (doubling - PARTS_BITS - 1) as usize * Self::PARTS + part
    }

    /// The longest duration that has this place.
    fn last_of(place: usize) -> u64 {
        let Some(beyond) = place.checked_sub(Self::EXACT) else { return place as u64 };
        let doubling = PARTS_BITS + 1 + (beyond / Self::PARTS) as u32;
        (((Self::PARTS + beyond % Self::PARTS + 1) as u64) << (doubling - PARTS_BITS)) - 1
    }
}

impl<const PARTS_BITS: u32> Default for Histogram<PARTS_BITS> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn check<const PARTS_BITS: u32>(nanos: u64) {
        let last = Histogram::<PARTS_BITS>::last_of(Histogram::<PARTS_BITS>::place(nanos));
        assert!(last >= nanos);
        assert!((last - nanos) as f64 <= nanos as f64 / f64::from(1 << PARTS_BITS));
        assert_eq!(Histogram::<PARTS_BITS>::place(last), Histogram::<PARTS_BITS>::place(nanos));
    }

    proptest! {
        #[test]
        fn a_duration_lies_one_part_of_its_doubling_below_the_end_of_its_bin_at_most(
            nanos in prop_oneof![0_u64..5000, 0_u64..1 << 42],
        ) {
            check::<5>(nanos);
            check::<7>(nanos);
        }

        #[test]
        fn percentiles_are_those_of_the_sorted_list(
            nanos in vec(prop_oneof![0_u64..300, 0_u64..1 << 40], 1..300),
            split in any::<prop::sample::Index>(),
        ) {
            let (first, second) = nanos.split_at(split.index(nanos.len()));
            let histogram = |part: &[u64]| {
                let mut histogram = FineHistogram::new();
                part.iter().for_each(|nanos| histogram.add(*nanos));
                histogram
            };
            let mut whole = histogram(first);
            whole.merge(&histogram(second));
            let mut sorted = nanos.clone();
            sorted.sort_unstable();
            let summary = whole.summary().unwrap();
            let ranks = [(50.0, summary.p50), (90.0, summary.p90), (99.99, summary.p99_99)];
            for (percent, found) in ranks {
                let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
                let exact = sorted[rank - 1] as f64;
                let found = found.as_nanos() as f64;
                prop_assert!(found >= exact && found <= exact * 1.01, "{} for {}", found, exact);
            }
            let (least, most) = (sorted[0], sorted[sorted.len() - 1]);
            prop_assert_eq!((summary.min.as_nanos(), summary.max.as_nanos()), (least.into(), most.into()));
            prop_assert_eq!(summary.samples, nanos.len() as u64);
        }
    }

    #[test]
    fn what_is_beyond_all_bins_is_told_as_the_largest() {
        let mut histogram = FineHistogram::new();
        assert_eq!(histogram.summary(), None);
        histogram.add(u64::MAX);
        assert_eq!(histogram.percentile(9900), Duration::from_nanos(u64::MAX));
    }
}

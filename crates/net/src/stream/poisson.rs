//! Departures at random, as if nobody knew of the others: a Poisson process that can be entered anywhere.
//!
//! How many there are in the whole time is drawn first. Each half of a time then has as many of
//! them as heads in so many throws of a coin, and so on down to a few that are drawn one by one:
//! whoever asks for a time or for a number goes down one branch of that tree and keeps nothing.

use core::array;

use crate::link::random::{Purpose, Random};

/// Departures between two times, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct PoissonProcess {
    seed: u64,
    root: Branch,
}

/// A time, the departures before it and those in it.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// Those of its halves are twice that, and one more.
    number: u64,
    from: u64,
    until: u64,
    first: u64,
    count: u64,
}

/// A few departures in turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    branch: Branch,
    times: [u64; LEAF_MAX],
}

const LEAF_MAX: usize = 32;

impl PoissonProcess {
    /// So many per nanosecond in the mean.
    pub(super) fn new(seed: u64, from: u64, until: u64, per_nano: f64) -> Self {
        let mean = per_nano * (until - from) as f64;
        let count = poisson(mean, &mut Random::new(seed, 0, Purpose::Departures));
        Self { seed, root: Branch { number: 1, from, until, first: 0, count } }
    }

    pub(super) const fn count(&self) -> u64 {
        self.root.count
    }

    pub(super) fn count_before(&self, time: u64) -> u64 {
        let leaf = self.leaf(|later| time <= later.from);
        let passed = (0..leaf.branch.count).take_while(|place| leaf.time(*place) < time);
        leaf.branch.first + passed.count() as u64
    }

    /// The leaf that has the departure of this number, if there is one.
    pub(super) fn leaf_of(&self, sequence: u64) -> Option<Leaf> {
        (sequence < self.count()).then(|| self.leaf(|later| sequence < later.first))
    }

    /// Down the tree, to the earlier half where `is_earlier` says so of the later one.
    fn leaf(&self, is_earlier: impl Fn(&Branch) -> bool) -> Leaf {
        let mut branch = self.root;
        while !branch.is_leaf() {
            let (earlier, later) = branch.halves(self.seed);
            branch = if is_earlier(&later) { earlier } else { later };
        }
        let mut random = Random::new(self.seed, branch.number, Purpose::Departures);
        let lasts = branch.until - branch.from;
        let mut times = array::from_fn(|place| {
            let drawn = (random.unit() * lasts as f64) as u64;
            if (place as u64) < branch.count {
                branch.from + drawn.min(lasts.saturating_sub(1))
            } else {
                u64::MAX
            }
        });
        times.sort_unstable();
        Leaf { branch, times }
    }
}

impl Branch {
    /// Where a nanosecond has more departures than that, they share it.
    const fn is_leaf(&self) -> bool {
        self.count <= LEAF_MAX as u64 || self.until - self.from <= 1
    }

    fn halves(&self, seed: u64) -> (Self, Self) {
        let middle = self.from.midpoint(self.until);
        let mut random = Random::new(seed, self.number, Purpose::Departures);
        let earlier = heads(self.count, &mut random);
        let number = 2 * self.number;
        (
            Self { number, until: middle, count: earlier, ..*self },
            Self {
                number: number + 1,
                from: middle,
                until: self.until,
                first: self.first + earlier,
                count: self.count - earlier,
            },
        )
    }
}

impl Leaf {
    /// `None` of a departure of another leaf.
    pub(super) fn time_of(&self, sequence: u64) -> Option<u64> {
        let place = sequence.checked_sub(self.branch.first)?;
        (place < self.branch.count).then(|| self.time(place))
    }

    fn time(&self, place: u64) -> u64 {
        if self.branch.count > LEAF_MAX as u64 {
            self.branch.from
        } else {
            self.times[place as usize]
        }
    }
}

/// Beyond this many a sum of chances is as good as normal.
const COUNTED_MAX: u64 = 4096;

/// How many heads there are in so many throws of a coin.
fn heads(throws: u64, random: &mut Random) -> u64 {
    if throws > COUNTED_MAX {
        let deviation = libm::sqrt(throws as f64) / 2.0;
        let drawn = throws as f64 / 2.0 + deviation * random.normal();
        return (drawn.max(0.0) as u64).min(throws);
    }
    let mut heads = 0;
    let mut left = throws;
    while left > 0 {
        let thrown = left.min(64);
        heads += u64::from((random.next() >> (64 - thrown)).count_ones());
        left -= thrown;
    }
    heads
}

/// How many events there are where `mean` are expected.
fn poisson(mean: f64, random: &mut Random) -> u64 {
    if mean > COUNTED_MAX as f64 {
        return (mean + libm::sqrt(mean) * random.normal() + 0.5).max(0.0) as u64;
    }
    let mut events = 0;
    let mut waited = random.exponential();
    while waited < mean {
        events += 1;
        waited += random.exponential();
    }
    events
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    proptest! {
        #[test]
        fn a_number_and_a_time_lead_to_the_same_departure(
            seed in any::<u64>(),
            from in 0_u64..SECOND,
            lasts in 1_u64..20 * SECOND,
            mean in 0.0_f64..20_000.0,
            asked in any::<prop::sample::Index>(),
        ) {
            let process = PoissonProcess::new(seed, from, from + lasts, mean / lasts as f64);
            prop_assume!(process.count() > 0);
            let sequence = asked.index(process.count() as usize) as u64;
            let time = process.leaf_of(sequence).unwrap().time_of(sequence).unwrap();
            prop_assert!((from..from + lasts).contains(&time));
            let (before, by) = (process.count_before(time), process.count_before(time + 1));
            prop_assert!((before..by).contains(&sequence), "{sequence} is none of {before}..{by}");
            prop_assert_eq!(process.count_before(from), 0);
            prop_assert_eq!(process.count_before(from + lasts), process.count());
        }

        /// Of a Poisson process, counts in bins apart are independent, with a variance as large as
        /// the mean. Over 400 bins the sum deviates by √(400 · mean), and the variance of the counts
        /// from the mean by about a factor of √(2 / 399) = 7 %.
        #[test]
        fn bins_hold_as_many_as_chance_gives(seed in any::<u64>(), mean in 4.0_f64..200.0) {
            let bins = 400_u64;
            let bin = SECOND / bins;
            let process = PoissonProcess::new(seed, 0, SECOND, mean / bin as f64);
            let before: alloc::vec::Vec<u64> =
                (0..=bins).map(|k| process.count_before(k * bin)).collect();
            let counts = before.windows(2).map(|pair| (pair[1] - pair[0]) as f64);
            let (sum, squares) = counts.fold((0.0, 0.0), |(sum, squares), count| {
                (sum + count, squares + (count - mean) * (count - mean))
            });
            let expected = mean * bins as f64;
            prop_assert!((sum - expected).abs() < 6.0 * libm::sqrt(expected), "{sum} of {expected}");
            let variance = squares / bins as f64;
            // Small means deviate a little more: their fourth moment is 3 m² + m.
            let spread = libm::sqrt((2.0 + 1.0 / mean) / bins as f64);
            prop_assert!((variance / mean - 1.0).abs() < 6.0 * spread, "{variance} of {mean}");
        }
    }

    #[test]
    fn departures_beyond_one_a_nanosecond_share_it() {
        let process = PoissonProcess::new(1, 0, 100, 1000.0);
        let last = process.count() - 1;
        assert!(last > 90_000);
        assert_eq!(process.leaf_of(last).unwrap().time_of(last), Some(99));
        assert!(process.leaf_of(last + 1).is_none());
    }
}

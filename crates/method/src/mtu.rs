//! The search for the largest packet that a path carries: RFC 4821 §7 and RFC 8899 §5.

/// Sizes at which real paths end: jumbo frames, FDDI, Ethernet, and Ethernet less the tunnels.
const COMMON_SIZES: [u32; 21] = [
    9000, 4352, 2002, 1500, 1492, 1480, 1476, 1472, 1460, 1450, 1440, 1430, 1428, 1420, 1412, 1400,
    1380, 1350, 1300, 1280, 1200,
];

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeOutcome {
    Answered,
    /// It alone was lost, as often as it was tried, while small packets came through.
    TooLarge,
    /// Small packets were lost too: it says nothing, the same size comes again.
    Inconclusive,
}

/// What a search wants next, in bytes of IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MtuStep {
    Probe(u32),
    Found(u32),
}

/// A search between a size that is known to pass and one that is not known to.
#[derive(Clone, Debug)]
pub struct MtuSearch {
    /// The largest size known to pass.
    low: u32,
    /// The largest size that may still pass.
    high: u32,
    advice: Advice,
}

/// What else than halving is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Advice {
    None,
    /// The upper limit first: on a clean path one probe is all.
    LimitFirst,
    CommonSizes,
    /// A path that ends at a common size ends exactly there: one byte more would be lost.
    OneMore,
}

impl MtuSearch {
    /// Halves the range with every probe: RFC 4821 §7.3.
    pub const fn bisect(known_good_bytes: u32, limit_bytes: u32) -> Self {
        Self { low: known_good_bytes, high: limit_bytes, advice: Advice::None }
    }

    /// Tries the limit, then common sizes, then halves what is left.
    pub const fn likely_sizes_first(known_good_bytes: u32, limit_bytes: u32) -> Self {
        Self { low: known_good_bytes, high: limit_bytes, advice: Advice::LimitFirst }
    }

    pub fn next(&self) -> MtuStep {
        if self.high <= self.low {
            return MtuStep::Found(self.low);
        }
        let halfway = self.low + (self.high - self.low).div_ceil(2);
        MtuStep::Probe(match self.advice {
            Advice::LimitFirst => self.high,
            Advice::CommonSizes => self.common_size().unwrap_or(halfway),
            Advice::OneMore => self.low + 1,
            Advice::None => halfway,
        })
    }

    /// Notes the outcome of the probe that [`Self::next`] asked for.
    pub fn on_outcome(&mut self, outcome: ProbeOutcome) {
        let MtuStep::Probe(size) = self.next() else { return };
        match outcome {
            ProbeOutcome::Answered => self.low = size,
            ProbeOutcome::TooLarge => self.high = size - 1,
            ProbeOutcome::Inconclusive => return,
        }
        self.advice = match self.advice {
            Advice::LimitFirst | Advice::CommonSizes if self.common_size().is_some() => {
                Advice::CommonSizes
            }
            Advice::LimitFirst | Advice::CommonSizes if COMMON_SIZES.contains(&self.low) => {
                Advice::OneMore
            }
            Advice::LimitFirst | Advice::CommonSizes | Advice::OneMore | Advice::None => {
                Advice::None
            }
        };
    }

    /// The middle one of the common sizes that are still possible.
    fn common_size(&self) -> Option<u32> {
        let possible = |size: &&u32| (self.low + 1..=self.high).contains(*size);
        let count = COMMON_SIZES.iter().filter(possible).count();
        COMMON_SIZES.iter().filter(possible).nth(count / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn across(mut search: MtuSearch, path_mtu: u32) -> (u32, Vec<u32>) {
        let mut probes = Vec::new();
        loop {
            match search.next() {
                MtuStep::Found(mtu) => return (mtu, probes),
                MtuStep::Probe(size) => {
                    probes.push(size);
                    let passes = size <= path_mtu;
                    let outcome =
                        if passes { ProbeOutcome::Answered } else { ProbeOutcome::TooLarge };
                    search.on_outcome(outcome);
                }
            }
        }
    }

    /// Each probe is halfway, rounded up, between the bounds: (1024 + 1500 + 1) / 2 = 1262.
    //= rfc6349 3.1
    #[test]
    fn halving_finds_1400_between_1024_and_1500() {
        let (mtu, probes) = across(MtuSearch::bisect(1024, 1500), 1400);
        assert_eq!(mtu, 1400);
        assert_eq!(probes, [1262, 1381, 1441, 1411, 1396, 1403, 1399, 1401, 1400]);
    }

    #[test]
    fn a_clean_path_needs_one_probe() {
        assert_eq!(
            across(MtuSearch::likely_sizes_first(1200, 1500), 1500),
            (1500, Vec::from([1500]))
        );
    }

    /// Of the sizes that are lost only those cost time: each is tried three times.
    #[test]
    fn a_tunnel_is_found_with_few_lost_probes() {
        for path_mtu in [1492, 1480, 1472, 1450, 1420, 1400, 1380, 1280] {
            let (mtu, probes) = across(MtuSearch::likely_sizes_first(1200, 1500), path_mtu);
            assert_eq!(mtu, path_mtu);
            let lost = probes.iter().filter(|size| **size > path_mtu).count();
            assert!(lost <= 6, "{probes:?} for {path_mtu}");
        }
    }

    #[test]
    fn a_probe_that_says_nothing_is_sent_again() {
        let mut search = MtuSearch::likely_sizes_first(1200, 1500);
        search.on_outcome(ProbeOutcome::Inconclusive);
        assert_eq!(search.next(), MtuStep::Probe(1500));
    }

    proptest! {
        #[test]
        fn both_searches_find_every_path_mtu(low in 68_u32..2000, span in 0_u32..70_000, at in 0.0..=1.0) {
            let high = low + span;
            let path_mtu = low + (f64::from(span) * at) as u32;
            for search in [MtuSearch::bisect(low, high), MtuSearch::likely_sizes_first(low, high)] {
                let (mtu, probes) = across(search, path_mtu);
                prop_assert_eq!(mtu, path_mtu);
                prop_assert!(probes.len() <= 26, "{:?}", probes);
            }
        }
    }
}

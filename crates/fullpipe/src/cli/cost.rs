//! What a test takes, as far as its command line tells.

use std::iter::Sum;
use std::time::Duration;

/// Time, and what is sent into a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) at_least: Duration,
    /// If nothing has to be repeated; `None` where the network decides it.
    pub(crate) at_most_bytes: Option<u64>,
}

impl Cost {
    /// Virtual time takes none, and sends nothing.
    pub(crate) const NOTHING: Self = Self { at_least: Duration::ZERO, at_most_bytes: Some(0) };

    /// As much as the network carries in this time at least.
    pub(crate) const fn open(at_least: Duration) -> Self {
        Self { at_least, at_most_bytes: None }
    }

    pub(crate) fn times(self, count: u32) -> Self {
        Self {
            at_least: self.at_least.saturating_mul(count),
            at_most_bytes: self.at_most_bytes.map(|bytes| bytes.saturating_mul(count.into())),
        }
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::NOTHING, |sum, cost| Self {
            at_least: sum.at_least.saturating_add(cost.at_least),
            at_most_bytes: sum
                .at_most_bytes
                .zip(cost.at_most_bytes)
                .map(|(a, b)| a.saturating_add(b)),
        })
    }
}

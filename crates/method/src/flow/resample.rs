//! A series of bytes cut at other instants, without losing or inventing one.

use alloc::vec::Vec;
use core::time::Duration;

/// Bytes that came evenly within a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub at: Duration,
    pub lasts: Duration,
    pub bytes: u64,
}

/// The bytes of `spans`, which follow one another, between each edge and the next.
///
/// What lies outside the edges is left out; the sums of what lies within are exact.
pub fn resample(spans: &[Span], edges: &[Duration]) -> Vec<u64> {
    let until: Vec<u64> = edges.iter().map(|edge| bytes_until(spans, *edge)).collect();
    until.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
}

fn bytes_until(spans: &[Span], edge: Duration) -> u64 {
    spans.iter().map(|span| span.bytes_until(edge)).sum()
}

impl Span {
    fn bytes_until(&self, edge: Duration) -> u64 {
        let passed = edge.saturating_sub(self.at);
        if passed.is_zero() {
            return 0;
        }
        if passed >= self.lasts {
            return self.bytes;
        }
        (u128::from(self.bytes) * passed.as_nanos() / self.lasts.as_nanos()) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn bytes_go_to_intervals_by_the_time_they_share() {
        let spans = [
            Span { at: MS(0), lasts: MS(100), bytes: 1000 },
            Span { at: MS(100), lasts: MS(200), bytes: 600 },
        ];
        // 0 … 50: half of the first; 50 … 150: the other half and a quarter of the second.
        let bytes = resample(&spans, &[MS(0), MS(50), MS(150), MS(300), MS(400)]);
        assert_eq!(bytes, [500, 650, 450, 0]);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_or_invented(
            slots in prop::collection::vec((1_u64..300, 0_u64..1_000_000_000), 1..50),
            cuts in prop::collection::vec(0_u64..10_000, 0..20),
        ) {
            let mut at = Duration::ZERO;
            let spans: Vec<Span> = slots.iter().map(|(ms, bytes)| {
                let span = Span { at, lasts: MS(*ms), bytes: *bytes };
                at += span.lasts;
                span
            }).collect();
            let mut edges: Vec<Duration> = cuts.iter().map(|ms| MS(*ms)).collect();
            edges.extend([Duration::ZERO, at.max(MS(10_000))]);
            edges.sort_unstable();
            let total: u64 = spans.iter().map(|span| span.bytes).sum();
            prop_assert_eq!(resample(&spans, &edges).iter().sum::<u64>(), total);
        }
    }
}

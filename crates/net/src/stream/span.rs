//! How long some frames took.

use core::time::Duration;

/// From the first to the last of some frames, in the order of time.
#[derive(Debug, Default)]
pub(super) struct Span {
    /// Nanoseconds since the start of the trial.
    ends: Option<(i64, i64)>,
    bytes: u64,
    /// Of the frame that came last.
    last_bytes: u64,
}

impl Span {
    pub(super) fn add(&mut self, at_ns: i64, frame_bytes: u64) {
        let (first, last) = self.ends.unwrap_or((at_ns, at_ns));
        if at_ns >= last {
            self.last_bytes = frame_bytes;
        }
        self.ends = Some((first.min(at_ns), last.max(at_ns)));
        self.bytes += frame_bytes;
    }

    /// Since the start of the trial.
    pub(super) fn first_ns(&self) -> Option<i64> {
        self.ends.map(|(first, _)| first)
    }

    /// The time that the frames stand for: that in which all but the last have passed, and the
    /// last one's share of it more. `None` with fewer than two frames.
    pub(super) fn stood_for(&self) -> Option<Duration> {
        let (first, last) = self.ends?;
        let passed = self.bytes.checked_sub(self.last_bytes).filter(|passed| *passed > 0)?;
        let lasted = u128::from(last.abs_diff(first));
        let nanos = lasted * u128::from(self.bytes) / u128::from(passed);
        Some(Duration::from_nanos(nanos as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_stand_for_their_span_and_the_last_ones_share() {
        let mut span = Span::default();
        span.add(127_000_000, 1000);
        assert_eq!(span.stood_for(), None);
        (1..=10).for_each(|place| span.add(127_000_000 + place * 10_000_000, 1000));
        // Ten intervals in the 100 ms from 127 to 227 ms, for eleven frames.
        assert_eq!(span.stood_for(), Some(Duration::from_millis(110)));
        // 11,000 bytes have passed in the 140 ms until 267 ms, when 3,000 more come.
        span.add(267_000_000, 3000);
        assert_eq!(span.stood_for(), Some(Duration::from_nanos(140_000_000 * 14 / 11)));
    }
}

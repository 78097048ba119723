//! Payload that is a function of its position, so that neither end has to keep any.

use crate::link::random::SplitMix64;

/// The bytes of one stream. Two streams of different seeds have nothing in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    seed: u64,
}

const WORD_BYTES: u64 = 8;

impl Pattern {
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Writes what stands in the stream from `position` on.
    pub fn fill(&self, position: u64, payload: &mut [u8]) {
        self.each_part(position, payload.len(), |at, part| {
            payload[at..at + part.len()].copy_from_slice(part);
            true
        });
    }

    /// Whether this payload is what stands in the stream from `position` on.
    pub fn matches(&self, position: u64, payload: &[u8]) -> bool {
        self.each_part(position, payload.len(), |at, part| payload[at..at + part.len()] == *part)
    }

    /// Calls `part` with the parts of words that lie there, until one gives `false`.
    fn each_part(
        &self,
        position: u64,
        bytes: usize,
        mut part: impl FnMut(usize, &[u8]) -> bool,
    ) -> bool {
        let mut at = 0;
        let mut skip = (position % WORD_BYTES) as usize;
        let mut words = SplitMix64::at(self.seed, position / WORD_BYTES);
        while at < bytes {
            let word = words.next().to_le_bytes();
            let end = (skip + bytes - at).min(word.len());
            if !part(at, &word[skip..end]) {
                return false;
            }
            at += end - skip;
            skip = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_byte_depends_on_its_position_alone(
            seed: u64,
            start in 0..u64::MAX / 2,
            skip in 0_usize..40,
            bytes in 1_usize..40,
        ) {
            let pattern = Pattern::new(seed);
            let mut whole = [0; 80];
            pattern.fill(start, &mut whole);
            let part = &whole[skip..skip + bytes];
            prop_assert!(pattern.matches(start + skip as u64, part));
            let mut other = whole;
            other[skip] ^= 1;
            prop_assert!(!pattern.matches(start, &other));
        }
    }

    #[test]
    fn another_position_and_another_seed_do_not_match() {
        let mut payload = [0; 64];
        Pattern::new(1).fill(1000, &mut payload);
        assert!(!Pattern::new(1).matches(1001, &payload));
        assert!(!Pattern::new(2).matches(1000, &payload));
    }
}

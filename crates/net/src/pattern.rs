//! Payload that is a function of its position, so that neither end has to keep any.

use crate::link::random::SplitMix64;

/// The bytes of one stream; streams of different seeds have different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    seed: u64,
}

const WORD_BYTES: usize = 8;

impl Pattern {
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Writes what stands in the stream from `position` on.
    pub fn fill(&self, position: u64, payload: &mut [u8]) {
        let (mut words, head_bytes) = self.words_from(position, payload.len());
        let (head, rest) = payload.split_at_mut(head_bytes);
        if head_bytes > 0 {
            head.copy_from_slice(&words.next().to_le_bytes()[skipped(position)..][..head_bytes]);
        }
        let mut whole = rest.chunks_exact_mut(WORD_BYTES);
        for word in &mut whole {
            word.copy_from_slice(&words.next().to_le_bytes());
        }
        let tail = whole.into_remainder();
        if !tail.is_empty() {
            tail.copy_from_slice(&words.next().to_le_bytes()[..tail.len()]);
        }
    }

    /// Whether this payload is what stands in the stream from `position` on.
    pub fn matches(&self, position: u64, payload: &[u8]) -> bool {
        let (mut words, head_bytes) = self.words_from(position, payload.len());
        let (head, rest) = payload.split_at(head_bytes);
        if head_bytes > 0 && head != &words.next().to_le_bytes()[skipped(position)..][..head_bytes]
        {
            return false;
        }
        let (whole, tail) = rest.as_chunks::<WORD_BYTES>();
        if !whole.iter().all(|word| u64::from_le_bytes(*word) == words.next()) {
            return false;
        }
        tail.is_empty() || tail == &words.next().to_le_bytes()[..tail.len()]
    }

    /// The words from the one on in which `position` lies, and how many bytes of that are wanted if
    /// not all of them are.
    const fn words_from(&self, position: u64, bytes: usize) -> (SplitMix64, usize) {
        let words = SplitMix64::at(self.seed, position / WORD_BYTES as u64);
        let left = WORD_BYTES - skipped(position);
        let head_bytes = match left {
            WORD_BYTES => 0,
            _ if left < bytes => left,
            _ => bytes,
        };
        (words, head_bytes)
    }
}

/// What of a word lies before `position`.
const fn skipped(position: u64) -> usize {
    position as usize % WORD_BYTES
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

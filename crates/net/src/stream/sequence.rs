//! Which sequence numbers have arrived: each counts once, however often and in whatever order.

use alloc::vec;
use alloc::vec::Vec;

/// What an arrival is to its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    InOrder,
    /// For the first time, but smaller than one seen before: RFC 4737 section 3.3.
    OutOfOrder,
    Duplicate,
}

/// Remembers the last sequence numbers: 2^22 unless told otherwise, which are seven seconds at
/// 600,000 frames a second.
#[derive(Debug)]
pub struct SeenSequences {
    /// A bit for each number of the window, number n at n modulo the window.
    seen: Vec<u64>,
    /// One above the largest number seen.
    next: u64,
}

impl Default for SeenSequences {
    fn default() -> Self {
        Self::remembering(Self::WINDOW)
    }
}

impl SeenSequences {
    pub const WINDOW: u64 = 1 << 22;

    /// So many numbers, in whole words of 64.
    pub fn remembering(window: u64) -> Self {
        Self { seen: vec![0; window.div_ceil(64).max(1) as usize], next: 0 }
    }

    const fn window(&self) -> u64 {
        self.seen.len() as u64 * 64
    }

    /// A number further back than the window is taken for a duplicate: nothing is counted twice.
    pub fn on_arrival(&mut self, sequence: u64) -> Arrived {
        if sequence >= self.next {
            self.forget_up_to(sequence);
            self.set(sequence);
            self.next = sequence + 1;
            return Arrived::InOrder;
        }
        if self.next - sequence > self.window() || self.is_set(sequence) {
            return Arrived::Duplicate;
        }
        self.set(sequence);
        Arrived::OutOfOrder
    }

    /// Clears the bits of the numbers from `next` to `sequence`, which older numbers have used.
    fn forget_up_to(&mut self, sequence: u64) {
        if sequence - self.next >= self.window() {
            self.seen.fill(0);
            return;
        }
        for number in self.next..=sequence {
            let (word, bit) = self.place(number);
            self.seen[word] &= !bit;
        }
    }

    fn set(&mut self, sequence: u64) {
        let (word, bit) = self.place(sequence);
        self.seen[word] |= bit;
    }

    fn is_set(&self, sequence: u64) -> bool {
        let (word, bit) = self.place(sequence);
        self.seen[word] & bit != 0
    }

    const fn place(&self, sequence: u64) -> (usize, u64) {
        let index = sequence % self.window();
        ((index / 64) as usize, 1 << (index % 64))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Steps forth and back of any size, so that losses, duplicates and reordering occur, near
        /// the head and beyond the window.
        #[test]
        fn a_number_within_the_window_counts_as_in_a_set(
            steps in prop::collection::vec(
                prop_oneof![
                    6 => -3_i64..8,
                    2 => -2000_i64..3000,
                    1 => -(SeenSequences::WINDOW as i64)..SeenSequences::WINDOW as i64 * 2,
                ],
                1..100,
            )
        ) {
            let mut seen = SeenSequences::default();
            let mut model = BTreeSet::new();
            let mut at = 0_i64;
            for step in steps {
                at = (at + step).max(0);
                let number = at as u64;
                let largest = model.last().copied();
                let within = largest.is_none_or(|largest| number + SeenSequences::WINDOW > largest);
                let expected = match (model.insert(number), within) {
                    (false, _) | (true, false) => Arrived::Duplicate,
                    (true, true) if largest.is_some_and(|largest| number < largest) => {
                        Arrived::OutOfOrder
                    }
                    (true, true) => Arrived::InOrder,
                };
                prop_assert_eq!(seen.on_arrival(number), expected);
            }
        }
    }

    #[test]
    fn a_frame_is_out_of_order_if_a_later_one_came_before_it() {
        // 4, 5 and 6 come after 9, so each is smaller than the largest number before it.
        let mut seen = SeenSequences::default();
        let arrived = [1, 2, 3, 7, 8, 9, 4, 5, 6, 10].map(|number| seen.on_arrival(number));
        let late: Vec<usize> =
            (0..10).filter(|place| arrived[*place] == Arrived::OutOfOrder).collect();
        assert_eq!(late, [6, 7, 8]);
    }
}

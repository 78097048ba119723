//! The lengths of a stream's frames: always the same, or a mix that repeats.

use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};

/// Frame lengths from destination address to FCS, repeated in this order for as long as frames are
/// sent: frame n has length n modulo their number.
///
/// One length is a stream of equal frames; several are an IMIX as RFC 6985 writes it down. In JSON
/// a number, or a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct FrameSizes(Vec<u32>);

/// Why lengths are no sequence of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSizesError {
    Count(usize),
    Zero,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Fixed(u32),
    Mix(Vec<u32>),
}

impl FrameSizes {
    pub const LENGTHS_MAX: usize = 64;

    /// Frames that all have `frame_bytes`; one byte at least, so that frames always take time.
    pub fn fixed(frame_bytes: u32) -> Self {
        Self(Vec::from([frame_bytes.max(1)]))
    }

    /// Frames of these lengths in turn. Whether an end sends frames so short or so long is its own
    /// business.
    ///
    /// # Errors
    /// For none or more than [`Self::LENGTHS_MAX`] of them, and for a length of zero.
    pub fn new(lengths: Vec<u32>) -> Result<Self, FrameSizesError> {
        let (Some(first), 1..=Self::LENGTHS_MAX) = (lengths.first().copied(), lengths.len()) else {
            return Err(FrameSizesError::Count(lengths.len()));
        };
        if lengths.contains(&0) {
            return Err(FrameSizesError::Zero);
        }
        let is_fixed = lengths.iter().all(|length| *length == first);
        Ok(if is_fixed { Self::fixed(first) } else { Self(lengths) })
    }

    /// The lengths of one cycle; a single one where all frames are equal.
    pub fn lengths(&self) -> &[u32] {
        &self.0
    }

    /// The length of frame `sequence`, counted from zero.
    pub fn of(&self, sequence: u64) -> u32 {
        self.0[(sequence % self.0.len() as u64) as usize]
    }

    pub fn shortest(&self) -> u32 {
        self.0.iter().copied().min().unwrap_or(1)
    }

    pub fn longest(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(1)
    }

    /// Bytes of one whole cycle.
    pub fn cycle_bytes(&self) -> u64 {
        self.0.iter().copied().map(u64::from).sum()
    }

    /// Bytes of the first `frames` frames together.
    pub fn bytes_of_first(&self, frames: u64) -> u128 {
        let cycle = self.0.len() as u64;
        let begun = &self.0[..(frames % cycle) as usize];
        let begun: u64 = begun.iter().copied().map(u64::from).sum();
        u128::from(frames / cycle) * u128::from(self.cycle_bytes()) + u128::from(begun)
    }

    /// How many frames begin within the first `bytes` bytes.
    pub fn frames_begun_in(&self, bytes: u128) -> u128 {
        let cycle = u128::from(self.cycle_bytes());
        let mut begins = 0;
        let begun = self.0.iter().filter(|length| {
            let begun = begins < bytes % cycle;
            begins += u128::from(**length);
            begun
        });
        bytes / cycle * self.0.len() as u128 + begun.count() as u128
    }
}

impl From<FrameSizes> for Written {
    fn from(sizes: FrameSizes) -> Self {
        match sizes.0.as_slice() {
            [length] => Self::Fixed(*length),
            _ => Self::Mix(sizes.0),
        }
    }
}

impl TryFrom<Written> for FrameSizes {
    type Error = FrameSizesError;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        match written {
            Written::Fixed(length) => Self::new(Vec::from([length])),
            Written::Mix(lengths) => Self::new(lengths),
        }
    }
}

/// As a person writes it: `1518`, or `64, 570, 1518`.
impl fmt::Display for FrameSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, length) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{length}")?;
        }
        Ok(())
    }
}

impl fmt::Display for FrameSizesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => {
                write!(f, "a mix has 1 to {} frame lengths, not {count}", FrameSizes::LENGTHS_MAX)
            }
            Self::Zero => f.write_str("a frame has no length of 0 bytes"),
        }
    }
}

impl core::error::Error for FrameSizesError {}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    /// The simple IMIX: seven of 64 bytes, four of 570 and one of 1518, 4246 bytes a cycle.
    fn imix() -> FrameSizes {
        let lengths = [vec![64; 7], vec![570; 4], vec![1518]].concat();
        FrameSizes::new(lengths).unwrap()
    }

    #[test]
    fn a_mix_repeats_in_its_order() {
        assert_eq!((imix().of(6), imix().of(7), imix().of(11), imix().of(12)), (64, 570, 1518, 64));
        assert_eq!(imix().cycle_bytes(), 4246);
        // Two cycles, seven of 64 and one of 570.
        assert_eq!(imix().bytes_of_first(32), 2 * 4246 + 7 * 64 + 570);
    }

    #[test]
    fn a_frame_has_begun_with_its_first_byte() {
        let sizes = FrameSizes::new(vec![64, 100]).unwrap();
        let begun = [0, 1, 64, 65, 164, 165, 228, 229].map(|bytes| sizes.frames_begun_in(bytes));
        assert_eq!(begun, [0, 1, 1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn equal_lengths_are_one_length() {
        assert_eq!(FrameSizes::new(vec![512; 3]), Ok(FrameSizes::fixed(512)));
        assert_eq!(FrameSizes::new(vec![]), Err(FrameSizesError::Count(0)));
        assert_eq!(FrameSizes::new(vec![64; 65]), Err(FrameSizesError::Count(65)));
        assert_eq!(FrameSizes::new(vec![64, 0]), Err(FrameSizesError::Zero));
    }
}

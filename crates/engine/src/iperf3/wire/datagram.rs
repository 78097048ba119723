//! What each UDP datagram of a test begins with: when it was sent, and its number from 1 on.

use std::time::Duration;

use fp_model::Time;

/// How wide the numbers are, by agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    Bits32,
    Bits64,
}

/// The head of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    /// On the sender's own monotonic clock, to the microsecond.
    pub sent_at: Time,
    /// With [`Counter::Bits32`], of which only the lower half goes over the wire.
    pub number: u64,
}

impl DatagramHead {
    /// The longest; the padding that follows a shorter one is of no account.
    pub const BYTES_MAX: usize = 16;

    pub fn bytes(&self, counter: Counter) -> [u8; Self::BYTES_MAX] {
        let micros = self.sent_at.as_nanos() / 1000;
        let mut bytes = [0; Self::BYTES_MAX];
        bytes[..4].copy_from_slice(&((micros / 1_000_000) as u32).to_be_bytes());
        bytes[4..8].copy_from_slice(&((micros % 1_000_000) as u32).to_be_bytes());
        match counter {
            Counter::Bits32 => bytes[8..12].copy_from_slice(&(self.number as u32).to_be_bytes()),
            Counter::Bits64 => bytes[8..].copy_from_slice(&self.number.to_be_bytes()),
        }
        bytes
    }

    /// `None` for a datagram that is too short to have one.
    pub fn of(datagram: &[u8], counter: Counter) -> Option<Self> {
        let number = match counter {
            Counter::Bits32 => u64::from(u32::from_be_bytes(*datagram.get(8..)?.first_chunk()?)),
            Counter::Bits64 => u64::from_be_bytes(*datagram.get(8..)?.first_chunk()?),
        };
        let seconds = u32::from_be_bytes(*datagram.first_chunk()?);
        let micros = u32::from_be_bytes(*datagram.get(4..)?.first_chunk()?);
        let sent = Duration::from_secs(seconds.into()) + Duration::from_micros(micros.into());
        Some(Self { sent_at: Time::ZERO + sent, number })
    }
}

impl Counter {
    /// Of the head with such a number.
    pub const fn head_bytes(self) -> usize {
        match self {
            Self::Bits32 => 12,
            Self::Bits64 => 16,
        }
    }

    /// The whole number that `number` stands for, next to one that was seen: 32 bits come round
    /// after 4,294,967,296 datagrams.
    pub const fn unwrapped(self, number: u64, near: u64) -> u64 {
        match self {
            Self::Bits64 => number,
            Self::Bits32 => {
                let ahead = (number as u32).wrapping_sub(near as u32).cast_signed();
                near.saturating_add_signed(ahead as i64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_stand_big_endian_behind_seconds_and_microseconds() {
        let sent_at = Time::ZERO + Duration::from_micros(5_000_007);
        let head = DatagramHead { sent_at, number: 0x0102 };
        let short = head.bytes(Counter::Bits32);
        assert_eq!(short[..12], [0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 1, 2]);
        let long = head.bytes(Counter::Bits64);
        assert_eq!(long, [0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_number_of_32_bits_goes_on_counting_when_it_comes_round() {
        let first_round = u64::from(u32::MAX);
        assert_eq!(Counter::Bits32.unwrapped(2, first_round - 1), first_round + 3);
        assert_eq!(Counter::Bits32.unwrapped(first_round, first_round + 3), first_round);
        assert_eq!(Counter::Bits32.unwrapped(u64::from(u32::MAX), 0), 0);
    }

    proptest! {
        #[test]
        fn a_head_comes_back_as_it_went(micros in 0..1_u64 << 50, number: u64) {
            let micros = micros % (u64::from(u32::MAX) * 1_000_000);
            let head = DatagramHead { sent_at: Time::from_nanos(micros * 1000), number };
            let wide = DatagramHead::of(&head.bytes(Counter::Bits64), Counter::Bits64).unwrap();
            prop_assert_eq!(wide, head);
            let narrow = DatagramHead::of(&head.bytes(Counter::Bits32), Counter::Bits32).unwrap();
            prop_assert_eq!(narrow.number, number & u64::from(u32::MAX));
        }

        #[test]
        fn any_datagram_that_is_long_enough_has_a_head(
            datagram in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            for counter in [Counter::Bits32, Counter::Bits64] {
                let head = DatagramHead::of(&datagram, counter);
                prop_assert_eq!(head.is_some(), datagram.len() >= counter.head_bytes());
            }
        }

        #[test]
        fn the_nearest_number_is_taken(near in 0..1_u64 << 40, off in -1_000_000_i64..1_000_000) {
            let number = near.saturating_add_signed(off);
            let sent = number & u64::from(u32::MAX);
            prop_assert_eq!(Counter::Bits32.unwrapped(sent, near), number);
        }
    }
}

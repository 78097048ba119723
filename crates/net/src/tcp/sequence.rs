//! Sequence numbers: positions in a stream modulo 2^32.

/// A number on the circle: which of two comes first can be said as long as they are less than 2^31
/// apart, which windows see to (RFC 9293 section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sequence(u32);

impl Sequence {
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    pub const fn get(self) -> u32 {
        self.0
    }

    pub const fn plus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    pub const fn minus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }

    /// How far this is beyond the other; negative before it.
    pub const fn beyond(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }

    pub const fn is_before(self, other: Self) -> bool {
        self.beyond(other) < 0
    }

    pub const fn is_after(self, other: Self) -> bool {
        self.beyond(other) > 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn order_holds_anywhere_on_the_circle(number: u32, ahead in 1..i32::MAX as u32) {
            let (first, second) = (Sequence::new(number), Sequence::new(number).plus(ahead));
            prop_assert!(first.is_before(second) && second.is_after(first));
            prop_assert!(!second.is_before(first) && !first.is_after(second));
            prop_assert_eq!(second.beyond(first), ahead as i32);
            prop_assert_eq!(second.minus(ahead), first);
        }
    }
}

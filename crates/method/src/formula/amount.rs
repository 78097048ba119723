//! Bytes, seconds and rates as the formulas take them: exact numbers that cannot be confused.

use core::ops::{Add, Div, Mul, Sub};
use core::time::Duration;

use fp_model::{Rate, Time};

use crate::Number;

/// A number with a unit: it adds and compares with its like and scales by plain numbers.
macro_rules! amount {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        pub struct $name(pub Number);

        impl $name {
            pub const ZERO: Self = Self(Number::ZERO);

            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }

            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            pub fn ceil(self) -> Self {
                Self(self.0.ceil())
            }

            pub fn floor(self) -> Self {
                Self(self.0.floor())
            }

            /// `None` where undefined.
            pub fn to_f64(self) -> Option<f64> {
                self.0.to_f64()
            }
        }

        impl Add for $name {
            type Output = Self;

            fn add(self, rhs: Self) -> Self {
                Self(self.0 + rhs.0)
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, rhs: Self) -> Self {
                Self(self.0 - rhs.0)
            }
        }

        impl Mul<Number> for $name {
            type Output = Self;

            fn mul(self, rhs: Number) -> Self {
                Self(self.0 * rhs)
            }
        }

        impl Div<Number> for $name {
            type Output = Self;

            fn div(self, rhs: Number) -> Self {
                Self(self.0 / rhs)
            }
        }

        impl Div for $name {
            type Output = Number;

            fn div(self, rhs: Self) -> Number {
                self.0 / rhs.0
            }
        }
    };
}

amount! {
    /// Bytes, in fractions where arithmetic yields them.
    Bytes
}
amount! {
    Seconds
}
amount! {
    /// A rate; the layer at which its bits are counted is part of the variable's name.
    BitsPerSecond
}
amount! {
    /// Frames, packets or connections in a second.
    PerSecond
}

const BITS_PER_BYTE: Number = Number::whole(8);

impl Bytes {
    pub fn whole(bytes: u64) -> Self {
        Self(bytes.into())
    }

    pub fn bits(self) -> Number {
        self.0 * BITS_PER_BYTE
    }

    /// `None` where undefined, negative or not whole: `ceil` or `floor` first.
    pub fn to_u64(self) -> Option<u64> {
        self.0.to_u64()
    }
}

impl Seconds {
    pub fn of_millis(millis: Number) -> Self {
        Self(millis / Number::whole(1000))
    }

    pub fn millis(self) -> Number {
        self.0 * Number::whole(1000)
    }
}

impl BitsPerSecond {
    /// Rounded down to whole bits; `None` where undefined, negative or beyond 64 bits.
    pub fn to_rate(self) -> Option<Rate> {
        self.floor().0.to_u64().map(Rate::bps)
    }

    pub fn megabits(self) -> Number {
        self.0 / Number::whole(1_000_000)
    }
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Self {
        Self::whole(bytes)
    }
}

impl From<Rate> for BitsPerSecond {
    fn from(rate: Rate) -> Self {
        Self(rate.as_bps().into())
    }
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(Number::ratio(duration.as_nanos() as i128, 1_000_000_000))
    }
}

impl From<Time> for Seconds {
    /// Since the clock's zero.
    fn from(time: Time) -> Self {
        time.since(Time::ZERO).into()
    }
}

impl Mul<Seconds> for BitsPerSecond {
    type Output = Bytes;

    /// What the rate carries in that time.
    fn mul(self, rhs: Seconds) -> Bytes {
        Bytes(self.0 * rhs.0 / BITS_PER_BYTE)
    }
}

impl Div<BitsPerSecond> for Bytes {
    type Output = Seconds;

    /// How long the rate takes to carry them.
    fn div(self, rhs: BitsPerSecond) -> Seconds {
        Seconds(self.bits() / rhs.0)
    }
}

impl Div<Seconds> for Bytes {
    type Output = BitsPerSecond;

    /// The rate that carries them in that time.
    fn div(self, rhs: Seconds) -> BitsPerSecond {
        BitsPerSecond(self.bits() / rhs.0)
    }
}

impl Mul<Seconds> for PerSecond {
    type Output = Number;

    /// How many there are in that time.
    fn mul(self, rhs: Seconds) -> Number {
        self.0 * rhs.0
    }
}

impl Div<PerSecond> for Number {
    type Output = Seconds;

    /// How long that many take.
    fn div(self, rhs: PerSecond) -> Seconds {
        Seconds(self / rhs.0)
    }
}

//! Numbers that stay exact for as long as they fit: what the formulas of this crate compute with.

use core::cmp::Ordering;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// A whole, in hundredths.
pub(crate) const PERCENT: Number = Number::whole(100);

/// A rational number, exact while numerator and denominator fit in 127 bits each.
///
/// Beyond that, and through roots and logarithms, it carries on as the nearest double. A division
/// by zero makes it undefined, and whatever is computed from that is undefined too: undefined is
/// what a report shows as "n/a" and JSON as `null`.
///
/// Exactness is not pedantry here: rates and times are decimals that no double holds, and a `ceil`
/// or `floor` behind them (connections, bursts, frames per second) is off by one where a product
/// is off by one unit in the last place.
#[derive(Clone, Copy, Debug)]
pub struct Number(Repr);

#[derive(Clone, Copy, Debug)]
enum Repr {
    /// In lowest terms with a positive denominator.
    Exact {
        numerator: i128,
        denominator: i128,
    },
    /// Finite.
    Nearest(f64),
    Undefined,
}

use Repr::{Exact, Nearest, Undefined};

/// The first double that is too large for 64 bits: 2^64.
const TOO_LARGE_FOR_U64: f64 = 18_446_744_073_709_551_616.0;

impl Number {
    pub const ZERO: Self = Self::whole(0);
    pub const ONE: Self = Self::whole(1);
    pub const UNDEFINED: Self = Self(Undefined);

    pub const fn whole(value: i64) -> Self {
        Self(Exact { numerator: value as i128, denominator: 1 })
    }

    /// `numerator / denominator`; undefined over zero.
    pub fn ratio(numerator: i128, denominator: i128) -> Self {
        if denominator == 0 {
            return Self::UNDEFINED;
        }
        let (above, below) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        let divisor = greatest_common_divisor(above, below);
        match (i128::try_from(above / divisor), i128::try_from(below / divisor)) {
            (Ok(above), Ok(denominator_reduced)) => {
                let negative = (numerator < 0) != (denominator < 0);
                let numerator = if negative { -above } else { above };
                Self(Exact { numerator, denominator: denominator_reduced })
            }
            _ => Self::nearest(numerator as f64 / denominator as f64),
        }
    }

    /// The double itself, undefined where it is not finite.
    pub fn nearest(value: f64) -> Self {
        if value.is_finite() { Self(Nearest(value)) } else { Self::UNDEFINED }
    }

    /// A decimal number such as `-12`, `0.010211` or `1e-6`, kept exactly where it fits; `None`
    /// where `text` is none.
    pub fn parse(text: &str) -> Option<Self> {
        let spelled = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
        if !text.chars().all(spelled) {
            return None;
        }
        let nearest: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
        Some(parse_exactly(text).unwrap_or(Self(Nearest(nearest))))
    }

    pub const fn is_defined(&self) -> bool {
        !matches!(self.0, Undefined)
    }

    /// Numerator and denominator in lowest terms; `None` where the number is not exact.
    pub const fn as_ratio(&self) -> Option<(i128, i128)> {
        match self.0 {
            Exact { numerator, denominator } => Some((numerator, denominator)),
            Nearest(_) | Undefined => None,
        }
    }

    /// Within one unit in the last place; `None` where undefined.
    pub fn to_f64(self) -> Option<f64> {
        match self.0 {
            Exact { numerator, denominator } => Some(numerator as f64 / denominator as f64),
            Nearest(value) => Some(value),
            Undefined => None,
        }
    }

    /// The whole number that this is; `None` where it is not whole, negative or too large.
    pub fn to_u64(self) -> Option<u64> {
        match self.0 {
            Exact { numerator, denominator: 1 } => u64::try_from(numerator).ok(),
            Nearest(value)
                if (0.0..TOO_LARGE_FOR_U64).contains(&value) && libm::floor(value) == value =>
            {
                Some(value as u64)
            }
            Exact { .. } | Nearest(_) | Undefined => None,
        }
    }

    pub fn floor(self) -> Self {
        match self.0 {
            Exact { numerator, denominator } => {
                Self(Exact { numerator: numerator.div_euclid(denominator), denominator: 1 })
            }
            Nearest(value) => Self(Nearest(libm::floor(value))),
            Undefined => self,
        }
    }

    pub fn ceil(self) -> Self {
        -(-self).floor()
    }

    pub fn abs(self) -> Self {
        if self < Self::ZERO { -self } else { self }
    }

    /// The smaller of two; undefined where either is.
    pub fn min(self, other: Self) -> Self {
        self.choose(other, Ordering::Less)
    }

    /// The larger of two; undefined where either is.
    pub fn max(self, other: Self) -> Self {
        self.choose(other, Ordering::Greater)
    }

    fn choose(self, other: Self, wanted: Ordering) -> Self {
        match self.partial_cmp(&other) {
            Some(ordering) if ordering == wanted => self,
            Some(_) => other,
            None => Self::UNDEFINED,
        }
    }

    /// Undefined below zero.
    pub fn sqrt(self) -> Self {
        self.to_f64().map_or(Self::UNDEFINED, |value| Self::nearest(libm::sqrt(value)))
    }

    /// The natural logarithm; undefined at and below zero.
    pub fn ln(self) -> Self {
        self.to_f64().map_or(Self::UNDEFINED, |value| Self::nearest(libm::log(value)))
    }
}

/// `None` where a power of ten or the digits do not fit.
fn parse_exactly(text: &str) -> Option<Number> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let negative = whole.starts_with('-');
    let mut digits: i128 = 0;
    for digit in whole.trim_start_matches(['-', '+']).chars().chain(fraction.chars()) {
        digits = digits.checked_mul(10)?.checked_add(i128::from(digit.to_digit(10)?))?;
    }
    let digits = if negative { -digits } else { digits };
    let scale = exponent.parse::<i32>().ok()?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(scale.unsigned_abs())?;
    if scale < 0 {
        Some(Number::ratio(digits, power))
    } else {
        Some(Number::ratio(digits.checked_mul(power)?, 1))
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The exact result where both numbers are exact and it fits, otherwise that of the doubles.
fn combine(
    (a, b): (Number, Number),
    exact: impl Fn((i128, i128), (i128, i128)) -> Option<Number>,
    nearest: impl Fn(f64, f64) -> f64,
) -> Number {
    if let (
        Exact { numerator: above, denominator: below },
        Exact { numerator: other_above, denominator: other_below },
    ) = (a.0, b.0)
        && let Some(result) = exact((above, below), (other_above, other_below))
    {
        return result;
    }
    match (a.to_f64(), b.to_f64()) {
        (Some(a), Some(b)) => Number::nearest(nearest(a, b)),
        _ => Number::UNDEFINED,
    }
}

impl Add for Number {
    type Output = Self;

    fn add(self, rhs: Self) -> Self {
        let exact = |(a, b): (i128, i128), (c, d): (i128, i128)| {
            let numerator = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
            Some(Self::ratio(numerator, b.checked_mul(d)?))
        };
        combine((self, rhs), exact, |a, b| a + b)
    }
}

impl Sub for Number {
    type Output = Self;

    fn sub(self, rhs: Self) -> Self {
        self + -rhs
    }
}

impl Mul for Number {
    type Output = Self;

    fn mul(self, rhs: Self) -> Self {
        let exact = |(a, b): (i128, i128), (c, d): (i128, i128)| {
            // Reducing crosswise first keeps the products as small as they can be.
            let across = greatest_common_divisor(a.unsigned_abs(), d.unsigned_abs()) as i128;
            let back = greatest_common_divisor(c.unsigned_abs(), b.unsigned_abs()) as i128;
            let numerator = (a / across).checked_mul(c / back)?;
            Some(Self::ratio(numerator, (b / back).checked_mul(d / across)?))
        };
        combine((self, rhs), exact, |a, b| a * b)
    }
}

impl Div for Number {
    type Output = Self;

    fn div(self, rhs: Self) -> Self {
        match rhs.0 {
            Exact { numerator, denominator } => self * Self::ratio(denominator, numerator),
            Nearest(value) => self * Self::nearest(1.0 / value),
            Undefined => Self::UNDEFINED,
        }
    }
}

impl Neg for Number {
    type Output = Self;

    fn neg(self) -> Self {
        Self(match self.0 {
            Exact { numerator, denominator } => Exact { numerator: -numerator, denominator },
            Nearest(value) => Nearest(-value),
            Undefined => Undefined,
        })
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    /// `None` where either is undefined.
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if let (Exact { numerator: a, denominator: b }, Exact { numerator: c, denominator: d }) =
            (self.0, other.0)
            && let (Some(left), Some(right)) = (a.checked_mul(d), c.checked_mul(b))
        {
            return Some(left.cmp(&right));
        }
        self.to_f64()?.partial_cmp(&other.to_f64()?)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(Exact { numerator: i128::from(value), denominator: 1 })
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        Self::from(u64::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn a_quarter_of_the_bdp_is_exact_where_doubles_are_not() {
        // 100 Mbit/s times 10.211 ms is 1,021,100 bit; a quarter of it 31,909.375 bytes.
        let bits = number("100000000") * number("0.010211");
        assert_eq!(bits, Number::whole(1_021_100));
        assert_eq!((bits / Number::whole(32)).ceil(), Number::whole(31_910));
        // 0.1 + 0.2 is 0.3 here, and 3 times 0.1 too.
        assert_eq!(number("0.1") + number("0.2"), number("0.3"));
    }

    #[test]
    fn decimals_are_read_with_sign_fraction_and_exponent() {
        assert_eq!(number("5e-05"), Number::ratio(1, 20_000));
        assert_eq!(number("-1.50"), Number::ratio(-3, 2));
        assert_eq!(number("2E3"), Number::whole(2000));
        for nonsense in ["", "NaN", "inf", "-", "1.2.3", "0x10", "1e", "12 "] {
            assert!(Number::parse(nonsense).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn numbers_too_large_to_be_exact_go_on_as_doubles() {
        let huge = number("1e300");
        assert_eq!(huge.to_f64(), Some(1e300));
        assert_eq!((huge / number("1e290")).to_f64().map(libm::round), Some(1e10));
        assert!(Number::parse("1e999").is_none(), "no double is that large");
        assert!(!(huge * huge).is_defined(), "nor is the square of 1e300");
        assert!(number("1e-400").to_f64().unwrap() == 0.0);
    }

    #[test]
    fn what_is_divided_by_zero_stays_undefined() {
        let undefined = Number::ONE / Number::ZERO;
        assert!(!undefined.is_defined());
        assert!(!(undefined + Number::ONE).is_defined());
        assert!(!undefined.max(Number::ONE).is_defined());
        assert_eq!(undefined.to_f64(), None);
        assert_ne!(undefined, undefined);
        assert!(!Number::whole(-1).sqrt().is_defined());
        assert!(!Number::ZERO.ln().is_defined());
    }

    #[test]
    fn floor_and_ceil_go_down_and_up_on_both_sides_of_zero() {
        assert_eq!(number("-1.5").floor(), Number::whole(-2));
        assert_eq!(number("-1.5").ceil(), Number::whole(-1));
        assert_eq!(number("1.5").floor().to_u64(), Some(1));
        assert_eq!(number("1.5").to_u64(), None);
        assert_eq!(number("-3").to_u64(), None);
        assert_eq!(number("1e25").to_u64(), None);
    }
}

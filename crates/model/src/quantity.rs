//! Quantities as people write them: `40M@l2`, `64K`, `64Ki`, `54ms`, `af41`.

use core::fmt;
use core::time::Duration;

use crate::{Dscp, Layer, Rate};

/// What is wrong with a quantity: a sentence that says what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantityError {
    NotANumber,
    UnitOfRate,
    UnitOfSize,
    UnitOfTime,
    UnknownLayer,
    UnknownDscp,
    TooLarge,
    NotWholeBytes,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotANumber => "must begin with a decimal number such as 40 or 9.5",
            Self::UnitOfRate => "a rate is a number of bit/s with k, M, G or T, such as 40M",
            Self::UnitOfSize => "a size is a number of bytes with K, M, G or Ki, Mi, Gi",
            Self::UnitOfTime => "a time is a number of seconds, or with ns, us, ms, s, m or h",
            Self::UnknownLayer => "the layer of a rate is one of @l1, @l2, @l3 and @l4",
            Self::UnknownDscp => {
                "a DSCP is a number from 0 to 63 or one of be, le, ef, va, cs0 to cs7 and af11 to af43"
            }
            Self::TooLarge => "is too large",
            Self::NotWholeBytes => "a size must come out as whole bytes",
        })
    }
}

impl core::error::Error for QuantityError {}

/// A rate in bits per second, decimal: `40M`, `9.5Gbit`, `1Gbit/s`, `40M@l2`, `64000`.
///
/// # Errors
/// What is wrong with it and what is allowed.
pub fn parse_rate(text: &str) -> Result<(Rate, Option<Layer>), QuantityError> {
    let (amount, layer) = match text.split_once('@') {
        None => (text, None),
        Some((amount, layer)) => (amount, Some(parse_layer(layer)?)),
    };
    let (number, unit) = split(amount)?;
    let unit = unit.strip_suffix("/s").or_else(|| unit.strip_suffix("ps")).unwrap_or(unit);
    let unit = unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b')).unwrap_or(unit);
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" | "m" => 1_000_000,
        "G" | "g" => 1_000_000_000,
        "T" | "t" => 1_000_000_000_000,
        _ => return Err(QuantityError::UnitOfRate),
    };
    Ok((Rate::bps(number.times(factor)?.rounded()?), layer))
}

/// A code point by number or by name: `46`, `ef`, `AF41`.
///
/// # Errors
/// Which there are.
pub fn parse_dscp(text: &str) -> Result<Dscp, QuantityError> {
    let number = text.parse().ok().or_else(|| code_point(text));
    number.and_then(Dscp::new).ok_or(QuantityError::UnknownDscp)
}

/// The names of RFC 2474, 2597, 3246, 5865 and 8622.
fn code_point(name: &str) -> Option<u8> {
    let mut lower = [0; 4];
    let lower = lower.get_mut(..name.len())?;
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"be" | b"df" => Some(0),
        b"le" => Some(1),
        b"va" => Some(44),
        b"ef" => Some(46),
        [b'c', b's', class @ b'0'..=b'7'] => Some((*class - b'0') * 8),
        [b'a', b'f', class @ b'1'..=b'4', precedence @ b'1'..=b'3'] => {
            Some((*class - b'0') * 8 + (*precedence - b'0') * 2)
        }
        _ => None,
    }
}

fn parse_layer(text: &str) -> Result<Layer, QuantityError> {
    Ok(match text {
        "l1" | "L1" => Layer::L1,
        "l2" | "L2" => Layer::L2,
        "l3" | "L3" => Layer::L3,
        "l4" | "L4" => Layer::L4,
        _ => return Err(QuantityError::UnknownLayer),
    })
}

/// A number of bytes: `64K` is 64,000 and `64Ki` is 65,536.
///
/// # Errors
/// What is wrong with it and what is allowed.
pub fn parse_size(text: &str) -> Result<u64, QuantityError> {
    let (number, unit) = split(text)?;
    let unit = unit.strip_suffix('B').unwrap_or(unit);
    let factor = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        _ => return Err(QuantityError::UnitOfSize),
    };
    number.times(factor)?.whole()
}

/// A time: `54ms`, `10.211ms`, `10s`, `2` (seconds), `15m`; nanoseconds are the finest.
///
/// # Errors
/// What is wrong with it and what is allowed.
pub fn parse_duration(text: &str) -> Result<Duration, QuantityError> {
    let (number, unit) = split(text)?;
    let nanos = match unit {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "" | "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(QuantityError::UnitOfTime),
    };
    Ok(Duration::from_nanos(number.times(nanos)?.rounded()?))
}

/// A decimal number kept exactly: `digits / 10^places`.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    fn times(self, factor: u64) -> Result<Self, QuantityError> {
        let digits = self.digits.checked_mul(u128::from(factor)).ok_or(QuantityError::TooLarge)?;
        Ok(Self { digits, ..self })
    }

    fn rounded(self) -> Result<u64, QuantityError> {
        let one = 10_u128.pow(self.places);
        u64::try_from((self.digits + one / 2) / one).map_err(|_| QuantityError::TooLarge)
    }

    fn whole(self) -> Result<u64, QuantityError> {
        if !self.digits.is_multiple_of(10_u128.pow(self.places)) {
            return Err(QuantityError::NotWholeBytes);
        }
        self.rounded()
    }
}

/// The number at the start of `text` and the unit behind it.
fn split(text: &str) -> Result<(Decimal, &str), QuantityError> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
        return Err(QuantityError::NotANumber);
    }
    if whole.len() + fraction.len() > 24 {
        return Err(QuantityError::TooLarge);
    }
    let digit = |c: char| u128::from(c as u32 - '0' as u32);
    let digits = whole.chars().chain(fraction.chars()).fold(0, |sum, c| sum * 10 + digit(c));
    Ok((Decimal { digits, places: fraction.len() as u32 }, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_point_is_a_number_or_a_name() {
        let of = |text| parse_dscp(text).map(Dscp::code_point);
        assert_eq!((of("46"), of("EF"), of("af41"), of("cs7")), (Ok(46), Ok(46), Ok(34), Ok(56)));
        assert_eq!((of("64"), of("af51"), of("")), (of("gold"), of("gold"), of("gold")));
        assert_eq!(of("gold"), Err(QuantityError::UnknownDscp));
    }

    #[test]
    fn rates_are_decimal_and_may_name_their_layer() {
        assert_eq!(parse_rate("40M"), Ok((Rate::mbps(40), None)));
        assert_eq!(parse_rate("40M@l2"), Ok((Rate::mbps(40), Some(Layer::L2))));
        assert_eq!(parse_rate("9.5Gbit"), Ok((Rate::mbps(9500), None)));
        assert_eq!(parse_rate("1Gbit/s"), Ok((Rate::mbps(1000), None)));
        assert_eq!(parse_rate("64000"), Ok((Rate::bps(64_000), None)));
        assert_eq!(parse_rate("1.5 kbps"), Ok((Rate::bps(1500), None)));
    }

    #[test]
    fn sizes_are_decimal_unless_they_say_binary() {
        assert_eq!(parse_size("64K"), Ok(64_000));
        assert_eq!(parse_size("64Ki"), Ok(65_536));
        assert_eq!(parse_size("1.5KB"), Ok(1500));
        assert_eq!(parse_size("0"), Ok(0));
        assert_eq!(parse_size("1.5"), Err(QuantityError::NotWholeBytes));
    }

    #[test]
    fn times_keep_every_nanosecond() {
        assert_eq!(parse_duration("10.211ms"), Ok(Duration::from_nanos(10_211_000)));
        assert_eq!(parse_duration("0.000000001"), Ok(Duration::from_nanos(1)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert_eq!(parse_duration("15m"), Ok(Duration::from_secs(900)));
    }

    #[test]
    fn nonsense_is_refused_with_what_is_allowed() {
        assert_eq!(parse_rate("-1M"), Err(QuantityError::NotANumber));
        assert_eq!(parse_rate(""), Err(QuantityError::NotANumber));
        assert_eq!(parse_rate("40Q"), Err(QuantityError::UnitOfRate));
        assert_eq!(parse_rate("40M@l9"), Err(QuantityError::UnknownLayer));
        assert_eq!(parse_rate("1.2.3M"), Err(QuantityError::NotANumber));
        assert_eq!(parse_rate("NaN"), Err(QuantityError::NotANumber));
        assert_eq!(parse_size("99999999999999999999G"), Err(QuantityError::TooLarge));
        assert_eq!(parse_duration("5 fortnights"), Err(QuantityError::UnitOfTime));
    }
}

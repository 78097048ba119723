//! Figures as people read them: what rounds to zero is zero, from whichever side.

use alloc::format;
use alloc::string::String;

/// `value` with so many decimals.
pub fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match without_minus_of_zero(&text) {
        Some(zero) => zero.into(),
        None => text,
    }
}

/// The same with its sign in front, as deviations have it: `+` is that of zero.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    match without_minus_of_zero(&text) {
        Some(zero) => format!("+{zero}"),
        None => text,
    }
}

/// A count with its thousands apart.
pub fn grouped(count: u64) -> String {
    let digits = format!("{count}");
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `None` of every other figure.
fn without_minus_of_zero(text: &str) -> Option<&str> {
    let is_zero = |digits: &&str| digits.bytes().all(|digit| matches!(digit, b'0' | b'.'));
    text.strip_prefix('-').filter(is_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rounds_to_zero_has_no_minus() {
        for (value, plain, with_sign) in [
            (-0.004, "0.00", "+0.00"),
            (-0.0, "0.00", "+0.00"),
            (0.0, "0.00", "+0.00"),
            (0.004, "0.00", "+0.00"),
            (-0.006, "-0.01", "-0.01"),
            (0.006, "0.01", "+0.01"),
            (-10.0, "-10.00", "-10.00"),
            (-100.004, "-100.00", "-100.00"),
        ] {
            assert_eq!((rounded(value, 2).as_str(), signed(value, 2).as_str()), (plain, with_sign));
        }
        assert_eq!((rounded(-0.4, 0).as_str(), signed(-0.4, 0).as_str()), ("0", "+0"));
    }

    #[test]
    fn what_is_no_number_stays_what_it_is() {
        assert_eq!(rounded(f64::NEG_INFINITY, 2), "-inf");
        assert_eq!((rounded(f64::NAN, 1).as_str(), signed(f64::NAN, 1).as_str()), ("NaN", "NaN"));
    }
}

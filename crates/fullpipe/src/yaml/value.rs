//! Single values of a file: quantities, shares, numbers and code points.

use std::ops::RangeInclusive;
use std::time::Duration;

use fp_model::{Dscp, Layer, Rate, parse_duration, parse_rate, parse_size};
use fp_net::path::Probability;
use serde_saphyr::Spanned;

use super::problem::Problem;
use super::shape::{OneOrMore, Text};

/// 1 Tbit/s: faster than any link, and slow enough to be counted exactly.
const MOST_RATE: Rate = Rate::bps(1_000_000_000_000);

/// A rate on the line, above zero.
pub(crate) fn l1_rate(text: &Text) -> Result<Rate, Problem> {
    positive(text, |text| rate(text, Layer::L1))
}

/// A rate of layer-2 frames.
pub(crate) fn l2_rate(text: &Text) -> Result<Rate, Problem> {
    rate(text, Layer::L2)
}

/// A rate that bears no other layer than the one it is counted at.
pub(crate) fn rate(text: &Text, counted_at: Layer) -> Result<Rate, Problem> {
    let (rate, layer) = parse_rate(&text.value).map_err(|error| bad(text, "a rate", error))?;
    if layer.is_some_and(|layer| layer != counted_at) {
        let sentence = format!("`{}`: this rate is counted at {counted_at}", text.value);
        return Err(Problem::with(text, sentence));
    }
    at_most(text, rate, MOST_RATE, "1T")
}

pub(crate) fn size(text: &Text, most: u64) -> Result<u64, Problem> {
    let bytes = parse_size(&text.value).map_err(|error| bad(text, "a size", error))?;
    at_most(text, bytes, most, &format!("{most} bytes"))
}

pub(crate) fn duration(text: &Text, most: Duration) -> Result<Duration, Problem> {
    let time = parse_duration(&text.value).map_err(|error| bad(text, "a time", error))?;
    at_most(text, time, most, &format!("{} s", most.as_secs()))
}

/// What `read` reads, if it is more than nothing.
pub(crate) fn positive<T: Default + PartialEq>(
    text: &Text,
    read: impl Fn(&Text) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let value = read(text)?;
    if value == T::default() {
        return Err(Problem::with(text, format!("`{}`: must be more than zero", text.value)));
    }
    Ok(value)
}

/// A share of frames: `0.1%` or `0.001`.
pub(crate) fn share(text: &Text) -> Result<Probability, Problem> {
    let written = text.value.trim();
    let (number, whole) = match written.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), 100.0),
        None => (written, 1.0),
    };
    let plain = number.chars().all(|c| c.is_ascii_digit() || c == '.');
    let parsed = number.parse::<f64>().ok().filter(|_| plain);
    parsed.and_then(|number| Probability::new(number / whole)).ok_or_else(|| {
        let sentence = "a share is from 0% to 100%, or from 0 to 1 without the sign";
        Problem::with(text, format!("`{written}`: {sentence}"))
    })
}

pub(crate) fn whole(text: &Text, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    let parsed = text.value.trim().parse().ok().filter(|number| range.contains(number));
    parsed.ok_or_else(|| {
        let (least, most) = range.into_inner();
        let allowed = match most {
            u64::MAX => format!("a whole number of at least {least}"),
            _ => format!("a whole number from {least} to {most}"),
        };
        Problem::with(text, format!("`{}`: must be {allowed}", text.value))
    })
}

/// One code point or a list of them.
pub(crate) fn dscps(list: &Spanned<OneOrMore<String>>) -> Result<Vec<Dscp>, Problem> {
    OneOrMore::elements(list).iter().map(dscp).collect()
}

/// A code point by number or by name.
pub(crate) fn dscp<S: AsRef<str>>(text: &Spanned<S>) -> Result<Dscp, Problem> {
    let written = text.value.as_ref().trim();
    let dscp = fp_model::parse_dscp(written);
    dscp.map_err(|sentence| Problem::with(text, format!("`{written}`: {sentence}")))
}

fn bad(text: &Text, kind: &str, error: fp_model::QuantityError) -> Problem {
    let written = text.value.trim();
    if written.starts_with('-') {
        return Problem::with(text, format!("`{written}`: {kind} cannot be negative"));
    }
    Problem::with(text, format!("`{written}`: {error}"))
}

fn at_most<T: PartialOrd>(text: &Text, value: T, most: T, shown: &str) -> Result<T, Problem> {
    if value > most {
        return Err(Problem::with(text, format!("`{}`: at most {shown}", text.value)));
    }
    Ok(value)
}

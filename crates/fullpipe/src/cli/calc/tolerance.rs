//! How closely a figure must agree with what a case expects.

use std::collections::BTreeMap;

use fp_method::Number;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::function::exact;

/// Two units in the last place of a double: what is expected exactly but was written by a program
/// that computes with doubles.
const DOUBLE_ROUNDING: (i128, i128) = (1, 1 << 51);

/// For a whole case, or for each of its expected values.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(super) enum Tolerance {
    Case(Rule),
    PerKey(BTreeMap<String, Rule>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rule {
    Exact,
    Relative(Number),
    Absolute(Number),
    NotChecked,
    /// What is expected is this figure, or the one it stands for, rounded up.
    CeilOf(Option<String>),
    /// What is expected is the figure cut off after so many decimals.
    TruncatedDecimals(u32),
}

const ALLOWED: &str = r#"a tolerance is "exact", "not-checked", {"rel": x}, {"abs": x}, {"ceil_of": key}, {"truncated_decimals": n} or one of these for each key"#;

impl TryFrom<Value> for Tolerance {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        if let Some(rule) = rule(&value)? {
            return Ok(Self::Case(rule));
        }
        let per_key = value.as_object().ok_or_else(|| unknown(&value))?;
        let rule_of = |(key, value): (&String, &Value)| match rule(value)? {
            Some(rule) => Ok((key.clone(), rule)),
            None => Err(unknown(value)),
        };
        per_key.iter().map(rule_of).collect::<Result<_, _>>().map(Self::PerKey)
    }
}

fn unknown(value: &Value) -> String {
    format!("unknown tolerance {value}: {ALLOWED}")
}

/// `None` for an object that may be a map of rules.
fn rule(value: &Value) -> Result<Option<Rule>, String> {
    match value {
        Value::String(word) => match word.as_str() {
            "exact" => Ok(Some(Rule::Exact)),
            "not-checked" => Ok(Some(Rule::NotChecked)),
            "ceil_of" => Ok(Some(Rule::CeilOf(None))),
            _ => Err(unknown(value)),
        },
        Value::Object(fields) => rule_with_amount(fields).map_err(|()| unknown(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(unknown(value)),
    }
}

fn rule_with_amount(fields: &Map<String, Value>) -> Result<Option<Rule>, ()> {
    let mut words = fields.iter();
    let (Some((word, amount)), None) = (words.next(), words.next()) else { return Ok(None) };
    let number = || {
        let number = amount.as_number().and_then(exact);
        number.filter(|number| *number >= Number::ZERO).ok_or(())
    };
    Ok(Some(match word.as_str() {
        "rel" => Rule::Relative(number()?),
        "abs" => Rule::Absolute(number()?),
        "ceil_of" => Rule::CeilOf(amount.as_str().map(str::to_owned)),
        "truncated_decimals" => {
            let decimals = number()?.to_u64().and_then(|decimals| u32::try_from(decimals).ok());
            Rule::TruncatedDecimals(decimals.filter(|decimals| *decimals <= 18).ok_or(())?)
        }
        _ => return Ok(None),
    }))
}

impl Tolerance {
    /// `None` where a key has none.
    pub(super) fn of(&self, key: &str) -> Option<&Rule> {
        match self {
            Self::Case(rule) => Some(rule),
            Self::PerKey(rules) => rules.get(key),
        }
    }
}

impl Rule {
    pub(super) fn accepts(&self, expected: Number, figure: Number) -> bool {
        let difference = (expected - figure).abs();
        match self {
            Self::Exact => expected == figure || differs_by_rounding(expected, figure),
            Self::Relative(limit) => difference <= *limit * expected.abs(),
            Self::Absolute(limit) => difference <= *limit,
            Self::NotChecked => true,
            Self::CeilOf(_) => figure.ceil() == expected,
            Self::TruncatedDecimals(decimals) => {
                let scale = Number::whole(10_i64.pow(*decimals));
                // The figure is not negative where decimals are cut off.
                (figure * scale).floor() / scale == expected
            }
        }
    }
}

/// Whole numbers agree exactly or not at all; others are doubles in JSON.
fn differs_by_rounding(expected: Number, figure: Number) -> bool {
    let whole = expected == expected.floor() && figure == figure.floor();
    let limit = Number::ratio(DOUBLE_ROUNDING.0, DOUBLE_ROUNDING.1) * expected.abs();
    !whole && (expected - figure).abs() <= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tolerance(json: &str) -> Result<Tolerance, String> {
        Tolerance::try_from(serde_json::from_str::<Value>(json).unwrap())
    }

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn every_form_of_tolerance_is_read() {
        for form in [
            r#""exact""#,
            r#"{"rel": 1e-9}"#,
            r#"{"abs": 0}"#,
            r#"{"a": "not-checked", "b": {"ceil_of": "a"}, "c": {"truncated_decimals": 3}}"#,
            r#"{"a": "ceil_of"}"#,
            "{}",
        ] {
            assert!(tolerance(form).is_ok(), "{form}");
        }
    }

    #[test]
    fn an_unknown_tolerance_is_refused_with_what_is_allowed() {
        for form in
            [r#""roughly""#, "1", r#"{"rel": -1}"#, r#"{"a": {"near": 1}}"#, r#"{"abs": "x"}"#]
        {
            assert!(tolerance(form).unwrap_err().contains("a tolerance is"), "{form}");
        }
    }

    #[test]
    fn exact_forgives_the_last_bit_of_a_fraction_and_nothing_of_a_whole_number() {
        assert!(Rule::Exact.accepts(number("0.30000000000000004"), number("0.3")));
        assert!(!Rule::Exact.accepts(number("0.3000000000000003"), number("0.3")));
        assert!(!Rule::Exact.accepts(number("9007199254740993"), number("9007199254740992")));
        assert!(!Rule::Exact.accepts(number("31910"), number("31909.9999999")));
    }

    #[test]
    fn an_undefined_figure_agrees_with_no_number() {
        let rules = [Rule::Exact, Rule::Relative(number("1")), Rule::CeilOf(None)];
        assert!(rules.iter().all(|rule| !rule.accepts(number("1"), Number::UNDEFINED)));
    }

    #[test]
    fn relations_are_checked_against_the_figure() {
        assert!(Rule::CeilOf(None).accepts(number("127638"), number("127637.5")));
        assert!(Rule::TruncatedDecimals(3).accepts(number("1.039"), number("1.0397260274")));
        assert!(!Rule::TruncatedDecimals(3).accepts(number("1.040"), number("1.0397260274")));
    }
}

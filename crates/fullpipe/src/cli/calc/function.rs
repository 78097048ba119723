//! What a function of `fullpipe calc` is: its parameters, its results and how it is evaluated.

use fp_method::{BitsPerSecond, Bytes, Number, PerSecond, Seconds};
use fp_model::Layer;
use serde_json::{Map, Value};

/// One formula with its names on the command line and in case files.
#[derive(Debug)]
pub(super) struct Function {
    /// As it is typed.
    pub(super) name: &'static str,
    /// As case files name it.
    pub(super) case_name: &'static str,
    pub(super) about: &'static str,
    pub(super) params: &'static [Param],
    pub(super) results: &'static [Shown],
    pub(super) evaluate: fn(&Inputs) -> Result<Figures, Refusal>,
}

/// One input.
#[derive(Debug)]
pub(super) struct Param {
    /// On the command line, without the dashes.
    pub(super) option: &'static str,
    /// In case files; `goal.loss` is `loss` within `goal`.
    pub(super) key: &'static str,
    pub(super) kind: Kind,
    pub(super) need: Need,
    pub(super) help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
    Default(&'static str),
}

/// How an input is written on the command line, and in which unit it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// In bit/s, counted at this layer.
    Rate(Layer),
    /// In bit/s, counted at the layer it names or this one; the name is kept under `layer`.
    LayeredRate(Layer),
    /// Written in bit/s, kept in bytes a second.
    ByteRate(Layer),
    Size,
    /// Kept in seconds.
    Time,
    /// Kept in milliseconds.
    Millis,
    Count,
    Decimal,
    Switch,
    /// Separated by commas, kept in seconds.
    Times,
    /// Separated by commas, kept in milliseconds.
    MillisList,
    Packets,
    Trials,
    Feedback,
}

pub(super) const fn required(
    option: &'static str,
    key: &'static str,
    kind: Kind,
    help: &'static str,
) -> Param {
    Param { option, key, kind, need: Need::Required, help }
}

pub(super) const fn optional(
    option: &'static str,
    key: &'static str,
    kind: Kind,
    help: &'static str,
) -> Param {
    Param { option, key, kind, need: Need::Optional, help }
}

impl Param {
    pub(super) const fn or(self, default: &'static str) -> Self {
        Self { need: Need::Default(default), ..self }
    }
}

/// How a result is shown: its field in JSON, whose ending is its unit, and its label on screen.
#[derive(Debug)]
pub(super) struct Shown {
    /// In case files.
    pub(super) key: &'static str,
    pub(super) field: &'static str,
    pub(super) label: &'static str,
}

pub(super) const fn shown(key: &'static str, field: &'static str, label: &'static str) -> Shown {
    Shown { key, field, label }
}

/// What a function yields, by the keys of case files.
pub(super) type Figures = Vec<(&'static str, Figure)>;

#[derive(Clone, Debug)]
pub(super) enum Figure {
    /// Undefined is shown as "n/a" and is null in JSON.
    Number(Number),
    Flag(bool),
    Text(String),
    List(Vec<Number>),
    Rows(Vec<Vec<(&'static str, Number)>>),
}

impl From<Number> for Figure {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<u64> for Figure {
    fn from(count: u64) -> Self {
        Self::Number(count.into())
    }
}

impl From<u32> for Figure {
    fn from(count: u32) -> Self {
        Self::Number(count.into())
    }
}

impl From<Option<u64>> for Figure {
    fn from(count: Option<u64>) -> Self {
        Self::Number(count.map_or(Number::UNDEFINED, Number::from))
    }
}

impl From<bool> for Figure {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<Bytes> for Figure {
    fn from(bytes: Bytes) -> Self {
        Self::Number(bytes.0)
    }
}

impl From<Seconds> for Figure {
    fn from(seconds: Seconds) -> Self {
        Self::Number(seconds.0)
    }
}

impl From<BitsPerSecond> for Figure {
    fn from(rate: BitsPerSecond) -> Self {
        Self::Number(rate.0)
    }
}

impl From<PerSecond> for Figure {
    fn from(rate: PerSecond) -> Self {
        Self::Number(rate.0)
    }
}

/// Why a function cannot be evaluated: which input, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) key: String,
    pub(super) wrong: String,
}

impl Refusal {
    pub(super) fn new(key: &str, wrong: impl Into<String>) -> Self {
        Self { key: key.to_owned(), wrong: wrong.into() }
    }
}

/// The values of one evaluation, by the keys of case files.
#[derive(Debug)]
pub(super) struct Inputs<'a>(pub(super) &'a Map<String, Value>);

impl Inputs<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        let mut parts = key.split('.');
        let first = self.0.get(parts.next()?);
        parts.fold(first, |value, part| value?.get(part)).filter(|value| !value.is_null())
    }

    fn present(&self, key: &str) -> Result<&Value, Refusal> {
        self.value(key).ok_or_else(|| Refusal::new(key, "is missing"))
    }

    /// Any number, negative ones too.
    pub(super) fn signed(&self, key: &str) -> Result<Number, Refusal> {
        number(key, self.present(key)?)
    }

    pub(super) fn number(&self, key: &str) -> Result<Number, Refusal> {
        not_negative(key, self.signed(key)?)
    }

    pub(super) fn rate(&self, key: &str) -> Result<BitsPerSecond, Refusal> {
        self.number(key).map(BitsPerSecond)
    }

    pub(super) fn bytes(&self, key: &str) -> Result<Bytes, Refusal> {
        self.number(key).map(Bytes)
    }

    pub(super) fn seconds(&self, key: &str) -> Result<Seconds, Refusal> {
        self.number(key).map(Seconds)
    }

    pub(super) fn millis(&self, key: &str) -> Result<Seconds, Refusal> {
        self.number(key).map(Seconds::of_millis)
    }

    pub(super) fn per_second(&self, key: &str) -> Result<PerSecond, Refusal> {
        self.number(key).map(PerSecond)
    }

    pub(super) fn ratio(&self, key: &str) -> Result<Number, Refusal> {
        let ratio = self.number(key)?;
        if ratio > Number::ONE {
            return Err(Refusal::new(key, "must lie between 0 and 1"));
        }
        Ok(ratio)
    }

    pub(super) fn count(&self, key: &str) -> Result<u64, Refusal> {
        whole(key, self.number(key)?)
    }

    /// A whole number of 32 bits.
    pub(super) fn small_count(&self, key: &str) -> Result<u32, Refusal> {
        u32::try_from(self.count(key)?)
            .map_err(|_| Refusal::new(key, format!("must not exceed {}", u32::MAX)))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// `true` or `false`, or 1 or 0.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Refusal> {
        let value = self.present(key)?;
        let of_number = value.as_u64().filter(|number| *number <= 1).map(|number| number == 1);
        value.as_bool().or(of_number).ok_or_else(|| Refusal::new(key, "must be true or false"))
    }

    pub(super) fn text(&self, key: &str) -> Result<&str, Refusal> {
        self.present(key)?.as_str().ok_or_else(|| Refusal::new(key, "must be a word"))
    }

    pub(super) fn numbers(&self, key: &str) -> Result<Vec<Number>, Refusal> {
        self.list(key)?.iter().map(|item| number(key, item)).collect()
    }

    /// The objects of a list, each as inputs of its own.
    pub(super) fn rows(&self, key: &str) -> Result<Vec<Inputs<'_>>, Refusal> {
        let row = |item| Value::as_object(item).map(Inputs);
        let rows = self.list(key)?.iter().map(row).collect::<Option<_>>();
        rows.ok_or_else(|| Refusal::new(key, "must be a list of objects"))
    }

    fn list(&self, key: &str) -> Result<&[Value], Refusal> {
        let list = self.present(key)?.as_array();
        list.map(Vec::as_slice).ok_or_else(|| Refusal::new(key, "must be a list"))
    }
}

/// The decimal that a JSON number was written as.
pub(super) fn exact(value: &serde_json::Number) -> Option<Number> {
    Number::parse(&value.to_string())
}

fn number(key: &str, value: &Value) -> Result<Number, Refusal> {
    let exact = value.as_number().and_then(exact);
    exact.ok_or_else(|| Refusal::new(key, format!("must be a number, not {value}")))
}

fn not_negative(key: &str, number: Number) -> Result<Number, Refusal> {
    if number < Number::ZERO {
        return Err(Refusal::new(key, "must not be negative"));
    }
    Ok(number)
}

pub(super) fn whole(key: &str, number: Number) -> Result<u64, Refusal> {
    number.to_u64().ok_or_else(|| Refusal::new(key, "must be a whole number of 64 bits"))
}

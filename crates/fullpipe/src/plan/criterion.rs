//! Pass criteria: a figure of a result, and what it must be.

use std::cmp::Ordering;
use std::fmt;

use fp_method::methods::Method;
use fp_method::rounded;
use fp_model::figure::Kind;
use fp_model::{parse_duration, parse_rate, parse_size};
use serde_json::Value;

use crate::yaml::{Problem, Text, nearest};

/// What a field of the steps of a result must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Criterion {
    pub(crate) step: Text,
    /// Fields with values that tell the steps that are meant from others of the same name.
    pub(crate) conditions: Vec<(Text, String)>,
    pub(crate) field: Text,
    pub(crate) limit: Limit,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    Equals(String),
}

/// What a result has where a criterion looks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Figure {
    Number(f64),
    Word(String),
    /// Why there is none.
    Unknown(String),
}

impl Limit {
    /// The number in `text` in the unit of `field`.
    pub(super) fn number(field: &str, text: &Text) -> Result<f64, Problem> {
        let number = match Unit::of(field) {
            Unit::Rate => match parse_rate(&text.value) {
                Ok((rate, None)) => Ok(rate.as_bps() as f64),
                Ok((_, Some(_))) => {
                    Err(String::from("the layer of this rate is that of the field"))
                }
                Err(error) => Err(error.to_string()),
            },
            Unit::Size => {
                parse_size(&text.value).map(|bytes| bytes as f64).map_err(|error| error.to_string())
            }
            Unit::Time { per_second } => time(&text.value).map(|seconds| seconds * per_second),
            Unit::Percent => plain(text.value.trim_end_matches('%')),
            Unit::None => plain(&text.value),
        };
        number.map_err(|why| Problem::with(text, format!("`{}`: {why}", text.value)))
    }
}

fn plain(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| String::from("must be a number"))
}

fn time(text: &str) -> Result<f64, String> {
    if text.trim().parse::<f64>().is_ok() {
        return Err(String::from("say the unit of this time, as in 60ms"));
    }
    parse_duration(text).map(|time| time.as_secs_f64()).map_err(|error| error.to_string())
}

/// Which the last part of a field's name says.
enum Unit {
    Rate,
    Size,
    Time { per_second: f64 },
    Percent,
    None,
}

impl Unit {
    fn of(field: &str) -> Self {
        match field.rsplit('_').next() {
            Some("bps") => Self::Rate,
            Some("bytes") => Self::Size,
            Some("s") => Self::Time { per_second: 1.0 },
            Some("ms") => Self::Time { per_second: 1e3 },
            Some("us") => Self::Time { per_second: 1e6 },
            Some("percent") => Self::Percent,
            Some(_) | None => Self::None,
        }
    }

    fn shown(&self, number: f64) -> String {
        match self {
            Self::Rate => format!("{:.3} Mbit/s", number / 1e6),
            Self::Size => format!("{number} bytes"),
            Self::Time { per_second: 1.0 } => format!("{number:.3} s"),
            Self::Time { per_second: 1e3 } => format!("{number:.3} ms"),
            Self::Time { .. } => format!("{number:.1} us"),
            Self::Percent => format!("{} %", rounded(number, 3)),
            Self::None => number.to_string(),
        }
    }
}

impl Criterion {
    /// # Errors
    /// A name that no result of `method` has, and those that it has.
    pub(crate) fn expect_names_of(&self, method: &Method) -> Result<(), Problem> {
        let Some(step) = method.kinds.iter().find(|known| known.name == self.step.value) else {
            let names = method.kinds.iter().map(|known| String::from(known.name)).collect();
            return Err(unknown("step", &self.step, method.command, names));
        };
        let mut fields = self.conditions.iter().map(|(field, _)| field).chain([&self.field]);
        match fields.find(|field| !step.has(&field.value)) {
            Some(field) => {
                Err(unknown("field", field, &format!("a step {}", step.name), names(step)))
            }
            None => Ok(()),
        }
    }

    /// What the document of a result has here: of several steps the worst.
    pub(crate) fn look_up(&self, document: &Value) -> Figure {
        let steps = document["steps"].as_array().map_or(&[][..], Vec::as_slice);
        let meant = steps.iter().filter(|step| self.means(step));
        let figures = meant.map(|step| self.figure(step)).collect::<Vec<_>>();
        let worst = figures.into_iter().max_by(|a, b| self.best_to_worst(a, b));
        worst.unwrap_or_else(|| Figure::Unknown(self.no_step(steps)))
    }

    /// The middle one, the worse of the two in the middle of an even number.
    pub(crate) fn median(&self, mut figures: Vec<Figure>) -> Figure {
        figures.sort_by(|a, b| self.best_to_worst(a, b));
        let middle = figures.len() / 2;
        let nothing = || Figure::Unknown(String::from("there is no result"));
        figures.into_iter().nth(middle).unwrap_or_else(nothing)
    }

    /// Whether `figure` is as it must be; `None` where it is unknown.
    pub(crate) fn is_met_by(&self, figure: &Figure) -> Option<bool> {
        match (&self.limit, figure) {
            (_, Figure::Unknown(_)) => None,
            (Limit::AtLeast(least), Figure::Number(number)) => Some(number >= least),
            (Limit::AtMost(most), Figure::Number(number)) => Some(number <= most),
            (Limit::AtLeast(_) | Limit::AtMost(_), Figure::Word(_)) => Some(false),
            (Limit::Equals(wanted), Figure::Word(word)) => Some(word == wanted),
            (Limit::Equals(wanted), Figure::Number(number)) => Some(wanted.parse() == Ok(*number)),
        }
    }

    /// The figure with its unit.
    pub(crate) fn shown(&self, figure: &Figure) -> String {
        match figure {
            Figure::Number(number) => Unit::of(&self.field.value).shown(*number),
            Figure::Word(word) => word.clone(),
            Figure::Unknown(why) => format!("unknown ({why})"),
        }
    }

    fn means(&self, step: &Value) -> bool {
        step["name"] == self.step.value.as_str()
            && self.conditions.iter().all(|(field, wanted)| match at(step, &field.value) {
                Value::Number(number) => wanted.parse().ok() == number.as_f64(),
                found => word(found).is_some_and(|word| word == *wanted),
            })
    }

    fn figure(&self, step: &Value) -> Figure {
        let field = &self.field.value;
        match at(step, field) {
            Value::Number(number) => Figure::Number(number.as_f64().unwrap_or(f64::NAN)),
            found => word(found)
                .map_or_else(|| Figure::Unknown(format!("{field} was not measured")), Figure::Word),
        }
    }

    fn no_step(&self, steps: &[Value]) -> String {
        let mut names: Vec<_> = steps.iter().filter_map(|step| step["name"].as_str()).collect();
        names.dedup();
        let is_there = names.contains(&self.step.value.as_str());
        let step = &self.step.value;
        if is_there {
            return format!("no step {step} is as `where` says");
        }
        let there = if names.is_empty() { String::from("none") } else { names.join(", ") };
        format!("the result has no step {step}: there are {there}")
    }

    fn best_to_worst(&self, a: &Figure, b: &Figure) -> Ordering {
        // A miss decides a criterion; what is unknown leaves open whether it is met.
        let badness = |figure| match self.is_met_by(figure) {
            Some(true) => 0,
            None => 1,
            Some(false) => 2,
        };
        badness(a).cmp(&badness(b)).then_with(|| match (a, b) {
            (Figure::Number(a), Figure::Number(b)) => match self.limit {
                Limit::AtLeast(_) => b.total_cmp(a),
                Limit::AtMost(_) => a.total_cmp(b),
                Limit::Equals(_) => Ordering::Equal,
            },
            (Figure::Unknown(_) | Figure::Word(_), _)
            | (_, Figure::Unknown(_) | Figure::Word(_)) => Ordering::Equal,
        })
    }
}

/// `tcp (direction download) throughput_bps: at least 35.000 Mbit/s`
impl fmt::Display for Criterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, conditions, field, limit } = self;
        f.write_str(&step.value)?;
        for (place, (field, value)) in conditions.iter().enumerate() {
            let before = if place == 0 { " (" } else { ", " };
            write!(f, "{before}{} {value}", field.value)?;
        }
        f.write_str(if conditions.is_empty() { " " } else { ") " })?;
        let field = &field.value;
        let unit = Unit::of(field);
        match limit {
            Limit::AtLeast(least) => write!(f, "{field}: at least {}", unit.shown(*least)),
            Limit::AtMost(most) => write!(f, "{field}: at most {}", unit.shown(*most)),
            Limit::Equals(wanted) => write!(f, "{field}: {wanted}"),
        }
    }
}

fn unknown(kind: &str, name: &Text, of: &str, known: Vec<String>) -> Problem {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let suggestion = match nearest(&name.value, &known) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    let (name_said, known) = (&name.value, known.join(", "));
    let sentence = format!("{of} has no {kind} `{name_said}`: {suggestion}there are {known}");
    Problem::with(name, sentence)
}

/// The names of the fields of a step, those of the first element of each list after the others.
fn names(step: &Kind) -> Vec<String> {
    let (in_lists, single): (Vec<_>, Vec<_>) = step.fields().partition(|path| path.contains(".N"));
    single.into_iter().chain(in_lists.iter().map(|path| path.replace(".N", ".0"))).collect()
}

/// `a.b` is the field `b` of the field `a`.
fn at<'a>(step: &'a Value, field: &str) -> &'a Value {
    step.pointer(&pointer(field)).unwrap_or(&Value::Null)
}

fn pointer(field: &str) -> String {
    format!("/{}", field.replace('.', "/"))
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

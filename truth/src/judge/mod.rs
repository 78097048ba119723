//! Whether what a method said of a network is true.
//!
//! Every run is one of four:
//!
//! - **right**: all that it states is true;
//! - **wrong**: its verdict is another than `invalid`, and something that it states is not true;
//! - **invalid**: it was broken off, its verdict is `invalid`, or a check of itself failed, though no
//!   host was troubled;
//! - **unknown**: nothing that it states is wrong, but it leaves open what was asked: no figure, a
//!   figure with an interval that holds the truth while the figure is off, `inconclusive`, or, where a
//!   host was troubled, an invalid run.
//!
//! A **figure** is wrong if it is more than 2 % from every right answer, and its own interval, if it
//! states one, holds none either. A depth in bytes is not wrong by a single frame, unless its interval
//! says that it is. Path MTUs are right to the byte. A share of lost frames is wrong if it is off by half
//! a percent of all frames and by a factor of two.
//!
//! A **kind** (policer, queue, nothing) is wrong if no element that limits within 2 % is of that kind.
//! A **verdict** is wrong if arithmetic decides it otherwise (`facts::Facts::passes`); a cause is
//! wrong if nothing of that kind is on the path.
//!
//! What is a right answer where there are several is said in [`crate::facts`].
//!
//! What each method states, and what of it is judged:
//!
//! - `test`: path MTU, least round trip, bottleneck (rate, kind, base loss), that no transfer in one
//!   direction carried more than there is, verdict, causes. Its ideals stand beside, as an aside.
//! - `discover`: path MTU, kind, CIR, CBS, EIR, EBS, charge; rate and bucket of a shaper; the line and
//!   the loss where no policer was found, which is honest if a full bucket passes what was sent.
//! - `burst`, `rfc7640`, `y1564` have a policer in their plan, the true one or another: the true one
//!   passes, another fails; where the path itself is at fault, they may fail the true one (`bursts`).
//!   CIR and CBS as measured.
//! - `rfc2544`: the throughput of each frame length, which is what the path carries (`throughput`).

mod bursts;
mod discovery;
mod throughput;
mod transfers;

use fp_model::Direction;
use serde_json::Value;

use crate::facts::{DirectionFacts, Facts};
use crate::method::Method;
use crate::network::{Network, si};
use crate::run::Ran;

/// How far a figure may be off.
const TOLERANCE: f64 = 0.02;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Right,
    Wrong,
    Invalid,
    Unknown,
}

impl Class {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Invalid => "invalid",
            Self::Unknown => "unknown",
        }
    }
}

/// What a run amounts to.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) class: Class,
    pub(crate) figures: Vec<Figure>,
    /// Why it is not right, one sentence for each reason.
    pub(crate) reasons: Vec<String>,
}

/// One thing that was said.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// Relative to the truth, where it is a number.
    pub(crate) error: Option<f64>,
    /// Whether the interval that it states holds a right answer.
    pub(crate) covers: Option<bool>,
    /// Half of that interval, relative to its middle; infinite where it has no end.
    pub(crate) width: Option<f64>,
    /// What was said, and what is true.
    pub(crate) text: String,
    /// It is shown, and does not make a run wrong.
    pub(crate) is_aside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Right,
    Wrong,
    Unknown,
}

/// Judges a run.
pub(crate) fn judge(method: Method, network: &Network, facts: &Facts, ran: &Ran) -> Judgement {
    let figures = match method {
        Method::Test => transfers::figures(network, facts, &ran.document),
        Method::Discover => discovery::figures(network, facts, &ran.document),
        Method::Rfc2544 => throughput::figures(network, facts, &ran.document),
        Method::Burst | Method::Rfc7640 | Method::Y1564 => {
            bursts::figures(method, network, facts, ran)
        }
    };
    let status = text(&ran.document, "/verdict/status");
    let is_valid = ran.document.pointer("/validity/ok") != Some(&Value::Bool(false));
    let of = |state| {
        let has = move |figure: &&Figure| figure.state == state && !figure.is_aside;
        figures.iter().filter(has).map(|figure| format!("{}: {}", figure.name, figure.text))
    };
    let (class, reasons) = if let Some(why) = &ran.ended_by {
        (refused(network, ran), vec![format!("aborted: {why}")])
    } else if status == "invalid" {
        (refused(network, ran), said(&ran.document))
    } else if of(State::Wrong).next().is_some() {
        (Class::Wrong, of(State::Wrong).collect())
    } else if !is_valid {
        (refused(network, ran), said(&ran.document))
    } else if status == "inconclusive" {
        (Class::Unknown, said(&ran.document))
    } else if of(State::Unknown).next().is_some() {
        (Class::Unknown, of(State::Unknown).collect())
    } else {
        (Class::Right, Vec::new())
    };
    Judgement { class, figures, reasons }
}

/// Of a run that says nothing.
const fn refused(network: &Network, ran: &Ran) -> Class {
    let is_troubled = network.trouble.is_some() || ran.was_disturbed;
    if is_troubled { Class::Unknown } else { Class::Invalid }
}

/// The reasons of a document's verdict.
fn said(document: &Value) -> Vec<String> {
    reasons(document).map(|reason| text(reason, "/text").to_owned()).collect()
}

fn reasons(document: &Value) -> impl Iterator<Item = &Value> {
    document.pointer("/verdict/reasons").and_then(Value::as_array).into_iter().flatten()
}

/// The steps of this name.
fn steps<'a>(document: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let steps = document.pointer("/steps").and_then(Value::as_array).into_iter().flatten();
    steps.filter(move |step| text(step, "/name") == name)
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The direction that a document names.
fn direction_of(text: &str) -> Option<Direction> {
    [Direction::Download, Direction::Upload].into_iter().find(|named| named.to_string() == text)
}

fn number(value: &Value, key: &str) -> Option<f64> {
    value.get(key)?.as_f64()
}

/// A number with the interval that stands beside it; either may be unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Said {
    value: Option<f64>,
    /// Without an end where only the other one is stated.
    interval: Option<[f64; 2]>,
}

impl Said {
    /// `None` where neither is stated.
    fn of(step: &Value, key: &str) -> Option<Self> {
        let value = number(step, key);
        let least = number(step, &format!("{key}_at_least"));
        let most = number(step, &format!("{key}_at_most"));
        let is_bounded = least.is_some() || most.is_some();
        let ends = [least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY)];
        let interval = is_bounded.then_some(ends);
        (value.is_some() || is_bounded).then_some(Self { value, interval })
    }

    fn scaled(self, factor: f64) -> Self {
        let interval = self.interval.map(|ends| ends.map(|end| end * factor));
        Self { value: self.value.map(|value| value * factor), interval }
    }

    fn text(self) -> String {
        let value = self.value.map_or_else(|| String::from("nothing"), si);
        match self.interval {
            Some([least, most]) => format!("{value} ({} to {})", si(least), si(most)),
            None => value,
        }
    }
}

/// What is right of a number.
#[derive(Clone, Copy, Debug)]
struct Right {
    truth: f64,
    /// All that lies between is right, too.
    from: f64,
    to: f64,
    /// Never wrong by no more than this.
    grain: f64,
}

impl Right {
    const fn exactly(truth: f64) -> Self {
        Self { truth, from: truth, to: truth, grain: 0.0 }
    }

    fn within(truth: f64, relative: [f64; 2]) -> Self {
        Self { truth, from: truth * relative[0], to: truth * relative[1], grain: 0.0 }
    }

    /// So is all from this up.
    const fn from(self, from: f64) -> Self {
        Self { from: self.from.min(from), ..self }
    }

    const fn by(self, grain: f64) -> Self {
        Self { grain, ..self }
    }

    /// How far a value is from the next right one.
    fn distance(&self, value: f64) -> f64 {
        (self.from - value).max(value - self.to).max(0.0)
    }

    fn judged(&self, name: &'static str, said: Said) -> Figure {
        let held = |[least, most]: [f64; 2]| least <= self.to && most >= self.from;
        let covers = said.interval.map(held);
        let is_near = said.value.map(|value| self.distance(value)).is_some_and(|off| {
            // A stated interval includes the grain.
            let is_a_grain = off <= self.grain && covers != Some(false);
            off <= TOLERANCE * self.truth.abs() || is_a_grain
        });
        let state = match (is_near, covers) {
            (true, _) => State::Right,
            (false, Some(true)) => State::Unknown,
            (false, Some(false) | None) => State::Wrong,
        };
        let error = said.value.map(|value| value / self.truth - 1.0);
        let off = error.map_or_else(String::new, |error| format!(" ({:+.2} %)", 100.0 * error));
        let text = format!("{} said, {} true{off}", said.text(), si(self.truth));
        let half = |[least, most]: [f64; 2]| match most.is_finite() {
            true => (most - least) / (most + least),
            false => f64::INFINITY,
        };
        let width = said.interval.map(half).filter(|width| !width.is_nan());
        Figure { name, state, error, covers, width, text, is_aside: false }
    }
}

impl Figure {
    fn new(name: &'static str, state: State, text: impl Into<String>) -> Self {
        let (error, covers, width) = (None, None, None);
        Self { name, state, error, covers, width, text: text.into(), is_aside: false }
    }

    fn unknown(name: &'static str, text: impl Into<String>) -> Self {
        Self::new(name, State::Unknown, text)
    }

    /// Right where `is_right`.
    fn of(name: &'static str, is_right: bool, text: impl Into<String>) -> Self {
        Self::new(name, if is_right { State::Right } else { State::Wrong }, text)
    }

    /// Of a bound: how far off it is and what its interval holds says nothing.
    fn bound(self) -> Self {
        Self { error: None, covers: None, width: None, ..self }
    }

    fn aside(self) -> Self {
        Self { is_aside: true, ..self }
    }

    fn about(self, what: &str) -> Self {
        Self { text: format!("{what}: {}", self.text), ..self }
    }
}

/// A share of frames lost whatever the rate is, in percent: near the truth, or with an interval that
/// holds it. What is lost to others' traffic, or because delays make frames come together, is lost at any
/// rate, too, but how much that is depends on them.
fn lost_at_any_rate(said: Said, way: &DirectionFacts) -> Figure {
    const GRAIN_PERCENT: f64 = 0.5;
    let truth = 100.0 * way.loss;
    let is_near = said.value.is_some_and(|percent| {
        (percent - truth).abs() <= GRAIN_PERCENT
            || (percent <= 2.0 * truth && truth <= 2.0 * percent)
    });
    let holds = said.interval.is_some_and(|[least, most]| least <= truth && truth <= most);
    let text = format!("{} % said, {truth:.3} % true", said.text());
    let more = said.value.is_some_and(|percent| percent >= truth);
    let may_be_more = way.is_crossed || way.is_bunched;
    let is_open = said.interval.is_some_and(|[_, most]| most.is_infinite());
    if is_open && !is_near {
        return Figure::unknown("loss", text);
    }
    Figure::of("loss", is_near || holds || may_be_more && more, text)
}

/// What was said, if anything was.
fn compared(name: &'static str, said: Option<Said>, right: Right) -> Figure {
    said.map_or_else(|| Figure::unknown(name, "not said"), |said| right.judged(name, said))
}

/// That a whole number of bytes is exactly so.
fn exact_bytes(name: &'static str, said: Option<f64>, truth: u32) -> Figure {
    match said {
        None => Figure::unknown(name, "not said"),
        Some(said) => {
            Figure::of(name, said == f64::from(truth), format!("{said} said, {truth} true"))
        }
    }
}

#[cfg(test)]
mod tests;

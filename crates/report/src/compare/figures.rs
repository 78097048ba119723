//! Which figures of a step are compared, and what a step is.

use fp_method::methods::kind;
use fp_model::figure::{Better, Info, Known, Unit};

use crate::stored::fields::Fields;

/// A figure that is compared: a column of a kind, or one of a row inside of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Compared {
    inside: Option<&'static Info>,
    pub(super) info: &'static Info,
}

impl Compared {
    /// Where documents have it.
    pub(super) fn path(&self) -> String {
        let outer = self.inside.map(|outer| format!("{}.", outer.field)).unwrap_or_default();
        format!("{outer}{}", self.info.field)
    }

    /// The step, or the row inside of it, that has it.
    pub(super) fn step_of<'a>(&self, step: Fields<'a>) -> Fields<'a> {
        self.inside.map_or(step, |outer| step.inside(outer.field))
    }

    /// For people.
    pub(super) fn name(&self) -> String {
        let outer = self.inside.map(|outer| format!("{}: ", outer.name)).unwrap_or_default();
        format!("{outer}{}", self.info.name)
    }
}

/// A figure of this step; a rate of another layer than that of the step `beside` is converted to its layer.
pub(super) fn measured(
    figure: Compared,
    step: Fields<'_>,
    beside: Fields<'_>,
) -> Option<Known<f64>> {
    let step_of = figure.step_of(step);
    let field = figure.info.field;
    let value = step_of.number(field)?;
    let scale = if figure.info.unit == Unit::RateOfLayer { conversion(step, beside)? } else { 1.0 };
    let bound = |ending: &str| step_of.number(&format!("{field}_{ending}"));
    let (at_least, at_most) = (bound("at_least"), bound("at_most"));
    Some(Known { value, at_least, at_most }.map(|number| scale * number))
}

/// By what a rate of the layer of `step` is multiplied to be one of the layer of `beside`.
fn conversion(step: Fields<'_>, beside: Fields<'_>) -> Option<f64> {
    let [from, to] = [step, beside].map(|step| step.word("layer"));
    if from == to {
        return Some(1.0);
    }
    let at = |layer: &str| step.number(&format!("rate_{layer}_bps"));
    Some(at(to)? / at(from)?.max(1.0))
}

/// Of steps of this name; of others nothing is compared.
pub(super) fn of(name: &str) -> impl Iterator<Item = Compared> {
    let columns = kind(name).map_or(&[][..], |kind| kind.columns);
    let all = columns.iter().flat_map(|info| {
        let part = if let Unit::Part(columns) = info.unit { columns } else { &[] };
        let inside = part.iter().map(|part| Compared { inside: Some(info), info: part });
        std::iter::once(Compared { inside: None, info }).chain(inside)
    });
    all.filter(|figure| figure.info.better != Better::NotCompared)
}

/// What a step is: the same in two runs of one method.
#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) name: String,
    /// Directions, roles, lengths: what tells it from others of its name.
    words: Vec<String>,
    /// Counts steps that are the same in all of that.
    pub(super) again: usize,
    /// In its document; it orders and does not tell apart.
    place: usize,
}

impl Key {
    pub(super) fn of(step: Fields<'_>, place: usize) -> Self {
        const WORDS: [&str; 9] = [
            "service",
            "flow",
            "part",
            "profile",
            "direction",
            "flow_direction",
            "role",
            "sender",
            "step",
        ];
        let mut words: Vec<String> = Vec::new();
        for field in WORDS {
            let word = step.word(field).to_owned();
            if !word.is_empty() && !words.contains(&word) && word != "flow" {
                words.push(word);
            }
        }
        // The window of a throughput trial follows from the rate and the RTT of the path, which may
        // be what has changed; the windows of a walk are the parts in which it goes up.
        let walk = step.word("role") == "walk";
        if let Some(fraction) = step.number("window_fraction").filter(|_| walk) {
            words.push(format!("{:.0} % of the window", 100.0 * fraction));
        }
        if let Some(percent) = step.count("cir_percent") {
            words.push(format!("{percent} % CIR"));
        }
        if step.number("frame_bytes").is_some() && step.word("name") != "bottleneck" {
            words.push(format!("{} bytes", step.grouped("frame_bytes")));
        }
        Self { name: step.word("name").to_owned(), words, again: 0, place }
    }

    pub(super) fn words(&self) -> String {
        let name = kind(&self.name)
            .map_or_else(|| self.name.replace('_', " "), |kind| kind.title.to_owned());
        let again = (self.again > 0).then(|| format!("trial {}", self.again + 1));
        let words: Vec<&str> = self.words.iter().chain(&again).map(String::as_str).collect();
        if words.is_empty() { name } else { format!("{name}, {}", words.join(", ")) }
    }

    pub(super) const fn place(&self) -> usize {
        self.place
    }

    fn identity(&self) -> (&str, &[String], usize) {
        (&self.name, &self.words, self.again)
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.identity().cmp(&other.identity())
    }
}

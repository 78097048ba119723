//! Two results of the same method side by side: what changed, and whether beyond the noise.

mod figures;
mod noise;
mod pages;
mod plans;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::document::Document;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use figures::{Better, Figure, Key};
use noise::{Ground, Noise};

const SCHEMA: &str = "fullpipe.comparison/1";

/// The first result, the second, and what became of each figure that both have.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    first: &'a Stored,
    second: &'a Stored,
    rows: Vec<Row>,
    /// Inputs of the plans that differ: name, first, second.
    asked: Vec<[String; 3]>,
    /// Steps that only one of them has.
    unmatched: usize,
    /// Other runs that the spread is known from.
    repeats: usize,
}

/// Why two results have nothing to be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error("a result of '{0}' cannot be compared with one of '{1}': name two of one method")]
    Methods(String, String),
    #[error("both names stand for the same run: name two")]
    Same,
}

/// A figure in both results.
#[derive(Clone, Debug)]
struct Row {
    key: Key,
    figure: &'static Figure,
    first: f64,
    second: f64,
    noise: Option<Noise>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    Same,
    Within,
    Better,
    Worse,
    /// Beyond the noise, and nobody can say whether that is good.
    Changed,
    /// Another figure, and no noise is known.
    Unknown,
}

impl Judgement {
    const fn word(self) -> &'static str {
        match self {
            Self::Same => "the same",
            Self::Within => "within the noise",
            Self::Better => "BETTER",
            Self::Worse => "WORSE",
            Self::Changed => "CHANGED",
            Self::Unknown => "noise not known",
        }
    }

    const fn is_beyond(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::Changed)
    }
}

impl Row {
    fn judgement(&self) -> Judgement {
        let shown = |value| self.figure.unit.shown(value);
        if shown(self.first) == shown(self.second) {
            return Judgement::Same;
        }
        let Some(noise) = &self.noise else { return Judgement::Unknown };
        let grew = self.second > self.first;
        match (noise.is_beyond(self.first, self.second), self.figure.better) {
            (false, _) => Judgement::Within,
            (true, Better::Neither) => Judgement::Changed,
            (true, Better::Higher) if grew => Judgement::Better,
            (true, Better::Lower) if !grew => Judgement::Better,
            (true, Better::Higher | Better::Lower) => Judgement::Worse,
        }
    }
}

/// Compares `second` with `first`; `others` are more runs of the same, from which it is known how much
/// figures differ from run to run.
///
/// # Errors
/// Why there is nothing to be compared.
pub fn compare<'a>(
    first: &'a Stored,
    second: &'a Stored,
    others: &[Stored],
) -> Result<Comparison<'a>, CompareError> {
    if first.method() != second.method() {
        let methods = (first.method().to_owned(), second.method().to_owned());
        return Err(CompareError::Methods(methods.0, methods.1));
    }
    if first.text() == second.text() {
        return Err(CompareError::Same);
    }
    let (before, after) = (steps(first), steps(second));
    let repeats: Vec<_> = others.iter().map(steps).collect();
    let mut rows = Vec::new();
    for (key, step) in &after {
        let Some(other) = before.get(key) else { continue };
        for figure in figures::of(&key.name) {
            let values = (figure.value(*other), figure.value(*step));
            let (Some(value_before), Some(value_after)) = values else { continue };
            let again: Vec<f64> =
                repeats.iter().filter_map(|steps| figure.value(*steps.get(key)?)).collect();
            let noise = noise::of(figure, *other, *step, &again);
            let key = key.clone();
            rows.push(Row { key, figure, first: value_before, second: value_after, noise });
        }
    }
    let missing = before.keys().filter(|key| !after.contains_key(key)).count();
    let added = after.keys().filter(|key| !before.contains_key(key)).count();
    Ok(Comparison {
        first,
        second,
        rows,
        asked: plans::differences(&first.value()["plan"], &second.value()["plan"]),
        unmatched: missing + added,
        repeats: others.len(),
    })
}

/// Each step under what it is, in the order of the document.
fn steps(result: &Stored) -> BTreeMap<Key, Fields<'_>> {
    let mut steps = BTreeMap::new();
    for (place, step) in Fields(result.value()).each("steps").enumerate() {
        let mut key = Key::of(step, place);
        while steps.contains_key(&key) {
            key.again += 1;
        }
        steps.insert(key, step);
    }
    steps
}

impl Comparison<'_> {
    /// For whoever reads.
    pub fn document(&self) -> Document {
        pages::document(self)
    }

    /// For programs (`fullpipe.comparison/1`).
    pub fn json(&self) -> Value {
        let run = |result: &Stored| {
            json!({
                "id": result.id(),
                "started": result.started(),
                "across": result.across(),
                "verdict": result.verdict(),
            })
        };
        let row = |row: &Row| {
            json!({
                "step": row.key.words(),
                "figure": row.figure.field,
                "first": row.first,
                "second": row.second,
                "noise": row.noise.as_ref().and_then(Noise::margin),
                "noise_from": row.noise.as_ref().map(|noise| match noise.ground {
                    Ground::Repeats(_) => "repeats",
                    Ground::Bounds => "bounds",
                    Ground::Repetitions => "repetitions",
                    Ground::Course => "course",
                }),
                "judgement": match row.judgement() {
                    Judgement::Same => "same",
                    Judgement::Within => "within_noise",
                    Judgement::Better => "better",
                    Judgement::Worse => "worse",
                    Judgement::Changed => "changed",
                    Judgement::Unknown => "noise_unknown",
                },
            })
        };
        json!({
            "schema": SCHEMA,
            "method": self.first.method(),
            "first": run(self.first),
            "second": run(self.second),
            "repeats": self.repeats,
            "unmatched_steps": self.unmatched,
            "plan_differs_in": self.asked.iter().map(|[name, first, second]| {
                json!({"input": name, "first": first, "second": second})
            }).collect::<Vec<_>>(),
            "figures": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(id: &str, bps: f64, rtt_ms: f64) -> Stored {
        // 20 slots of a tenth of a second, each a tenth above or below.
        let slot = |place: u32| {
            let share = if place.is_multiple_of(2) { 0.9 } else { 1.1 };
            json!({"t_s": f64::from(place) * 0.1, "dt_s": 0.1, "received_bytes": bps * share / 80.0})
        };
        let text = json!({
            "schema": "fullpipe.result/1", "id": id, "method": "rfc6349", "started": "now",
            "across": "far", "verdict": {"status": "info"}, "plan": {"dscp": 0},
            "steps": [
                {"name": "baseline_rtt", "rtt_min_ms": rtt_ms},
                {"name": "tcp", "direction": "download", "flow_direction": "download",
                 "role": "throughput", "sender": "bulk", "window_fraction": 1.0,
                 "throughput_bps": bps, "efficiency_percent": 100.0,
                 "series": (0..20).map(slot).collect::<Vec<_>>()},
            ],
        });
        Stored::read(text.to_string()).unwrap()
    }

    fn judged(first: &Stored, second: &Stored, others: &[Stored]) -> Vec<(String, Judgement)> {
        let comparison = compare(first, second, others).unwrap();
        let row = |row: &Row| (row.figure.field.to_owned(), row.judgement());
        comparison.rows.iter().map(row).collect()
    }

    #[test]
    fn what_differs_by_more_than_the_course_wavers_has_changed() {
        let (first, second) = (result("1", 40e6, 54.0), result("2", 20e6, 54.0));
        assert_eq!(
            judged(&first, &second, &[]),
            [
                ("rtt_min_ms".into(), Judgement::Same),
                ("throughput_bps".into(), Judgement::Worse),
                ("efficiency_percent".into(), Judgement::Same),
            ]
        );
        assert_eq!(judged(&second, &first, &[])[1].1, Judgement::Better);
        // Batches of two slots waver by nothing here; a course that does hides half a percent.
        let near = result("3", 40.001e6, 54.0);
        assert_eq!(judged(&first, &near, &[])[1].1, Judgement::Same);
    }

    #[test]
    fn without_anything_to_judge_by_it_is_said_that_the_noise_is_not_known() {
        let (first, second) = (result("1", 40e6, 54.0), result("2", 40e6, 55.0));
        assert_eq!(judged(&first, &second, &[])[0].1, Judgement::Unknown);
    }

    #[test]
    fn runs_that_differ_as_much_among_themselves_are_the_noise() {
        let (first, second) = (result("1", 40e6, 54.0), result("2", 30e6, 54.5));
        let others: Vec<Stored> = [(25e6, 54.0), (35e6, 54.9), (45e6, 53.5), (38e6, 54.2)]
            .iter()
            .map(|(bps, rtt)| result("9", *bps, *rtt))
            .collect();
        let found = judged(&first, &second, &others);
        assert_eq!(found[0].1, Judgement::Within);
        assert_eq!(found[1].1, Judgement::Within);
    }

    #[test]
    fn another_method_and_the_same_run_are_refused() {
        let first = result("1", 40e6, 54.0);
        assert!(matches!(compare(&first, &first, &[]), Err(CompareError::Same)));
        let text = first.text().replace("rfc6349", "flow");
        let other = Stored::read(text).unwrap();
        let error = compare(&first, &other, &[]).unwrap_err().to_string();
        assert!(error.contains("'rfc6349'") && error.contains("'flow'"), "{error}");
    }
}

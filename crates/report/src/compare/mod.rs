//! Two results of the same method side by side: what changed, and whether beyond the noise.
//!
//! Steps are matched by what they measured. For each figure it is known which change is better and
//! where its noise can be seen.

mod figures;
mod noise;
mod pages;
mod plans;

use std::collections::BTreeMap;

use fp_model::figure::{Better, Known};
use serde_json::{Value, json};

use crate::document::Document;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use figures::{Compared, Key};
use noise::{Both, Ground, Noise};

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
    figure: Compared,
    first: Known<f64>,
    second: Known<f64>,
    noise: Option<Noise>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// No difference, or one too small to matter.
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
        let (unit, first, second) = (self.figure.info.unit, self.first.value, self.second.value);
        let is_negligible = (second - first).abs() <= unit.negligible(first);
        if is_negligible || unit.shown(first) == unit.shown(second) {
            return Judgement::Same;
        }
        let Some(noise) = &self.noise else { return Judgement::Unknown };
        let grew = second > first;
        match (noise.is_beyond(first, second), self.figure.info.better) {
            (false, _) => Judgement::Within,
            (true, Better::Neither | Better::NotCompared) => Judgement::Changed,
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
            let measured = |step: Fields<'_>| figures::measured(figure, step, *other);
            let (Some(first), Some(second)) = (measured(*other), measured(*step)) else { continue };
            let again = |steps: &BTreeMap<Key, Fields<'_>>| measured(*steps.get(key)?);
            let again: Vec<f64> =
                repeats.iter().filter_map(again).map(|repeat| repeat.value).collect();
            let steps = [*other, *step].map(|step| figure.step_of(step));
            let both = Both { steps, values: [first, second] };
            let noise = noise::of(figure.info, both, &again);
            rows.push(Row { key: key.clone(), figure, first, second, noise });
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
                "figure": row.figure.path(),
                "first": row.first.value,
                "second": row.second.value,
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
        let row = |row: &Row| (row.figure.path(), row.judgement());
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
        let (first, second) = (result("1", 40e6, 54.0), result("2", 30e6, 54.6));
        let others: Vec<Stored> = [(25e6, 54.0), (35e6, 54.9), (45e6, 53.5), (38e6, 54.2)]
            .iter()
            .map(|(bps, rtt)| result("9", *bps, *rtt))
            .collect();
        let found = judged(&first, &second, &others);
        assert_eq!(found[0].1, Judgement::Within);
        assert_eq!(found[1].1, Judgement::Within);
    }

    /// A run whose path is limited to `mbps` of this layer, known within 0.2 Mbit/s.
    fn limited(id: &str, mbps: f64, layer: &str, rtt_ms: f64) -> Stored {
        // Frames of 1,518 bytes take 1,538 of the line.
        let l2_of_l1 = 1518.0 / 1538.0;
        let l2 = 1e6 * mbps * if layer == "l1" { l2_of_l1 } else { 1.0 };
        let text = json!({
            "schema": "fullpipe.result/1", "id": id, "method": "rfc6349", "started": "now",
            "across": "far", "verdict": {"status": "info"}, "plan": {"dscp": 0},
            "steps": [
                {"name": "baseline_rtt", "rtt_min_ms": rtt_ms},
                {"name": "bottleneck", "direction": "upload", "layer": layer,
                 "rate_bps": 1e6 * mbps, "rate_bps_at_least": 1e6 * (mbps - 0.2),
                 "rate_bps_at_most": 1e6 * (mbps + 0.2),
                 "rate_l1_bps": l2 / l2_of_l1, "rate_l2_bps": l2},
            ],
        });
        Stored::read(text.to_string()).unwrap()
    }

    #[test]
    fn a_bottleneck_is_judged_by_its_interval_at_one_layer_and_what_is_negligible_is_the_same() {
        let first = limited("1", 40.0, "l2", 54.0);
        let bottleneck = |second: &Stored| judged(&first, second, &[])[1].1;
        assert_eq!(bottleneck(&limited("2", 33.0, "l2", 54.0)), Judgement::Worse);
        assert_eq!(bottleneck(&limited("3", 40.3, "l2", 54.0)), Judgement::Within);
        assert_eq!(bottleneck(&limited("4", 40.1, "l2", 54.0)), Judgement::Same);
        // 40 · 1538 / 1518 = 40.527 Mbit/s on the line are 40 Mbit/s of frames.
        assert_eq!(bottleneck(&limited("5", 40.527, "l1", 54.0)), Judgement::Same);
        assert_eq!(bottleneck(&limited("6", 42.0, "l1", 54.0)), Judgement::Better);
        // 0.4 % of an RTT, whose spread one run cannot tell.
        let second = limited("7", 40.0, "l2", 54.2);
        assert_eq!(judged(&first, &second, &[])[0].1, Judgement::Same);
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

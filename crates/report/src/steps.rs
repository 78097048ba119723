//! The steps of a run in a line each: what each was, its main figure, and what became of it.

use serde_json::Value;

use crate::Work;
use crate::read;
use crate::stored::fields::Fields;

/// A step that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLine {
    pub name: String,
    /// Empty where the step has no one figure that stands for it.
    pub figure: String,
    pub outcome: StepOutcome,
    /// What the verdict says of it, cause included; empty where it says nothing.
    pub remark: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    Passed,
    Failed,
    /// The verdict has something to say of it.
    Remarked,
    /// Nothing was asked of it, or nothing is wrong with it so far.
    Done,
}

/// The steps of a run, in their order; it may be under way.
pub fn steps(work: &Work) -> Vec<StepLine> {
    let verdict = work.outcome().verdict;
    let line = |(place, step): (usize, &Value)| {
        let mut reasons = verdict.reasons.iter().filter(|reason| reason.step == Some(place));
        let remark = reasons.next().map(|reason| reason.text.clone());
        let step = Fields(step);
        let outcome = match step.flag("pass") {
            Some(true) => StepOutcome::Passed,
            Some(false) => StepOutcome::Failed,
            None if remark.is_some() => StepOutcome::Remarked,
            None => StepOutcome::Done,
        };
        let remark = remark.unwrap_or_default();
        StepLine { name: name(step), figure: figure(step), outcome, remark }
    };
    work.steps_in_json().iter().enumerate().map(line).collect()
}

/// The steps of a result document, each with what tells it from the others of its kind.
pub fn named_steps(result: &Value) -> Vec<(String, &Value)> {
    let steps = result["steps"].as_array().map_or(&[][..], Vec::as_slice);
    steps.iter().map(|step| (name(Fields(step)), step)).collect()
}

fn figure(step: Fields<'_>) -> String {
    read::row(step).map_or_else(String::new, |row| row.main())
}

/// What tells a step from the others of its kind.
pub(crate) fn name(step: Fields<'_>) -> String {
    let mut parts = vec![step.word("name").replace('_', " ")];
    for field in ["service", "flow", "step", "direction", "flow_direction", "role", "sender"] {
        let word = step.word(field);
        if !word.is_empty() && !parts.iter().any(|part| part == word) {
            parts.push(word.to_owned());
        }
    }
    if step.number("window_bytes").is_some() {
        parts.push(format!(
            "{} × {} bytes",
            step.grouped("connections"),
            step.grouped("window_bytes")
        ));
    } else if step.number("frame_bytes").is_some() {
        parts.push(format!("{} bytes", step.grouped("frame_bytes")));
    } else if let Some(percent) = step.count("cir_percent") {
        parts.push(format!("{percent} %"));
    }
    parts.join(" ")
}

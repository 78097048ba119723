//! The reasons of a verdict as a person reads them.

use serde_json::Value;

use crate::stored::fields::Fields;

/// The reasons in a result document. Those which several steps have in common are one reason, which
/// says it of the first of these steps and names the others.
pub(crate) fn of(result: &Value) -> Vec<String> {
    let all: Vec<Fields<'_>> = Fields(result).inside("verdict").each("reasons").collect();
    let mut told: Vec<(&str, String, Vec<&str>)> = Vec::new();
    for reason in &all {
        let (code, text) = (reason.word("code"), reason.word("text"));
        // What is said of a step begins with the step's name.
        let step = text.split_once(": ").map(|(step, _)| step);
        let step = step.filter(|_| reason.count("step").is_some());
        let first = told.iter_mut().find(|(first, ..)| *first == code);
        match (first, step) {
            (Some((_, _, others)), Some(step)) => others.push(step),
            (_, Some(_)) => told.push((code, text.to_owned(), Vec::new())),
            // One of the whole run, which no other has a part in.
            (_, None) => told.push(("", text.to_owned(), Vec::new())),
        }
    }
    told.into_iter().map(|(_, text, others)| with(text, &others)).collect()
}

fn with(text: String, others: &[&str]) -> String {
    match others {
        [] => text,
        [other] => format!("{text}; the same in: {other}"),
        _ => format!("{text}; the same in {} others: {}", others.len(), others.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_of_several_steps_with_one_cause_are_one_that_names_the_steps() {
        let reason = |code: &str, text: &str, step: Option<u64>| json!({"code": code, "text": text, "step": step});
        let result = json!({"verdict": {"reasons": [
            reason("loss", "voice, up: 2 % lost", Some(3)),
            reason("slow", "video, up: 9 Mbit/s", Some(4)),
            reason("loss", "voice, down: 3 % lost", Some(5)),
            reason("loss", "video, down: 4 % lost", Some(6)),
            reason("slow", "video, down: 8 Mbit/s", Some(7)),
            reason("clock", "the clock: it jumped", None),
            reason("clock", "the other clock: it jumped", None),
        ]}});
        assert_eq!(
            of(&result),
            [
                "voice, up: 2 % lost; the same in 2 others: voice, down; video, down",
                "video, up: 9 Mbit/s; the same in: video, down",
                "the clock: it jumped",
                "the other clock: it jumped",
            ]
        );
    }
}

//! The verdict in one sentence: the figure with its interval beside what was sold, and the main reason.

use fp_method::methods::{Found, Method};
use fp_method::rfc6349;
use fp_method::verdict::Status;
use fp_model::figure::Row;
use serde_json::Value;

use crate::read;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use crate::text::shortened;

/// What fits one line of a terminal and of a certificate.
pub(crate) const COLUMNS: usize = 100;

/// The verdict of a stored result in one sentence of at most 100 characters.
pub fn sentence(result: &Stored) -> String {
    of(result.value())
}

/// The sentence of a result document, of at most [`COLUMNS`] characters.
pub(crate) fn of(result: &Value) -> String {
    let fields = Fields(result);
    let verdict = fields.inside("verdict");
    let word = word(verdict.word("status"));
    let reason = verdict.each("reasons").next();
    let decided =
        reason.and_then(|reason| fields.each("steps").nth(reason.count("step")? as usize));
    let (steps, row) = (read::rows(result), decided.and_then(read::row));
    let found = Found {
        steps: &steps,
        decided: row.as_ref(),
        is_met: decided.and_then(|step| step.flag("pass")),
        has_failed: verdict.word("status") == Status::Fail.name(),
    };
    let method = Method::named(fields.word("method"));
    let figure = method.and_then(|method| (method.sentence)(&found));
    let why = reason.and_then(|reason| why(reason, &found));
    let why = why.map(|why| match figure.as_ref().and_then(|figure| figure.split_once(' ')) {
        // The figure names the direction already.
        Some((direction, _)) => {
            why.strip_prefix(&format!("{direction}: ")).map_or(why.clone(), str::to_owned)
        }
        None => why,
    });
    let parts: Vec<String> = figure.into_iter().chain(why).collect();
    let sentence = match parts.is_empty() {
        true => word.to_owned(),
        false => format!("{word}: {}", parts.join("; ")),
    };
    at_a_word(&sentence)
}

/// How a verdict is called; one of a later version by its own name.
pub(crate) fn word(status: &str) -> &str {
    Status::named(status).map_or(status, |known| known.title())
}

/// The figure of a step beside what it is measured by, without its direction.
pub(crate) fn of_step(method: &Method, step: &Row) -> Option<String> {
    let shown = (method.figure)(step)?;
    let direction = format!("{} ", step.direction());
    Some(shown.strip_prefix(&direction).map_or(shown.clone(), str::to_owned))
}

/// The main reason in a few words; a reason that says nothing beyond the figure says nothing here.
fn why(reason: Fields<'_>, Found { steps, decided, .. }: &Found<'_>) -> Option<String> {
    let text = match reason.word("code") {
        "throughput_met" | "policer_as_configured" | "cbs_outside_tolerance" | "services_met" => {
            return None;
        }
        "throughput_low_retransmissions" => {
            let too_shallow = rfc6349::too_shallow(*decided, steps);
            too_shallow.unwrap_or_else(|| String::from("segments were lost"))
        }
        "bottleneck_below_sold" => rfc6349::path_has(*decided, steps)?,
        "throughput_low_delay" => String::from("windows wait elsewhere than at the bottleneck"),
        "throughput_low_unexplained" => {
            String::from("no loss and no queue explains it: look at hosts and middleboxes")
        }
        "windows_too_small" => String::from("larger windows would decide (--window)"),
        "bottleneck_uncertain" => String::from("give the bottleneck's rate (--cir)"),
        "trial_too_short" => String::from("a longer trial would decide (--duration)"),
        _ => reason.word("text").to_owned(),
    };
    Some(text)
}

/// Cut after the last word that fits.
fn at_a_word(sentence: &str) -> String {
    if sentence.chars().count() <= COLUMNS {
        return sentence.to_owned();
    }
    let cut = shortened(sentence, COLUMNS);
    match cut.rsplit_once(' ') {
        Some((words, _)) => format!("{} …", words.trim_end_matches([',', ';', ':'])),
        None => cut,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line of 100 Mbit/s: a sender that waits for each of its windows carries less of it.
    #[test]
    fn a_path_that_passes_is_shown_by_what_it_carries_and_one_that_fails_by_what_failed() {
        let said = |status: &str, passes: bool| {
            let step = |bps: u64| {
                json!({
                    "name": "tcp", "role": "throughput", "direction": "download",
                    "flow_direction": "download", "throughput_bps": bps,
                    "ideal_bps": bps + 10_000, "pass": passes,
                })
            };
            let reasons = [json!({ "code": "throughput_met", "text": "", "step": 1 })];
            of(&json!({
                "method": "rfc6349",
                "verdict": { "status": status, "reasons": reasons },
                "steps": [step(94_120_000), step(72_590_000)],
            }))
        };
        assert_eq!(said("pass", true), "PASS: download 94.12 of 94.13 Mbit/s ideal");
        assert_eq!(said("fail", false), "FAIL: download 72.59 of 72.60 Mbit/s ideal");
    }
}

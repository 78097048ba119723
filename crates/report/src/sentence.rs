//! The verdict in one sentence: the figure with its interval beside what was sold, and the main reason.

use fp_method::verdict::Status;
use fp_model::figure::{Unit, beside};
use serde_json::Value;

use crate::stored::Stored;
use crate::stored::fields::Fields;
use crate::stored::headline;
use crate::text::{grouped, shortened};

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
    let steps: Vec<Fields<'_>> = fields.each("steps").collect();
    let of_reason = reason.and_then(|reason| steps.get(reason.count("step")? as usize).copied());
    let figure = figure(fields.word("method"), &steps, of_reason, result);
    let why = reason.and_then(|reason| why(reason, of_reason, &steps));
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

/// The main figure of a method, of the step that decided where there is one.
fn figure(
    method: &str,
    steps: &[Fields<'_>],
    decided: Option<Fields<'_>>,
    result: &Value,
) -> Option<String> {
    let named =
        |name: &'static str| steps.iter().copied().filter(move |step| step.word("name") == name);
    match method {
        "rfc6349" => {
            let is_judged = |step: &Fields<'_>| step.word("role") == "throughput";
            let judged = decided.filter(is_judged).map(|decided| main_one(decided, steps));
            let judged = judged.or_else(|| named("tcp").find(is_judged));
            let of_path =
                |step: Fields<'_>| format!("{} {}", step.word("direction"), bottleneck(step));
            judged.map(tcp).or_else(|| named("bottleneck").next().map(of_path))
        }
        "flow" => {
            let sum = named("flow").find(|step| step.word("part") == "sum");
            sum.or_else(|| named("flow").next()).map(flow)
        }
        "y1564" => {
            let all: Vec<Fields<'_>> = named("y1564_performance").collect();
            let has_failed = Fields(result).inside("verdict").word("status") == "fail";
            let passed = all.iter().filter(|step| step.word("status") == "pass").count();
            // Otherwise the first reason counts those that failed.
            (passed == all.len() && !all.is_empty() && !has_failed).then(|| {
                format!("{passed} of {} services and directions met their criteria", all.len())
            })
        }
        "burst" => named("policing").next().and_then(policing),
        "stress" => named("stress").next().map(|step| {
            format!(
                "{} of {} connections open at once",
                step.grouped("connections_peak"),
                step.grouped("connections_target")
            )
        }),
        _ => headline::of(result).map(|found| format!("{} {}", found.name, found.shown())),
    }
}

/// What passed with the least margin may be a sender that waits for each of its windows: what the path
/// carries in that direction is the figure of the first sender.
fn main_one<'a>(decided: Fields<'a>, steps: &[Fields<'a>]) -> Fields<'a> {
    let is_alike = |step: &Fields<'a>| {
        let same = |field| step.word(field) == decided.word(field);
        step.word("role") == "throughput" && same("direction") && same("flow_direction")
    };
    let first = steps.iter().copied().find(is_alike);
    first.filter(|_| decided.flag("pass") == Some(true)).unwrap_or(decided)
}

/// The figure of a step beside what it is measured by, without its direction.
pub(crate) fn of_step(step: Fields<'_>) -> Option<String> {
    let shown = match step.word("name") {
        "tcp" => tcp(step),
        "flow" => flow(step),
        "policing" => policing(step)?,
        _ => return None,
    };
    let direction = format!("{} ", step.word("flow_direction"));
    Some(shown.strip_prefix(&direction).map_or(shown.clone(), str::to_owned))
}

/// `download 37.12 ± 0.05 of 40.00 Mbit/s sold`.
fn tcp(step: Fields<'_>) -> String {
    let both = if step.word("direction") == "bidirectional" { " (both loaded)" } else { "" };
    let direction = step.word("flow_direction");
    let sold = step.number("sold_bps").map(|bps| (bps, "sold"));
    let of = sold.or_else(|| Some((step.number("ideal_bps")?, "ideal")));
    let found = step.rate_within("throughput_bps");
    let text = of.map_or(found.clone(), |(bps, what)| {
        format!("{} {what}", beside(&found, &Unit::Rate.shown(bps)))
    });
    format!("{direction}{both} {text}")
}

fn bottleneck(step: Fields<'_>) -> String {
    let what = match step.word("kind") {
        "policer" => "a policer of",
        "queue" => "a line or shaper of",
        "not_reached" => "at least",
        _ => "a bottleneck of",
    };
    format!("{what} {} ({})", step.rate_within("rate_bps"), step.word("layer"))
}

fn flow(step: Fields<'_>) -> String {
    let loss = step.number("loss_percent").map(|percent| format!(", {percent:.3} % lost"));
    let sent = step.inside("sent_rates").number("l4_bps");
    let found = step.rate("rate_bps");
    let text = sent
        .map_or(found.clone(), |bps| format!("{} sent", beside(&found, &Unit::Rate.shown(bps))));
    format!("{} {text}{}", step.word("direction"), loss.unwrap_or_default())
}

fn policing(step: Fields<'_>) -> Option<String> {
    let bytes =
        |field: &str| step.number(field).map(|bytes| grouped(bytes.max(0.0).round() as u64));
    let (found, configured) = (bytes("estimated_cbs_bytes")?, bytes("configured_burst_bytes")?);
    let ends = bytes("estimated_cbs_bytes_at_least").zip(bytes("estimated_cbs_bytes_at_most"));
    let ends = ends.map_or_else(String::new, |(least, most)| format!(" ({least} to {most})"));
    Some(format!("CBS {found} B{ends} for {configured} B sold"))
}

/// The bottleneck that a TCP step met.
fn limit_of<'a>(step: Option<Fields<'a>>, steps: &[Fields<'a>]) -> Option<Fields<'a>> {
    let direction = step.map_or("", |step| step.word("flow_direction"));
    let is_met = |step: &Fields<'_>| {
        step.word("name") == "bottleneck" && step.word("direction") == direction
    };
    steps.iter().copied().find(is_met)
}

/// The longest burst that a policer lets pass, as far as that is known, and the one that it would have to.
fn too_shallow(needed_bytes: f64, limit: Option<Fields<'_>>) -> String {
    let needed = amount_whole(needed_bytes);
    match limit.and_then(|limit| limit.number("burst_bytes")) {
        Some(burst) if burst < needed_bytes => {
            format!("policer too shallow: CBS {}, needs {needed}", amount_whole(burst))
        }
        Some(burst) => {
            format!("bursts are lost, not at the policer, which takes {}", amount_whole(burst))
        }
        None => format!("policer too shallow, needs a CBS of {needed}"),
    }
}

/// Bytes in whole kB, from ten MB on in MB.
fn amount_whole(bytes: f64) -> String {
    if bytes < 1e7 { format!("{:.0} kB", bytes / 1e3) } else { format!("{:.1} MB", bytes / 1e6) }
}

/// The main reason in a few words; a reason that says nothing beyond the figure says nothing here.
fn why(reason: Fields<'_>, step: Option<Fields<'_>>, steps: &[Fields<'_>]) -> Option<String> {
    let text = match reason.word("code") {
        "throughput_met" | "policer_as_configured" | "cbs_outside_tolerance" => return None,
        "throughput_low_retransmissions" => {
            match step.and_then(|step| step.number("needed_cbs_bytes")) {
                Some(bytes) => too_shallow(bytes, limit_of(step, steps)),
                None => String::from("segments were lost"),
            }
        }
        "bottleneck_below_sold" => {
            format!("the path has {}", limit_of(step, steps).map(bottleneck)?)
        }
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

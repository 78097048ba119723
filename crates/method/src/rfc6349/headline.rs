//! What stands for a run: what TCP carried, or where it was not run, what the path has.

use alloc::format;
use alloc::string::String;

use fp_model::figure::{Headline, Row, Unit, beside};

use super::{BOTTLENECK, TCP};
use crate::definition::Found;

fn is_trial(step: &&Row) -> bool {
    TCP.kind.is_of(step) && step.word("role") == "throughput"
}

/// The throughput of the first trial with only one direction loaded.
pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let mut alone =
        steps.iter().filter(|step| is_trial(step) && step.word("direction") != "bidirectional");
    let trial = alone.next()?;
    let name = format!("TCP throughput (l4), {}", trial.word("direction"));
    Some(Headline::new(name, trial.estimate("throughput_bps")?, Headline::BITS))
}

pub(super) fn sentence(found: &Found<'_>) -> Option<String> {
    let decided = found.decided.filter(is_trial).map(|decided| main_one(decided, found));
    let trial = decided.or_else(|| found.steps.iter().find(is_trial));
    let limit = || BOTTLENECK.kind.among(found.steps).next();
    let of_path = |step: &Row| format!("{} {}", step.word("direction"), bottleneck(step));
    trial.map(tcp).or_else(|| limit().map(of_path))
}

/// What passed with the least margin may be a sender that waits for each of its windows: what the path
/// carries in that direction is the figure of the first sender.
fn main_one<'a>(decided: &'a Row, found: &Found<'a>) -> &'a Row {
    let is_alike = |step: &&Row| {
        let same = |field| step.word(field) == decided.word(field);
        is_trial(step) && same("direction") && same("flow_direction")
    };
    let first = found.steps.iter().find(is_alike);
    first.filter(|_| found.is_met == Some(true)).unwrap_or(decided)
}

/// The throughput of a trial beside the rate that it is judged by: `download 37.12 ± 0.05 of 40.00 Mbit/s sold`.
pub(super) fn figure(step: &Row) -> Option<String> {
    TCP.kind.is_of(step).then(|| tcp(step))
}

fn tcp(step: &Row) -> String {
    let both = if step.word("direction") == "bidirectional" { " (both loaded)" } else { "" };
    let of = |field: &str, what: &'static str| Some((step.estimate(field)?, what));
    let found = step.shown("throughput_bps");
    let text = match of("sold_bps", "sold").or_else(|| of("ideal_bps", "ideal")) {
        Some((bps, what)) => format!("{} {what}", beside(&found, &Unit::Rate.shown(bps))),
        None => found,
    };
    format!("{}{both} {text}", step.direction())
}

fn bottleneck(step: &Row) -> String {
    let what = match step.word("kind") {
        "policer" => "a policer of",
        "queue" => "a line or shaper of",
        "not_reached" => "at least",
        _ => "a bottleneck of",
    };
    format!("{what} {} ({})", step.shown("rate_bps"), step.word("layer"))
}

/// The limit that a trial of TCP met.
fn limit_of<'a>(step: Option<&Row>, steps: &'a [Row]) -> Option<&'a Row> {
    let direction = step.map_or("", Row::direction);
    BOTTLENECK.kind.among(steps).find(|limit| limit.direction() == direction)
}

/// What the path has in the direction of a trial.
pub fn path_has(step: Option<&Row>, steps: &[Row]) -> Option<String> {
    Some(format!("the path has {}", bottleneck(limit_of(step, steps)?)))
}

/// Why a trial lost segments: the longest burst that a policer lets pass, as far as that is known, beside the one
/// that it would have to.
pub fn too_shallow(step: Option<&Row>, steps: &[Row]) -> Option<String> {
    let needed_bytes = step.filter(is_trial)?.estimate("needed_cbs_bytes")?;
    let needed = amount_whole(needed_bytes);
    let burst = limit_of(step, steps).and_then(|limit| limit.number("burst_bytes"));
    Some(match burst.map(|burst| burst.value) {
        Some(burst) if burst < needed_bytes => {
            format!("policer too shallow: CBS {}, needs {needed}", amount_whole(burst))
        }
        Some(burst) => {
            format!("bursts are lost, not at the policer, which takes {}", amount_whole(burst))
        }
        None => format!("policer too shallow, needs a CBS of {needed}"),
    })
}

/// Bytes in whole kB, from ten MB on in MB.
fn amount_whole(bytes: f64) -> String {
    if bytes < 1e7 { format!("{:.0} kB", bytes / 1e3) } else { format!("{:.1} MB", bytes / 1e6) }
}

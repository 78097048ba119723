//! What was asked of a run of flows.

use fp_model::Rate;

use crate::document::Fact;
use crate::stored::fields::Fields;
use crate::text::{grouped, rate, unknown};

pub(super) const TOLD: [&str; 4] = ["flows", "timing", "profile", "lines"];

/// More flows than that are counted, not listed.
const FLOWS_MAX: usize = 16;

pub(super) fn facts(plan: Fields<'_>) -> Vec<Fact> {
    let flows: Vec<Fields<'_>> = plan.each("flows").collect();
    let mut facts = match flows.len() {
        count if count > FLOWS_MAX => vec![Fact::new("Flows", grouped(count as u64))],
        _ => flows.iter().map(|flow| fact(*flow)).collect(),
    };
    let profile = plan.inside("profile").word("written");
    if !profile.is_empty() {
        facts.push(Fact::new("Profile", profile));
    }
    let timing = plan.inside("timing");
    facts.push(Fact::new("Steady time", seconds(timing, "steady_ns")));
    if timing.number("warm_up_ns").is_some_and(|nanos| nanos > 0.0) {
        facts.push(Fact::new("Warm-up", seconds(timing, "warm_up_ns")));
    }
    let lines = plan.inside("lines");
    for (name, field) in [("download", "download_bps"), ("upload", "upload_bps")] {
        if lines.number(field).is_some() {
            let text = format!("{} l1", lines.rate(field));
            facts.push(Fact { text, ..Fact::new(&format!("Line, {name}"), "") });
        }
    }
    facts
}

/// As it was asked for, which is no more than milliseconds.
fn seconds(timing: Fields<'_>, field: &str) -> String {
    timing.number(field).map_or_else(unknown, |nanos| format!("{} s", (nanos / 1e6).round() / 1e3))
}

fn fact(flow: Fields<'_>) -> Fact {
    let spec = flow.inside("spec");
    let load = spec.inside("load");
    let family = if spec.word("family") == "ipv6" { "IPv6" } else { "IPv4" };
    let kind = match load.word("kind") {
        "tcp" => {
            let connections = match load.count("connections") {
                Some(1) => String::from("1 connection"),
                _ => format!("{} connections", load.grouped("connections")),
            };
            let own = match load.inside("engine").word("kind") {
                "user" => "fullpipe's own ",
                _ => "",
            };
            let control = load.word("congestion_control");
            format!("{own}TCP over {family}, {connections}, {control}")
        }
        _ => format!("UDP over {family}"),
    };
    let layer = if load.word("kind") == "tcp" { "l4" } else { "l2" };
    let pace = match load.inside("pace").count("rate_bps") {
        Some(bps) => format!(", {} {layer}", rate(Rate::bps(bps))),
        None => String::new(),
    };
    let direction = spec.word("direction");
    let text = format!("{direction}, {kind}{pace}, DSCP {}", spec.grouped("dscp"));
    Fact::new(&format!("Flow {}", flow.word("name")), text)
}

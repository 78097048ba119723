//! What was asked of an RFC 6349 run.

use crate::document::Fact;
use crate::stored::fields::Fields;

pub(super) const TOLD: [&str; 10] = [
    "cir",
    "search",
    "rate_limit",
    "windows",
    "senders",
    "congestion_control",
    "trial_s",
    "decides",
    "thresholds",
    "strict_headers",
];

pub(super) fn facts(plan: Fields<'_>) -> Vec<Fact> {
    vec![
        Fact::new("Bottleneck", bottleneck(plan)),
        Fact::new("Windows", windows(plan.inside("windows"))),
        Fact::new("TCP", tcp(plan)),
        Fact::new("Each trial", trial(plan)),
        Fact::new("Passes with", passes(plan.inside("thresholds"))),
    ]
}

fn bottleneck(plan: Fields<'_>) -> String {
    let given = plan.inside("cir");
    if given.number("rate_bps").is_some() {
        return format!("given: {} {}", given.rate("rate_bps"), given.word("layer"));
    }
    let limit = plan.inside("rate_limit");
    let most = format!("{} {}", limit.rate("rate_bps"), limit.word("layer"));
    format!("searched, up to {most}")
}

fn windows(windows: Fields<'_>) -> String {
    let connections = windows.grouped("connections");
    match (windows.count("connections"), windows.count("window_bytes")) {
        (Some(_), Some(_)) => {
            format!("{connections} connections of {} bytes", windows.grouped("window_bytes"))
        }
        (None, Some(_)) => {
            format!("{} bytes each, as many as fill the path", windows.grouped("window_bytes"))
        }
        _ => format!("{connections} connections that fill the path together"),
    }
}

fn tcp(plan: Fields<'_>) -> String {
    let senders = match plan.word("senders") {
        "both" => "bulk and burst senders",
        "burst" => "burst sender",
        _ => "bulk sender",
    };
    format!("{senders}, {}", plan.word("congestion_control"))
}

fn trial(plan: Fields<'_>) -> String {
    match plan.number("trial_s") {
        Some(_) => plan.seconds("trial_s"),
        None if plan.inside("decides").0.is_object() => {
            String::from("as long as it takes to decide")
        }
        None => String::from("as short as the round trip allows"),
    }
}

fn passes(thresholds: Fields<'_>) -> String {
    let percent = |field: &str| thresholds.number(field).map(|percent| format!("{percent} %"));
    let mut parts = Vec::new();
    if let Some(percent) = percent("throughput_percent") {
        parts.push(format!("{percent} of the ideal throughput"));
    }
    if let Some(percent) = percent("bidirectional_percent") {
        parts.push(format!("{percent} with both directions loaded"));
    }
    if let Some(percent) = percent("efficiency_percent") {
        parts.push(format!("an efficiency of {percent}"));
    }
    if let Some(percent) = percent("buffer_delay_percent") {
        parts.push(format!("a buffer delay of at most {percent}"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_wishes_are_told_in_the_words_of_the_method() {
        let plan = json!({
            "cir": {"rate_bps": 40_000_000, "layer": "l2"}, "trial_s": null,
            "windows": {"by": "window", "window_bytes": 64_000},
            "senders": "both", "congestion_control": "cubic",
            "thresholds": {"throughput_percent": 95.0, "buffer_delay_percent": 10.5},
        });
        let texts: Vec<String> = facts(Fields(&plan)).into_iter().map(|fact| fact.text).collect();
        assert_eq!(
            texts,
            [
                "given: 40.00 Mbit/s l2",
                "64,000 bytes each, as many as fill the path",
                "bulk and burst senders, cubic",
                "as short as the round trip allows",
                "95 % of the ideal throughput, a buffer delay of at most 10.5 %",
            ]
        );
    }
}

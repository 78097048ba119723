//! The inputs of a plan as facts: each under its name, with its unit.

use std::time::Duration;

use fp_model::Rate;
use fp_model::figure::capital;
use serde_json::Value;

use crate::document::Fact;
use crate::stored::fields::Fields;
use crate::text::{duration, grouped, rate};

/// Those that a reader looks for first.
const FIRST: [&str; 9] = [
    "goal",
    "cir",
    "cbs_bytes",
    "tests",
    "policer",
    "queue",
    "shaper",
    "criteria",
    "frame_lengths_bytes",
];
/// Words for what a plan calls otherwise.
const NAMES: [(&str, &str); 7] = [
    ("frame_bytes", "Frame lengths"),
    ("frame_lengths_bytes", "Frame lengths"),
    ("test_s", "Each length for"),
    ("trial_s", "Each trial"),
    ("performance_s", "All at once for"),
    ("ways", "Directions"),
    ("family", "IP"),
];

/// Those that were given or are defaults; what is open is left out.
pub(super) fn facts(plan: Fields<'_>, is_told: impl Fn(&str) -> bool) -> Vec<Fact> {
    let Some(fields) = plan.0.as_object() else { return Vec::new() };
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    let mut facts = Vec::new();
    for (name, value) in first.chain(others).filter(|(name, _)| !is_told(name)) {
        let words = NAMES.iter().find(|(known, _)| known == name).map(|(_, words)| *words);
        let words = words.map_or_else(|| capital(&words_of(name)), str::to_owned);
        add(&mut facts, &words, unit(name), value);
    }
    facts
}

/// The ending of a field's name that says its unit.
fn unit(name: &str) -> &'static str {
    const UNITS: [&str; 6] = ["_bps", "_bytes", "_percent", "_ns", "_ms", "_s"];
    UNITS.into_iter().find(|unit| name.ends_with(unit)).unwrap_or_default()
}

/// A field's name without its unit, as words.
fn words_of(name: &str) -> String {
    let name = name.strip_suffix(unit(name)).unwrap_or(name);
    let layers = [("_l1", " (layer 1)"), ("_l2", " (layer 2)")];
    let layer = layers.iter().find_map(|(ending, text)| Some((name.strip_suffix(ending)?, *text)));
    let (name, layer) = layer.unwrap_or((name, ""));
    let capitals = ["cir", "cbs", "eir", "ebs", "dscp", "mtu", "tcp", "vlan"];
    let word = |word: &str| {
        if capitals.contains(&word) { word.to_uppercase() } else { word.to_owned() }
    };
    let text: Vec<String> = name.split('_').map(word).collect();
    text.join(" ") + layer
}

fn add(facts: &mut Vec<Fact>, name: &str, unit: &str, value: &Value) {
    if let Some(text) = layered_rate(value).or_else(|| shown(value, unit)) {
        facts.push(Fact::new(name, text));
        return;
    }
    for (inner, value) in value.as_object().into_iter().flatten() {
        let inner_name = format!("{name}: {}", words_of(inner));
        add(facts, &inner_name, self::unit(inner), value);
    }
}

/// `{rate_bps, layer}` belongs together.
fn layered_rate(value: &Value) -> Option<String> {
    let fields = Fields(value);
    let is_whole = value.as_object()?.len() == 2;
    let bps = fields.count("rate_bps").filter(|_| is_whole)?;
    Some(format!("{} {}", rate(Rate::bps(bps)), fields.word("layer")))
}

/// `None` of what is open and of what has fields.
fn shown(value: &Value, unit: &str) -> Option<String> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Bool(yes) => Some(String::from(if *yes { "yes" } else { "no" })),
        Value::String(word) => Some(match word.as_str() {
            "ipv4" => String::from("IPv4"),
            "ipv6" => String::from("IPv6"),
            word => word.replace('_', " "),
        }),
        Value::Number(number) => Some(match (unit, number.as_u64()) {
            ("_bps", Some(bps)) => rate(Rate::bps(bps)),
            ("_bytes", Some(bytes)) => format!("{} bytes", grouped(bytes)),
            ("_percent", _) => format!("{} %", short(number)),
            ("_ns", Some(nanos)) => duration(Duration::from_nanos(nanos)),
            ("_ns" | "_ms" | "_s", _) => format!("{} {}", short(number), &unit[1..]),
            (_, Some(count)) => grouped(count),
            (_, None) => number.to_string(),
        }),
        Value::Array(values) => {
            let each: Option<Vec<String>> = values.iter().map(|value| shown(value, "")).collect();
            let each = each.filter(|each| !each.is_empty())?;
            let unit = match unit {
                "_bytes" => " bytes",
                "_percent" => " %",
                _ => "",
            };
            Some(each.join(", ") + unit)
        }
    }
}

/// A whole number without its point.
fn short(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_input_is_told_with_its_unit_and_what_is_open_is_not() {
        let plan = json!({
            "cir": {"layer": "l2", "rate_bps": 40_000_000}, "cbs_bytes": 64_000, "pacing_bps": null,
            "policer": {"cbs_bytes": 5, "cir_l2_bps": 1_000_000}, "family": "ipv6",
            "frame_bytes": [64, 1518], "trial_s": 2.5, "line_rate_l1_bps": 1_000_000_000,
        });
        let facts = facts(Fields(&plan), |name| name == "told");
        let texts: Vec<String> =
            facts.iter().map(|fact| format!("{}={}", fact.name, fact.text)).collect();
        assert_eq!(
            texts,
            [
                "CIR=40.00 Mbit/s l2",
                "CBS=64,000 bytes",
                "Policer: CBS=5 bytes",
                "Policer: CIR (layer 2)=1.00 Mbit/s",
                "IP=IPv6",
                "Frame lengths=64, 1,518 bytes",
                "Line rate (layer 1)=1000.00 Mbit/s",
                "Each trial=2.5 s",
            ]
        );
    }
}

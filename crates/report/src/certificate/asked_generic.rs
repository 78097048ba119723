//! What was asked of a method: every input that its plan names.

use fp_model::Rate;
use serde_json::Value;

use crate::document::Fact;
use crate::stored::fields::Fields;
use crate::text::{grouped, rate};

/// What says nothing to a reader: how a program keeps it, not what was asked.
const LEFT_OUT: [&str; 5] = ["interface_mtu_bytes", "period_guard", "flows", "timing", "remarks"];

/// Those that a reader looks for first.
const FIRST: [&str; 12] = [
    "goal",
    "cir",
    "cbs_bytes",
    "tests",
    "services",
    "policer",
    "queue",
    "shaper",
    "thresholds",
    "criteria",
    "profile",
    "frame_lengths_bytes",
];

/// The inputs that were given or are defaults; those that are open are left out.
pub(super) fn facts(method: &str, plan: Fields<'_>) -> Vec<Fact> {
    let mut facts = match method {
        "flow" => flows(plan),
        "y1564" => services(plan),
        _ => Vec::new(),
    };
    let Some(fields) = plan.0.as_object() else { return facts };
    let is_told_already = |name: &str| method == "y1564" && name == "services";
    let is_shown = |name: &str| !LEFT_OUT.contains(&name) && !is_told_already(name);
    let first = FIRST.iter().filter_map(|name| fields.get_key_value(*name));
    let others = fields.iter().filter(|(name, _)| !FIRST.contains(&name.as_str()));
    for (name, value) in first.chain(others).filter(|(name, _)| is_shown(name)) {
        add(&mut facts, &words(name), unit(name), value);
    }
    facts
}

/// The ending of a field's name that says its unit.
fn unit(name: &str) -> &'static str {
    const UNITS: [&str; 6] = ["_bps", "_bytes", "_percent", "_ns", "_ms", "_s"];
    UNITS.into_iter().find(|unit| name.ends_with(unit)).unwrap_or_default()
}

/// A field's name without its unit, as words.
fn words(name: &str) -> String {
    let name = name.strip_suffix(unit(name)).unwrap_or(name);
    let layers = [("_l1", " (layer 1)"), ("_l2", " (layer 2)")];
    let layer = layers.iter().find_map(|(ending, text)| Some((name.strip_suffix(ending)?, *text)));
    let (name, layer) = layer.unwrap_or((name, ""));
    let capitals = ["cir", "cbs", "eir", "ebs", "dscp", "mtu", "tcp", "vlan"];
    let word = |word: &str| {
        if capitals.contains(&word) { word.to_uppercase() } else { word.to_owned() }
    };
    let text: Vec<String> = name.split('_').map(word).collect();
    let mut text = text.join(" ") + layer;
    if let Some(first) = text.get(..1) {
        let first = first.to_uppercase();
        text.replace_range(..1, &first);
    }
    text
}

fn add(facts: &mut Vec<Fact>, name: &str, unit: &str, value: &Value) {
    if let Some(text) = layered_rate(value).or_else(|| shown(value, unit)) {
        facts.push(Fact::new(name, text));
        return;
    }
    for (inner, value) in value.as_object().into_iter().flatten() {
        let inner_name = format!("{name}: {}", words(inner).to_lowercase());
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
        Value::String(word) => Some(word.replace('_', " ")),
        Value::Number(number) => Some(match (unit, number.as_u64()) {
            ("_bps", Some(bps)) => rate(Rate::bps(bps)),
            ("_bytes", Some(bytes)) => format!("{} bytes", grouped(bytes)),
            ("_percent", _) => format!("{} %", short(number)),
            ("_ns" | "_ms" | "_s", _) => format!("{} {}", short(number), &unit[1..]),
            (_, Some(count)) => grouped(count),
            (_, None) => number.to_string(),
        }),
        Value::Array(values) => {
            let each: Option<Vec<String>> = values.iter().map(|value| shown(value, "")).collect();
            let each = each.filter(|each| !each.is_empty())?;
            let unit = if unit == "_bytes" { " bytes" } else { "" };
            Some(each.join(", ") + unit)
        }
    }
}

/// A whole number without its point.
fn short(number: &serde_json::Number) -> String {
    let text = number.to_string();
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// More flows than that are counted, not listed.
const FLOWS_MAX: usize = 16;

fn flows(plan: Fields<'_>) -> Vec<Fact> {
    let flows: Vec<Fields<'_>> = plan.each("flows").collect();
    if flows.len() > FLOWS_MAX {
        return vec![Fact::new("Flows", grouped(flows.len() as u64))];
    }
    let fact = |flow: &Fields<'_>| {
        let spec = flow.inside("spec");
        let load = spec.inside("load");
        let family = match spec.word("family") {
            "ipv6" => "IPv6",
            _ => "IPv4",
        };
        let kind = match load.word("kind") {
            "tcp" => {
                let connections = load.grouped("connections");
                let control = load.word("congestion_control");
                format!("TCP over {family}, {connections} connections, {control}")
            }
            _ => format!("UDP over {family}"),
        };
        let pace = load.inside("pace");
        let pace = match pace.count("rate_bps") {
            Some(bps) => format!(", {}", rate(Rate::bps(bps))),
            None => String::new(),
        };
        let direction = spec.word("direction");
        let text = format!("{direction}, {kind}{pace}, DSCP {}", spec.grouped("dscp"));
        Fact { name: format!("Flow {}", flow.word("name")), text }
    };
    let steady = plan.inside("timing").number("steady_ns").map(|nanos| nanos / 1e9);
    let mut facts: Vec<Fact> = flows.iter().map(fact).collect();
    facts.extend(steady.map(|seconds| Fact::new("Steady time", format!("{seconds} s"))));
    facts
}

fn services(plan: Fields<'_>) -> Vec<Fact> {
    let fact = |service: Fields<'_>| {
        let traffic = service.inside("traffic");
        let mut parts = vec![format!("CIR {} l2", service.rate("cir_l2_bps"))];
        let positive = |field: &str| traffic.number(field).is_some_and(|value| value > 0.0);
        if positive("eir_l2_bps") {
            parts.push(format!("EIR {} l2", traffic.rate("eir_l2_bps")));
        }
        for (field, name) in [("cbs_bytes", "CBS"), ("ebs_bytes", "EBS")] {
            if positive(field) {
                parts.push(format!("{name} {} bytes", traffic.grouped(field)));
            }
        }
        if positive("connections") {
            parts.push(format!("{} TCP connections", traffic.grouped("connections")));
        }
        parts.push(format!("DSCP {}", service.grouped("dscp")));
        let criteria = traffic.inside("criteria");
        let limits = [
            ("flr", criteria.number("flr").map(|flr| format!("loss at most {} %", flr * 100.0))),
            (
                "ftd_s",
                criteria
                    .number("ftd_s")
                    .map(|_| format!("delay at most {}", criteria.seconds("ftd_s"))),
            ),
            (
                "fdv_s",
                criteria
                    .number("fdv_s")
                    .map(|_| format!("delay variation at most {}", criteria.seconds("fdv_s"))),
            ),
            (
                "availability_percent",
                criteria
                    .number("availability_percent")
                    .map(|percent| format!("available for at least {percent} %")),
            ),
        ];
        parts.extend(limits.into_iter().filter_map(|(_, text)| text));
        let name = format!("Service {}", service.word("name"));
        Fact { name, text: parts.join(", ") }
    };
    plan.each("services").map(fact).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_input_is_told_with_its_unit_and_what_is_open_is_not() {
        let plan = json!({
            "cir": {"layer": "l2", "rate_bps": 40_000_000}, "cbs_bytes": 64_000, "pacing_bps": null,
            "thresholds": {"throughput_percent": 95.0, "efficiency_percent": null},
            "frame_bytes": [64, 1518], "trial_s": 2.5, "line_rate_l1_bps": 1_000_000_000,
        });
        let facts = facts("rfc6349", Fields(&plan));
        let texts: Vec<String> =
            facts.iter().map(|fact| format!("{}={}", fact.name, fact.text)).collect();
        assert_eq!(
            texts,
            [
                "CIR=40.00 Mbit/s l2",
                "CBS=64,000 bytes",
                "Thresholds: throughput=95 %",
                "Frame=64, 1,518 bytes",
                "Line rate (layer 1)=1000.00 Mbit/s",
                "Trial=2.5 s",
            ]
        );
    }
}

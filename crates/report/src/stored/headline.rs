//! The one figure that stands for a run in a list.

use fp_model::Rate;
use serde_json::Value;

use crate::text;

/// A figure with what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Headline {
    pub name: String,
    pub value: f64,
    pub unit: String,
}

const BITS: &str = "bit/s";
const BYTES: &str = "bytes";
const CONNECTIONS: &str = "connections";

impl Headline {
    fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned() }
    }

    /// The value in the unit that suits it.
    pub fn shown(&self) -> String {
        match self.unit.as_str() {
            BITS => text::rate(Rate::bps(self.value.max(0.0) as u64)),
            BYTES => format!("{} B", text::grouped(self.value.max(0.0).round() as u64)),
            CONNECTIONS => {
                format!("{} connections", text::grouped(self.value.max(0.0).round() as u64))
            }
            unit => format!("{:.2} {unit}", self.value),
        }
    }
}

/// Of a result document; `None` where the run found no such figure.
pub(crate) fn of(result: &Value) -> Option<Headline> {
    let steps = result["steps"].as_array()?;
    let named = |name: &'static str| steps.iter().filter(move |step| step["name"] == name);
    match result["method"].as_str()? {
        "rfc6349" => {
            let mut trials = named("tcp").filter(|step| step["role"] == "throughput");
            let trial = trials.find(|step| step["direction"] != "bidirectional")?;
            direction_rate("TCP throughput (l4)", trial, "throughput_bps")
        }
        "flow" => {
            let sum = named("flow").find(|step| step["part"] == "sum");
            let step = sum.or_else(|| named("flow").next())?;
            // Runs of one transport are no repetition of those of another.
            let name = match step["transport"].as_str() {
                Some(transport) => format!("{} payload (l4)", transport.to_uppercase()),
                None => String::from("payload (l4)"),
            };
            direction_rate(&name, step, "rate_bps")
        }
        "rfc2544" => {
            let largest = named("rfc2544_throughput")
                .filter(|step| step["rate_l2_bps"].is_u64())
                .max_by_key(|step| step["frame_bytes"].as_u64())?;
            let name = format!("throughput (l2) of {} bytes", largest["frame_bytes"]);
            Some(Headline::new(name, largest["rate_l2_bps"].as_f64()?, BITS))
        }
        "y1564" => {
            let rates = named("y1564_performance").filter_map(|step| step["ir_bps"].as_f64());
            let rates: Vec<f64> = rates.collect();
            let sum = rates.iter().sum();
            (!rates.is_empty()).then(|| Headline::new("information rate (l2)", sum, BITS))
        }
        "burst" => burst(
            &named("discovery").chain(named("policing")).chain(named("cbs")).collect::<Vec<_>>(),
        ),
        "rfc7640" => steps.iter().find_map(|step| {
            let bsa = step["bsa_bytes"].as_f64().map(|bytes| ("burst accepted", bytes, BYTES));
            let rate = || step["sr_l2_bps"].as_f64().map(|bps| ("shaper rate (l2)", bps, BITS));
            let (name, value, unit) = bsa.or_else(rate)?;
            Some(Headline::new(name, value, unit))
        }),
        "stress" => {
            let peak = named("stress").find_map(|step| step["connections_peak"].as_f64())?;
            Some(Headline::new("open at once", peak, CONNECTIONS))
        }
        _ => None,
    }
}

fn direction_rate(name: &str, step: &Value, field: &str) -> Option<Headline> {
    let direction = step["direction"].as_str()?;
    Some(Headline::new(format!("{name}, {direction}"), step[field].as_f64()?, BITS))
}

/// The bucket as it was found, else as it was estimated, else the burst that came through.
fn burst(steps: &[&Value]) -> Option<Headline> {
    let first = |field: &str| steps.iter().find_map(|step| step[field].as_f64());
    first("cbs_bytes")
        .or_else(|| first("estimated_cbs_bytes"))
        .map(|bytes| Headline::new("CBS", bytes, BYTES))
        .or_else(|| {
            first("rx_burst_bytes_mean").map(|bytes| Headline::new("burst passed", bytes, BYTES))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_test_of_tcp_stands_for_its_first_direction_alone() {
        let tcp = |role: &str, direction: &str, bps: u64| json!({"name": "tcp", "role": role, "direction": direction, "throughput_bps": bps});
        let steps = [
            tcp("walk", "download", 1),
            tcp("throughput", "bidirectional", 2),
            tcp("throughput", "download", 37_100_000),
            tcp("throughput", "upload", 4),
        ];
        let found = of(&json!({"method": "rfc6349", "steps": steps})).unwrap();
        assert_eq!(found.shown(), "37.10 Mbit/s");
        assert_eq!(found.name, "TCP throughput (l4), download");
    }

    #[test]
    fn the_name_of_a_rate_names_its_layer() {
        let name = |method: &str, step: Value| {
            of(&json!({"method": method, "steps": [step]})).unwrap().name
        };
        let mut flow = json!({"name": "flow", "direction": "upload", "rate_bps": 1});
        assert_eq!(name("flow", flow.clone()), "payload (l4), upload", "of both transports");
        flow["transport"] = "udp".into();
        assert_eq!(name("flow", flow), "UDP payload (l4), upload");
        let frames = json!({"name": "rfc2544_throughput", "frame_bytes": 1518, "rate_l2_bps": 1});
        assert_eq!(name("rfc2544", frames), "throughput (l2) of 1518 bytes");
        let service = json!({"name": "y1564_performance", "ir_bps": 1});
        assert_eq!(name("y1564", service), "information rate (l2)");
        assert_eq!(name("rfc7640", json!({"sr_l2_bps": 1})), "shaper rate (l2)");
    }

    #[test]
    fn a_run_that_found_nothing_has_no_figure() {
        let methods =
            ["rfc6349", "flow", "rfc2544", "y1564", "burst", "rfc7640", "stress", "later"];
        for method in methods {
            assert_eq!(of(&json!({"method": method, "steps": [{"name": "path_mtu"}]})), None);
        }
    }

    #[test]
    fn a_load_of_connections_stands_for_how_many_there_were() {
        let steps = [json!({"name": "stress", "connections_peak": 65_536})];
        let found = of(&json!({"method": "stress", "steps": steps})).unwrap();
        assert_eq!(found.shown(), "65,536 connections");
        assert_eq!(found.name, "open at once");
    }

    #[test]
    fn a_bucket_that_was_found_counts_more_than_a_burst_that_passed() {
        let steps = [
            json!({"name": "cbs", "rx_burst_bytes_mean": 64_000.0}),
            json!({"name": "policing", "estimated_cbs_bytes": 64_123.4}),
        ];
        let found = |steps: &[Value]| of(&json!({"method": "burst", "steps": steps})).unwrap();
        assert_eq!(found(&steps).shown(), "64,123 B");
        assert_eq!(found(&steps[..1]).name, "burst passed");
    }
}

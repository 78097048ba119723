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

impl Headline {
    fn new(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.to_owned() }
    }

    /// The value in the unit that suits it.
    pub fn shown(&self) -> String {
        match self.unit.as_str() {
            BITS => text::rate(Rate::bps(self.value.max(0.0) as u64)),
            BYTES => format!("{} B", text::grouped(self.value.max(0.0).round() as u64)),
            unit => format!("{:.2} {unit}", self.value),
        }
    }
}

/// Of a result document; `None` where the run found no such figure.
pub(super) fn of(result: &Value) -> Option<Headline> {
    let steps = result["steps"].as_array()?;
    let named = |name: &'static str| steps.iter().filter(move |step| step["name"] == name);
    match result["method"].as_str()? {
        "rfc6349" => {
            let mut trials = named("tcp").filter(|step| step["role"] == "throughput");
            let trial = trials.find(|step| step["direction"] != "bidirectional")?;
            direction_rate("TCP throughput", trial, "throughput_bps")
        }
        "flow" => {
            let sum = named("flow").find(|step| step["part"] == "sum");
            direction_rate("payload", sum.or_else(|| named("flow").next())?, "rate_bps")
        }
        "rfc2544" => {
            let largest = named("rfc2544_throughput")
                .filter(|step| step["rate_l2_bps"].is_u64())
                .max_by_key(|step| step["frame_bytes"].as_u64())?;
            let name = format!("throughput of {} bytes", largest["frame_bytes"]);
            Some(Headline::new(name, largest["rate_l2_bps"].as_f64()?, BITS))
        }
        "y1564" => {
            let rates = named("y1564_performance").filter_map(|step| step["ir_bps"].as_f64());
            let rates: Vec<f64> = rates.collect();
            let sum = rates.iter().sum();
            (!rates.is_empty()).then(|| Headline::new("information rate", sum, BITS))
        }
        "burst" => burst(
            &named("discovery").chain(named("policing")).chain(named("cbs")).collect::<Vec<_>>(),
        ),
        "rfc7640" => steps.iter().find_map(|step| {
            let bsa = step["bsa_bytes"].as_f64().map(|bytes| ("burst accepted", bytes, BYTES));
            let rate = || step["sr_l2_bps"].as_f64().map(|bps| ("shaper rate", bps, BITS));
            let (name, value, unit) = bsa.or_else(rate)?;
            Some(Headline::new(name, value, unit))
        }),
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
        assert_eq!(found.name, "TCP throughput, download");
    }

    #[test]
    fn a_run_that_found_nothing_has_no_figure() {
        for method in ["rfc6349", "flow", "rfc2544", "y1564", "burst", "rfc7640", "later"] {
            assert_eq!(of(&json!({"method": method, "steps": [{"name": "path_mtu"}]})), None);
        }
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

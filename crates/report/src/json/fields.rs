//! The names of the steps of each method's result, and of the fields of these steps.

use fp_method::path::{BASELINE_RTT as ROUND_TRIP, PATH_MTU as MTU};
use fp_method::{burst, figures, flow, rfc2544, rfc6349, stress, y1564};
use fp_model::figure::Kind;

use crate::Method;

/// A step of a result and its fields, each by the path to it: `a.b` is the field `b` of the field
/// `a`, and `N` stands for the place in a list, counted from 0.
#[derive(Clone, Copy, Debug)]
pub struct StepFields {
    pub step: &'static str,
    /// Beside the columns of its kind.
    own: &'static str,
    /// The fields of a field, or of each element of a list.
    inside: &'static [(&'static str, &'static str)],
}

impl StepFields {
    /// The paths to all fields that hold a single value.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        let own = self.own.split_whitespace().map(String::from);
        let below = |&(path, fields): &(&'static str, &'static str)| {
            fields.split_whitespace().map(move |field| format!("{path}.{field}"))
        };
        let columns = figures::kind(self.step).into_iter().flat_map(Kind::fields);
        columns.chain(own).chain(self.inside.iter().flat_map(below))
    }

    /// Whether `path` leads to a single value, places in lists given as numbers.
    pub fn has(&self, path: &str) -> bool {
        let is_place = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit());
        let part = |part| if is_place(part) { "N" } else { part };
        let wanted = path.split('.').map(part).collect::<Vec<_>>().join(".");
        self.paths().any(|known| known == wanted)
    }
}

/// A step of columns alone.
const fn of_kind(kind: &Kind) -> StepFields {
    StepFields { step: kind.name, own: "", inside: &[] }
}

/// A step of columns that something is asked of.
const fn judged(kind: &Kind) -> StepFields {
    StepFields { own: "pass", ..of_kind(kind) }
}

/// The steps that a result of `method` may have.
pub const fn step_fields(method: Method) -> &'static [StepFields] {
    match method {
        Method::Flow => &[PATH_MTU, FLOW, PROFILE],
        Method::Rfc2544 => &[
            PATH_MTU,
            BASELINE_RTT,
            LINE_RATE,
            THROUGHPUT,
            LATENCY,
            FRAME_LOSS,
            BACK_TO_BACK,
            RECOVERY,
        ],
        Method::Rfc6349 => &[PATH_MTU, BASELINE_RTT, BOTTLENECK, TCP],
        Method::Y1564 => &[BASELINE_RTT, CONFIGURATION, PERFORMANCE],
        Method::Burst => &[PATH_MTU, LINE, CBS, RATE, POLICING, DISCOVERY],
        Method::Rfc7640 => &[BASELINE_RTT, POLICER, QUEUE, SCHEDULER, SHAPER, CAPACITY],
        Method::Stress => &[STRESS],
    }
}

/// What became of bursts without connections.
const STATELESS: &str = "\
    burst_bytes interval_ms runs bursts whole_bursts rx_burst_bytes_mean frames_sent \
    frames_received lost_frames out_of_order_frames duplicate_frames corrupt_frames \
    delay_min_ms delay_mean_ms delay_p99_ms delay_max_ms delay_variation_p99_ms loss_timeout_ms \
    repeated_trials spoilt_trials";

/// A pattern of bursts over TCP.
const STATEFUL: &str = "\
    pattern dscp connections window_bytes bdp_bytes window_factor burst_bytes bursts \
    interval_ms pattern_bytes runs unfinished_runs ttpet_mean_ms ttpet_min_ms ttpet_max_ms \
    ttpet_ideal_ms transmitted_bytes retransmitted_bytes efficiency_percent \
    buffer_delay_percent congestion_control";

const PATH_MTU: StepFields = of_kind(&MTU.kind);
const BASELINE_RTT: StepFields = of_kind(&ROUND_TRIP.kind);

const BOTTLENECK: StepFields = of_kind(&rfc6349::BOTTLENECK.kind);

const TCP: StepFields = judged(&rfc6349::TCP.kind);

const FLOW: StepFields = judged(&flow::FLOW.kind);
const PROFILE: StepFields = of_kind(&flow::PROFILE.kind);

const LINE_RATE: StepFields = of_kind(&rfc2544::LINE_RATE.kind);
const THROUGHPUT: StepFields = judged(&rfc2544::THROUGHPUT.kind);
const LATENCY: StepFields = judged(&rfc2544::LATENCY.kind);
const FRAME_LOSS: StepFields = judged(&rfc2544::FRAME_LOSS.kind);
const BACK_TO_BACK: StepFields = judged(&rfc2544::BACK_TO_BACK.kind);
const RECOVERY: StepFields = judged(&rfc2544::RECOVERY.kind);

const CONFIGURATION: StepFields = of_kind(&y1564::CONFIGURATION.kind);
const PERFORMANCE: StepFields = of_kind(&y1564::PERFORMANCE.kind);

const LINE: StepFields = of_kind(&burst::LINE.kind);
const CBS: StepFields = of_kind(&burst::CBS.kind);
const RATE: StepFields = of_kind(&burst::RATE.kind);
const POLICING: StepFields = of_kind(&burst::POLICING.kind);
const DISCOVERY: StepFields = of_kind(&burst::DISCOVERY.kind);

const POLICER: StepFields = StepFields {
    step: "rfc7640_policer",
    own: "pass direction frame_bytes cir_l2_bps cbs_bytes eir_l2_bps ebs_bytes burst_rate_l2_bps \
        bsa_bytes rate_estimate_l2_bps rate_estimate_l2_bps_at_least \
        rate_estimate_l2_bps_at_most depth_estimate_bytes depth_estimate_bytes_at_least \
        depth_estimate_bytes_at_most",
    inside: &[
        ("compliant", STATELESS),
        ("excess", STATELESS),
        ("hunt", HUNT),
        ("hunt.trials.N", "burst_bytes lost_frames"),
    ],
};

const QUEUE: StepFields = StepFields {
    step: "rfc7640_queue",
    own: "pass direction scheduler frame_bytes queue_bytes bandwidth_l2_bps bsa_bytes",
    inside: &[
        ("stateless", STATELESS),
        ("hunt", HUNT),
        ("hunt.trials.N", "burst_bytes lost_frames"),
        ("stateful.N", STATEFUL),
    ],
};

const SCHEDULER: StepFields = StepFields {
    step: "rfc7640_scheduler",
    own: "pass direction scheduler frame_bytes queue_bytes bandwidth_l2_bps",
    inside: &[
        ("classes.N", "dscp weight share_percent expected_share_percent"),
        ("classes.N.stateless", STATELESS),
        ("stateful.N", STATEFUL),
    ],
};

const SHAPER: StepFields = StepFields {
    step: "rfc7640_shaper",
    own: "pass direction frame_bytes rate_l2_bps bc_bytes be_bytes queue_bytes sr_l2_bps \
        first_train_bytes bucket_estimate_bytes bucket_estimate_least_bytes sbb_bytes sbi_us",
    inside: &[("stateless", STATELESS), ("stateful.N", STATEFUL)],
};

const CAPACITY: StepFields = StepFields {
    step: "rfc7640_capacity",
    own: "pass direction frame_bytes",
    inside: &[
        ("classes.N", "dscp device bsa_bytes"),
        ("classes.N.compliant", STATELESS),
        ("classes.N.excess", STATELESS),
        ("classes.N.hunt", HUNT),
        ("classes.N.hunt.trials.N", "burst_bytes lost_frames"),
        (
            "classes.N.trains",
            "sr_l2_bps first_train_bytes bucket_estimate_bytes bucket_estimate_least_bytes \
        sbb_bytes sbi_us",
        ),
    ],
};

const STRESS: StepFields = judged(&stress::STRESS.kind);

/// The search for the longest burst without loss.
const HUNT: &str = "bsa_bytes is_limit";

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;

    /// The writers of steps, whose keys the names are.
    const WRITERS: [&str; 1] = [include_str!("rfc7640.rs")];

    fn recordings() -> Vec<PathBuf> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence"));
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "zz")).collect()
    }

    fn read(file: &Path) -> Value {
        let packed = fs::read(file).unwrap();
        let text = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The paths to the single values in `value`.
    fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        let below = |name: &str| [path, name].join(if path.is_empty() { "" } else { "." });
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| paths(field, &below(name), found));
            }
            Value::Array(list) => list.iter().for_each(|each| paths(each, &below("0"), found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                found.insert(path.to_owned());
            }
        }
    }

    /// A field that is `null` as a whole has fields where it is known.
    fn has(step: &StepFields, path: &str) -> bool {
        step.has(path) || step.paths().any(|known| known.starts_with(&format!("{path}.")))
    }

    #[test]
    fn every_field_of_every_recorded_result_is_named() {
        let files = recordings();
        assert!(files.len() > 30, "{files:?}");
        for file in files {
            let result = read(&file);
            let method = Method::named(result["method"].as_str().unwrap()).unwrap();
            for step in result["steps"].as_array().unwrap() {
                let name = step["name"].as_str().unwrap();
                let known = step_fields(method).iter().find(|known| known.step == name);
                let known = known.unwrap_or_else(|| panic!("no step {name} of {method:?}"));
                let mut found = BTreeSet::new();
                paths(step, "", &mut found);
                for path in found.iter().filter(|path| *path != "name") {
                    assert!(has(known, path), "no {path} of {name} in {}", file.display());
                }
            }
        }
    }

    /// What no recording has is compared with the sources of the writers, in both directions. Columns write their
    /// own names.
    #[test]
    fn the_names_are_the_keys_that_the_writers_write() {
        let quoted = |source: &'static str| source.split('"').skip(1).step_by(2);
        let literals: BTreeSet<&str> = WRITERS.into_iter().flat_map(quoted).collect();
        let mut named = BTreeSet::from([String::from("name")]);
        for step in Method::ALL.into_iter().flat_map(step_fields) {
            let columns: BTreeSet<String> =
                figures::kind(step.step).into_iter().flat_map(Kind::fields).collect();
            assert!(!columns.is_empty() || literals.contains(step.step), "{}", step.step);
            let written = step.paths().filter(|path| !columns.contains(path));
            named.extend(
                written.flat_map(|path| path.split('.').map(String::from).collect::<Vec<_>>()),
            );
        }
        // The outcome is added to each step that is judged.
        for part in named.iter().filter(|part| !["N", "pass"].contains(&part.as_str())) {
            let quantity = part.trim_end_matches("_at_least").trim_end_matches("_at_most");
            assert!([part, quantity].iter().any(|name| literals.contains(*name)), "{part}");
        }
        for source in WRITERS {
            let keys = source.split('"').zip(source.split('"').skip(1)).skip(1).step_by(2);
            for (key, _) in keys.filter(|(_, after)| after.starts_with(':')) {
                assert!(named.contains(key), "{key} is written and not named");
            }
        }
    }
}

//! The metrics of a plan that is run again and again: of each test what became of it last.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fp_method::methods::{kind, kinds};
use fp_method::metric;
use fp_model::figure::Metric;
use fp_report::summary::Status;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::Value;

use super::{encoded, registry};

/// The metric of a rate that stands beside its layer, as those of bottlenecks and policers.
const OF_LAYERS: [(&str, Metric); 4] = [
    ("l1", metric::RATE_L1),
    ("l2", metric::RATE_L2),
    ("l3", metric::RATE_L3),
    ("l4", metric::RATE_L4),
];

/// What is known of the tests of a plan; whoever has it sees the same.
#[derive(Clone, Debug)]
pub(crate) struct Watched(Arc<Mutex<Tests>>);

#[derive(Debug)]
struct Tests {
    plan: String,
    rounds: u64,
    tests: BTreeMap<String, Latest>,
}

/// What became of a test last, and how often before.
#[derive(Debug, Default)]
struct Latest {
    method: String,
    /// Seconds since 1970.
    ended_s: f64,
    lasted_s: f64,
    status: Option<Status>,
    runs: BTreeMap<&'static str, u64>,
    /// By metric, by step and direction.
    figures: BTreeMap<(&'static str, String, String), f64>,
}

/// A test that has just ended.
#[derive(Debug)]
pub(crate) struct Ended<'a> {
    pub(crate) test: &'a str,
    pub(crate) method: &'a str,
    pub(crate) status: Status,
    pub(crate) ended_s: f64,
    pub(crate) lasted_s: f64,
    /// Its result, if it has one.
    pub(crate) result: Option<&'a Value>,
}

const fn word(status: Status) -> &'static str {
    match status {
        Status::Passed => "passed",
        Status::Inconclusive => "inconclusive",
        Status::NotValid => "not_valid",
        Status::Failed => "failed",
        Status::NotRun => "not_run",
        Status::Aborted => "aborted",
    }
}

impl Watched {
    pub(crate) fn new(plan: &str) -> Self {
        let plan = plan.to_owned();
        Self(Arc::new(Mutex::new(Tests { plan, rounds: 0, tests: BTreeMap::new() })))
    }

    fn tests(&self) -> MutexGuard<'_, Tests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn on_round(&self) {
        self.tests().rounds += 1;
    }

    /// Figures that a test has no more are told no more.
    pub(crate) fn on_test(&self, ended: &Ended<'_>) {
        let mut tests = self.tests();
        let latest = tests.tests.entry(ended.test.to_owned()).or_default();
        latest.method = ended.method.to_owned();
        (latest.ended_s, latest.lasted_s) = (ended.ended_s, ended.lasted_s);
        latest.status = Some(ended.status);
        *latest.runs.entry(word(ended.status)).or_default() += 1;
        latest.figures = ended.result.map(figures).unwrap_or_default();
    }

    /// All of them, as text.
    pub(crate) fn text(&self) -> String {
        let tests = self.tests();
        let mut registry = registry();
        let rounds = Counter::<u64>::default();
        rounds.inc_by(tests.rounds);
        registry.register("watch_rounds", "Rounds of the plan that have ended", rounds);
        tests.register(&mut registry);
        encoded(&registry)
    }
}

/// All metrics, each with its help.
fn metrics() -> BTreeMap<&'static str, &'static str> {
    let of_columns = kinds().flat_map(|kind| kind.columns).filter_map(|info| info.metric);
    let of_layers = OF_LAYERS.map(|(_, metric)| metric);
    let all = of_columns.chain(of_layers).chain([metric::THROUGHPUT_IDEAL_L4]);
    all.map(|metric| (metric.name, metric.help)).collect()
}

fn figures(result: &Value) -> BTreeMap<(&'static str, String, String), f64> {
    let mut figures = BTreeMap::new();
    for (name, step) in fp_report::named_steps(result) {
        let direction = step["direction"].as_str().unwrap_or_default();
        let mut add =
            |metric, value| figures.insert((metric, name.clone(), direction.to_owned()), value);
        let columns = step["name"].as_str().and_then(kind).map_or(&[][..], |kind| kind.columns);
        for info in columns {
            if let (Some(metric), Some(value)) = (info.metric, step[info.field].as_f64()) {
                add(metric.name, value * info.unit.base());
            }
        }
        for (metric, value) in of_layer(step).into_iter().chain(ideal(step)) {
            add(metric.name, value);
        }
    }
    figures
}

fn of_layer(step: &Value) -> Option<(Metric, f64)> {
    let layer = step["layer"].as_str().or_else(|| step["charged_layer"].as_str())?;
    let (_, metric) = OF_LAYERS.into_iter().find(|(name, _)| *name == layer)?;
    Some((metric, step["rate_bps"].as_f64()?))
}

/// What a throughput is a share of: of a window walk, whose windows need not fill the path, what its windows allow;
/// else the ideal.
fn ideal(step: &Value) -> Option<(Metric, f64)> {
    let field = if step["role"] == "walk" { "ideal_windows_bps" } else { "ideal_bps" };
    Some((metric::THROUGHPUT_IDEAL_L4, step[field].as_f64()?))
}

type Labels = Vec<(&'static str, String)>;
type Gauges = Family<Labels, Gauge<f64, AtomicU64>>;

impl Tests {
    fn labels(&self, test: &str, method: &str) -> Labels {
        let test = ("test", test.to_owned());
        vec![("plan", self.plan.clone()), test, ("method", method.to_owned())]
    }

    fn register(&self, registry: &mut Registry) {
        let of_each = |value: fn(&Latest) -> f64| {
            let gauges = Gauges::default();
            for (name, latest) in &self.tests {
                gauges.get_or_create(&self.labels(name, &latest.method)).set(value(latest));
            }
            gauges
        };
        let passed = of_each(|latest| f64::from(u8::from(latest.status == Some(Status::Passed))));
        registry.register("test_passed", "Whether the last run of the test passed", passed);
        let help = "When the last run of the test ended, since 1970";
        let ended = of_each(|latest| latest.ended_s);
        registry.register("test_last_run_timestamp_seconds", help, ended);
        let lasted = of_each(|latest| latest.lasted_s);
        registry.register(
            "test_duration_seconds",
            "How long the last run of the test took",
            lasted,
        );
        let runs = Family::<Labels, Counter>::default();
        for (name, latest) in &self.tests {
            for (outcome, count) in &latest.runs {
                let mut labels = self.labels(name, &latest.method);
                labels.push(("outcome", (*outcome).to_owned()));
                runs.get_or_create(&labels).inc_by(*count);
            }
        }
        registry.register("test_runs", "Runs of the test by their outcome", runs);
        for (metric, help) in metrics() {
            registry.register(format!("test_{metric}"), help, self.gauges(metric));
        }
    }

    fn gauges(&self, metric: &str) -> Gauges {
        let gauges = Gauges::default();
        for (name, latest) in &self.tests {
            let found = latest.figures.iter().filter(|((of, ..), _)| *of == metric);
            for ((_, step, direction), value) in found {
                let mut labels = self.labels(name, &latest.method);
                labels.extend([("step", step.clone()), ("direction", direction.clone())]);
                gauges.get_or_create(&labels).set(*value);
            }
        }
        gauges
    }
}

#[cfg(test)]
mod tests {
    use fp_model::figure::Kind;
    use serde_json::json;

    use super::*;

    fn watched() -> Watched {
        let watched = Watched::new("line \"1\"");
        let result = json!({"steps": [
            {"name": "baseline_rtt", "rtt_min_ms": 54.0},
            {"name": "bottleneck", "rate_l1_bps": 41_000_000, "rate_l2_bps": 40_000_000},
            {"name": "flow", "rate_bps": 20_000_000, "layer": "l4"},
            {"name": "tcp", "direction": "upload", "throughput_bps": 15_000_000,
             "efficiency_percent": 99.5, "rtt_mean_ms": null},
            {"name": "tcp", "direction": "download", "role": "walk", "ideal_bps": 40_000_000,
             "ideal_windows_bps": 10_000_000},
        ]});
        let ended = |status, result| Ended {
            test: "windows",
            method: "test",
            status,
            ended_s: 1.5e9,
            lasted_s: 60.0,
            result,
        };
        watched.on_test(&ended(Status::Failed, None));
        watched.on_test(&ended(Status::Passed, Some(&result)));
        watched.on_round();
        watched
    }

    #[test]
    fn figures_have_base_units_and_stand_by_their_step() {
        let text = watched().text();
        let labels = r#"plan="line \"1\"",test="windows",method="test""#;
        for line in [
            format!("fullpipe_test_passed{{{labels}}} 1.0"),
            format!("fullpipe_test_runs_total{{{labels},outcome=\"failed\"}} 1"),
            format!(
                "fullpipe_test_throughput_l4_bits_per_second{{{labels},step=\"tcp upload\",\
                 direction=\"upload\"}} 15000000.0"
            ),
            format!(
                "fullpipe_test_rate_l1_bits_per_second{{{labels},step=\"bottleneck\",\
                 direction=\"\"}} 41000000.0"
            ),
            format!(
                "fullpipe_test_rate_l2_bits_per_second{{{labels},step=\"bottleneck\",\
                 direction=\"\"}} 40000000.0"
            ),
            format!(
                "fullpipe_test_rate_l4_bits_per_second{{{labels},step=\"flow\",direction=\"\"}} \
                 20000000.0"
            ),
            format!(
                "fullpipe_test_rtt_min_seconds{{{labels},step=\"baseline rtt\",direction=\"\"}} \
                 0.054"
            ),
            format!(
                "fullpipe_test_tcp_efficiency_ratio{{{labels},step=\"tcp upload\",\
                 direction=\"upload\"}} 0.995"
            ),
            format!(
                "fullpipe_test_throughput_ideal_l4_bits_per_second{{{labels},\
                 step=\"tcp download walk\",direction=\"download\"}} 10000000.0"
            ),
            format!(
                "fullpipe_test_path_ideal_l4_bits_per_second{{{labels},\
                 step=\"tcp download walk\",direction=\"download\"}} 40000000.0"
            ),
            String::from("fullpipe_watch_rounds_total 1"),
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
        assert!(!text.contains("rtt_mean_seconds{"), "what is unknown is not told: {text}");
    }

    #[test]
    fn a_figure_that_a_test_has_no_more_is_told_no_more() {
        let watched = watched();
        watched.on_test(&Ended {
            test: "windows",
            method: "test",
            status: Status::NotRun,
            ended_s: 1.6e9,
            lasted_s: 1.0,
            result: None,
        });
        let text = watched.text();
        assert!(!text.contains("throughput_l4_bits_per_second{"), "{text}");
        assert!(text.contains("} 0.0"), "{text}");
    }

    #[test]
    fn the_dashboard_names_metrics_that_are_told_and_no_others() {
        let dashboard = include_str!("../../../../examples/grafana/fullpipe.json");
        let dashboard: Value = serde_json::from_str(dashboard).unwrap();
        let of_kind = |kind: &Kind| {
            let fields = kind.columns.iter().map(|info| (info.field.to_owned(), json!(1.5)));
            fields.chain([("name".to_owned(), json!(kind.name))]).collect()
        };
        let steps: Vec<Value> = kinds().map(of_kind).collect();
        let watched = watched();
        watched.on_test(&Ended {
            test: "all",
            method: "test",
            status: Status::Passed,
            ended_s: 1.6e9,
            lasted_s: 1.0,
            result: Some(&json!({"steps": steps})),
        });
        let told = watched.text() + &super::super::far_end::text(&Default::default());
        let mut named = 0;
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let expression = target["expr"].as_str().unwrap();
                let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
                for name in
                    expression.split(|c| !is_part(c)).filter(|word| word.starts_with("fullpipe_"))
                {
                    let base = name.strip_suffix("_total").unwrap_or(name);
                    assert!(told.contains(&format!("# TYPE {base} ")), "{name}");
                    assert_eq!(
                        name != base,
                        told.contains(&format!("# TYPE {base} counter")),
                        "{name}"
                    );
                    named += 1;
                }
            }
        }
        assert!(named >= 10, "{named}");
    }
}

//! The metrics of a far end: who came, and what became of their trials.

use fp_engine::far::Figures;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{encoded, registry};

/// All of them, as text.
pub(crate) fn text(figures: &Figures) -> String {
    let mut registry = registry();
    let gauges = [
        ("sessions_active", "Near ends that are served now", figures.sessions_active),
        ("sessions_limit", "Near ends that may be served at once", figures.sessions_limit),
        ("strangers", "Connections that have not shown the secret yet", figures.strangers),
    ];
    for (name, help, count) in gauges {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        registry.register(format!("far_{name}"), help, ConstGauge::new(count));
    }
    let sessions = ConstCounter::new(figures.sessions);
    registry.register("far_sessions", "Near ends that were served", sessions);
    let refused = [
        ("wrong_token", figures.refused_token),
        ("full", figures.refused_full),
        ("protocol", figures.refused_protocol),
        ("no_fullpipe", figures.refused_other),
    ];
    let help = "Connections that did not become a session";
    registry.register("far_sessions_refused", help, counted("reason", refused));
    let trials = [("done", figures.trials_done), ("failed", figures.trials_failed)];
    registry.register("far_trials", "Trials by their outcome", counted("outcome", trials));
    encoded(&registry)
}

type Labels = Vec<(&'static str, &'static str)>;

fn counted<const N: usize>(
    label: &'static str,
    counts: [(&'static str, u64); N],
) -> Family<Labels, Counter> {
    let family = Family::<Labels, Counter>::default();
    for (value, count) in counts {
        family.get_or_create(&vec![(label, value)]).inc_by(count);
    }
    family
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_stands_below_its_name() {
        let figures = Figures {
            sessions: 7,
            sessions_active: 2,
            refused_token: 3,
            trials_done: 40,
            ..Figures::default()
        };
        let text = text(&figures);
        for line in [
            "fullpipe_far_sessions_total 7",
            "fullpipe_far_sessions_active 2",
            "fullpipe_far_sessions_refused_total{reason=\"wrong_token\"} 3",
            "fullpipe_far_sessions_refused_total{reason=\"full\"} 0",
            "fullpipe_far_trials_total{outcome=\"done\"} 40",
            "# TYPE fullpipe_far_trials counter",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in {text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }
}

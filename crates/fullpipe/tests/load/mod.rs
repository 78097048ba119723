//! What the result of a load of connections says, and that it adds up.

use serde_json::Value;

use crate::result::{Finished, number};

pub(crate) fn stress(run: &Finished) -> Value {
    let steps = run.steps("stress");
    assert_eq!(steps.len(), 1, "{}", run.stderr);
    steps[0].clone()
}

/// Every connection that was asked for is one of those that are counted, slot by slot as well.
pub(crate) fn expect_all_accounted_for(step: &Value) {
    let of = |field: &str| number(step, field);
    let failed = |cause: &str| number(&step["failed"], cause);
    let unanswered = failed("no_answer") + failed("refused") + of("given_up");
    assert_eq!(of("attempted"), of("established") + unanswered, "{step:#}");
    let broken = failed("reset") + failed("timed_out");
    // What one end alone has closed when all is over.
    let half = ["fin_wait_1", "fin_wait_2", "close_wait", "closing", "last_ack", "time_wait"];
    let closing: f64 = half.iter().map(|state| number(&step["states"], state)).sum();
    let left = of("connections_at_end") + closing;
    assert_eq!(of("established"), of("closed") + broken + left, "{step:#}");
    assert_eq!(failed("total"), failed("no_answer") + failed("refused") + broken);
    let series = step["series"].as_array().unwrap();
    let sum = |field: &str| series.iter().map(|slot| number(slot, field)).sum::<f64>();
    for field in ["attempted", "established", "closed", "transactions", "upload_good_bytes"] {
        assert_eq!(sum(field), of(field), "{field}");
    }
    assert_eq!(sum("received_bytes"), of("good_bytes"));
    assert_eq!(of("good_bytes"), of("upload_good_bytes") + of("download_good_bytes"));
    let most = series.iter().map(|slot| number(slot, "active")).fold(0.0, f64::max);
    assert!(most <= of("connections_peak"));
}

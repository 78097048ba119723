//! Path MTU and round trip in JSON: where most methods begin.

use fp_method::path::{BaselineRtt, PathMtu};
use serde_json::{Value, json};

use super::ms;

pub(super) fn path_mtu(mtu: &PathMtu) -> Value {
    json!({
        "name": "path_mtu",
        "direction": mtu.direction,
        "mtu_bytes": mtu.mtu_bytes,
        "black_hole": mtu.black_hole,
        "probes": mtu.probes,
        "probed_by": mtu.by,
    })
}

pub(super) fn baseline_rtt(baseline: &BaselineRtt) -> Value {
    json!({
        "name": "baseline_rtt",
        "rtt_min_ms": ms(baseline.rtt.min),
        "rtt_mean_ms": ms(baseline.rtt.mean),
        "rtt_p99_ms": ms(baseline.rtt.p99),
        "rtt_max_ms": ms(baseline.rtt.max),
        "samples": baseline.rtt.samples,
        "sent": baseline.sent,
        "answered": baseline.answered,
        "probed_by": baseline.by,
    })
}

//! The steps of a run of flows in JSON.

use std::time::Duration;

use fp_method::flow::{
    Connection, FlowStep, Interval, Limit, PathStep, ProfileStep, RateByLayer, Step,
};
use fp_method::path::PATH_MTU;
use fp_model::figure::slot;
use fp_model::{DelaySummary, DscpCount, EcnCount};
use serde_json::{Value, json};

use super::ms;

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::Path(path) => of_path(path),
        Step::Flow(flow) => of_flow(flow),
        Step::Profile(profile) => of_profile(profile),
    }
}

fn of_path(path: &PathStep) -> Value {
    json!(PATH_MTU.row_and(&path.mtu, vec![path.family.name().into()]))
}

fn of_flow(flow: &FlowStep) -> Value {
    json!({
        "name": "flow",
        "flow": flow.name,
        "part": flow.part.to_string(),
        "class": flow.class,
        "transport": flow.transport.map(|transport| transport.to_string()),
        "engine": flow.engine.map(|engine| engine.name()),
        "family": flow.family,
        "direction": flow.direction,
        "streams": flow.streams,
        "dscp_sent": flow.dscp_sent,
        "dscp_received": most(&flow.dscp_received),
        "dscp_received_packets": flow.dscp_received.iter().map(dscp).collect::<Vec<_>>(),
        "ecn_sent": flow.ecn_sent,
        "ecn_received_packets": flow.ecn_received.iter().map(ecn).collect::<Vec<_>>(),
        "payload_bytes": flow.received.payload_bytes,
        "sent_payload_bytes": flow.sent.map(|sent| sent.payload_bytes),
        "rate_bps": flow.received.rates.l4.as_bps(),
        "layer": "l4",
        "received_rates": rates(&flow.received.rates),
        "sent_rates": flow.sent.map(|sent| rates(&sent.rates)),
        "packets": flow.received.packets,
        "sent_packets": flow.sent.and_then(|sent| sent.packets),
        "pps": pps(flow),
        "unsent": flow.unsent,
        "lost": flow.lost,
        "loss_percent": flow.loss_percent(),
        "out_of_order": flow.out_of_order,
        "duplicates": flow.duplicates,
        "corrupt": flow.corrupt,
        "conserved": flow.conserved,
        "jitter_us": flow.jitter.map(|jitter| us(jitter.rfc3550)),
        "jitter_mean_us": flow.jitter.and_then(|jitter| jitter.mean).map(us),
        "one_way_delay": flow.delay.as_ref().map(delay),
        "retransmitted_bytes": flow.retransmitted_bytes,
        "rtt_mean_ms": flow.rtt_mean.map(ms),
        "rtt_min_ms": flow.rtt_min.map(ms),
        "link_usage_percent": flow.link_usage_l2_percent,
        "link_usage_l1_percent": flow.link_usage_l1_percent,
        "series": flow.series.iter().map(slot).collect::<Vec<_>>(),
        "connections": flow.connections.iter().map(connection).collect::<Vec<_>>(),
    })
}

/// The code point of most packets.
fn most(counts: &[DscpCount]) -> Value {
    json!(counts.iter().max_by_key(|count| count.frames).and_then(|count| count.dscp))
}

fn dscp(count: &DscpCount) -> Value {
    json!({"dscp": count.dscp, "packets": count.frames})
}

fn ecn(count: &EcnCount) -> Value {
    json!({"ecn": count.ecn, "packets": count.frames})
}

fn rates(rates: &RateByLayer) -> Value {
    json!({
        "l1_bps": rates.l1.as_bps(),
        "l2_bps": rates.l2.as_bps(),
        "l3_bps": rates.l3.as_bps(),
        "l4_bps": rates.l4.as_bps(),
    })
}

/// The packets received each second, over the time that their rate is of.
fn pps(flow: &FlowStep) -> Option<f64> {
    let bits_each = flow.received.payload_bytes as f64 * 8.0 / flow.received.packets? as f64;
    (bits_each > 0.0).then(|| flow.received.rates.l4.as_bps() as f64 / bits_each)
}

fn delay(delay: &DelaySummary) -> Value {
    json!({
        "min_us": us(delay.min),
        "mean_us": us(delay.mean),
        "p50_us": us(delay.p50),
        "p99_us": us(delay.p99),
        "p99_9_us": us(delay.p99_9),
        "max_us": us(delay.max),
        "error_us": us(delay.error),
        "samples": delay.samples,
    })
}

fn connection(each: &Connection) -> Value {
    let report = &each.report;
    json!({
        "good_bytes": report.good_bytes,
        "transmitted_bytes": report.transmitted_bytes,
        "retransmitted_bytes": report.retransmitted_bytes,
        "throughput_bps": each.throughput_l4.as_bps(),
        "rtt_mean_ms": report.rtt_mean.map(ms),
        "rtt_min_ms": report.rtt_min.map(ms),
        "sent_segments": report.sent_segments,
        "received_segments": report.received_segments,
        "dscp_received": report.dscp_received,
        "window_effective_bytes": report.window_effective_bytes,
        "mss_bytes": report.segment_bytes,
        "congestion_control": report.congestion_control,
        "receive_window_limited_s": report.receive_window_limited.map(|time| time.as_secs_f64()),
        "send_buffer_limited_s": report.send_buffer_limited.map(|time| time.as_secs_f64()),
        "busy_s": report.busy.map(|time| time.as_secs_f64()),
    })
}

fn of_profile(step: &ProfileStep) -> Value {
    json!({
        "name": "profile",
        "profile": step.profile,
        "direction": step.direction,
        "streams": step.streams,
        "layer": "l4",
        "delay_ms": ms(step.delay),
        "tracking_error_percent": step.tracking_error_percent,
        "sent_tracking_error_percent": step.sent_error_percent,
        "limit": limit(&step.limit),
        "intervals": step.intervals.iter().map(interval).collect::<Vec<_>>(),
    })
}

fn interval(interval: &Interval) -> Value {
    json!({
        "t_s": interval.at.as_secs_f64(),
        "dt_s": interval.lasts.as_secs_f64(),
        "target_bps": interval.target_l4.as_bps(),
        "sent_bps": interval.sent_l4.as_bps(),
        "received_bps": interval.received_l4.as_bps(),
    })
}

fn limit(limit: &Limit) -> Value {
    let code = limit.code();
    match limit {
        Limit::Followed | Limit::Tester | Limit::Unknown => json!({"kind": code}),
        Limit::Window { limit_l4 } | Limit::Line { limit_l4 } => {
            json!({"kind": code, "limit_bps": limit_l4.as_bps()})
        }
        Limit::RateLimit { from, limit_l4, window_l4 } => json!({
            "kind": code,
            "from_s": from.map(|at| at.as_secs_f64()),
            "limit_bps": limit_l4.as_bps(),
            "window_bps": window_l4.map(|window| window.as_bps()),
        }),
    }
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

//! The step of a run of very many connections in JSON.

use std::time::Duration;

use fp_method::stress::{Limit, Step, StressStep};
use fp_model::{
    ConnectionsSample, FailedConnections, FirstFailure, HeldConnections, RetransmittedSegments,
    StoppedConnections, TcpStates, TimeSummary,
};
use serde_json::{Value, json};

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::Stress(step) => of_stress(step),
    }
}

fn of_stress(step: &StressStep) -> Value {
    let counted = &step.counted;
    json!({
        "name": "stress",
        "direction": step.direction,
        "family": step.family,
        "connections_target": step.connections_target,
        "connections_peak": counted.active_peak,
        "connections_at_end": counted.active_at_end,
        "held": counted.held.as_ref().map(held),
        "limit": step.limit.as_ref().map(limit),
        "setup_rate_cps_peak": counted.setup_rate_peak,
        "attempted": counted.attempted,
        "established": counted.established,
        "closed": counted.closed,
        "given_up": counted.given_up,
        "failed": failed(&counted.failed),
        "failed_percent": step.failed_percent(),
        "first_failure": counted.first_failure.as_ref().map(first_failure),
        "stopped": counted.stopped.as_ref().map(stopped),
        "handshake_us": counted.handshake.as_ref().map(times),
        "rtt_us": counted.rtt.as_ref().map(times),
        "transaction_us": counted.transaction.as_ref().map(times),
        "transactions": counted.transactions,
        "good_bytes": step.good_bytes,
        "upload_good_bytes": counted.upload_good_bytes,
        "download_good_bytes": counted.download_good_bytes,
        "throughput_bps": step.throughput_l4.as_bps(),
        "layer": "l4",
        "retransmissions": retransmissions(&counted.retransmissions),
        "duplicate_acks": counted.duplicate_acks,
        "out_of_order": counted.out_of_order,
        "bad_checksums": counted.bad_checksums,
        "corrupt_payload_bytes": counted.corrupt_payload_bytes,
        "states": states(&counted.states),
        "memory_bytes": counted.bytes_total,
        "memory_bytes_per_connection": counted.bytes_per_connection,
        "series": counted.series.iter().map(sample).collect::<Vec<_>>(),
    })
}

/// A slot as in every series, with what else is counted of connections: `received_bytes` is payload
/// that arrived at either end.
pub(super) fn sample(slot: &ConnectionsSample) -> Value {
    json!({
        "t_s": slot.at.as_secs_f64(),
        "dt_s": slot.lasts.as_secs_f64(),
        "sent_bytes": null,
        "received_bytes": slot.upload_good_bytes + slot.download_good_bytes,
        "retransmitted_bytes": null,
        "rtt_us": null,
        "cwnd_bytes": null,
        "active_connections": slot.active,
        "active": slot.active,
        "attempted": slot.attempted,
        "established": slot.established,
        "closed": slot.closed,
        "failed": slot.failed,
        "transactions": slot.transactions,
        "upload_good_bytes": slot.upload_good_bytes,
        "download_good_bytes": slot.download_good_bytes,
    })
}

fn held(held: &HeldConnections) -> Value {
    json!({"wanted": held.wanted, "least": held.least, "most": held.most})
}

fn limit(limit: &Limit) -> Value {
    json!({"cause": limit.cause.code(), "active": limit.active})
}

fn failed(failed: &FailedConnections) -> Value {
    let FailedConnections { no_answer, refused, reset, timed_out } = failed;
    json!({
        "no_answer": no_answer,
        "refused": refused,
        "reset": reset,
        "timed_out": timed_out,
        "total": failed.total(),
    })
}

fn first_failure(first: &FirstFailure) -> Value {
    json!({"at_s": first.at.as_secs_f64(), "active": first.active})
}

fn stopped(stopped: &StoppedConnections) -> Value {
    json!({
        "at_s": stopped.at.as_secs_f64(),
        "until_s": stopped.until.as_secs_f64(),
        "active": stopped.active,
        "abort": stopped.is_abort,
    })
}

fn times(times: &TimeSummary) -> Value {
    json!({
        "samples": times.samples,
        "min": us(times.min),
        "mean": us(times.mean),
        "p50": us(times.p50),
        "p90": us(times.p90),
        "p99": us(times.p99),
        "p99_9": us(times.p99_9),
        "p99_99": us(times.p99_99),
        "max": us(times.max),
    })
}

fn retransmissions(again: &RetransmittedSegments) -> Value {
    let RetransmittedSegments { syn, timeout, fast } = again;
    json!({"syn": syn, "timeout": timeout, "fast": fast})
}

fn states(states: &TcpStates) -> Value {
    let TcpStates {
        syn_sent,
        syn_received,
        established,
        fin_wait_1,
        fin_wait_2,
        close_wait,
        closing,
        last_ack,
        time_wait,
    } = states;
    json!({
        "syn_sent": syn_sent,
        "syn_received": syn_received,
        "established": established,
        "fin_wait_1": fin_wait_1,
        "fin_wait_2": fin_wait_2,
        "close_wait": close_wait,
        "closing": closing,
        "last_ack": last_ack,
        "time_wait": time_wait,
    })
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

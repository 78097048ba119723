//! The steps of an RFC 6349 run in JSON.

use fp_method::path::{BASELINE_RTT, PATH_MTU};
use fp_method::rfc6349::{Bottleneck, Connection, Role, Source, Step, TcpStep};
use fp_model::{Layer, Rate};
use serde_json::{Value, json};

use super::{add, bounds, ms, sample};

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::PathMtu(mtu) => json!(PATH_MTU.row(mtu)),
        Step::BaselineRtt(baseline) => json!(BASELINE_RTT.row(baseline)),
        Step::Bottleneck(limit) => bottleneck(limit),
        Step::Tcp(step) => tcp(step),
    }
}

fn bottleneck(limit: &Bottleneck) -> Value {
    let at = |layer| limit.rate_at(layer).as_bps();
    let loss = limit.base_loss.map(|loss| loss.percent());
    let mut fields = json!({
        "name": "bottleneck",
        "direction": limit.direction,
        "rate_bps": limit.limit.rate.as_bps(),
        "rate_bps_at_least": limit.at_least.as_bps(),
        "rate_bps_at_most": limit.at_most.map(Rate::as_bps),
        "layer": limit.limit.layer,
        "rate_l1_bps": at(Layer::L1),
        "rate_l2_bps": at(Layer::L2),
        "rate_l3_bps": at(Layer::L3),
        "frame_bytes": limit.packet.frame_bytes,
        "source": match limit.source {
            Source::Measured => "measured",
            Source::Given => "given",
        },
        "kind": limit.kind.to_string(),
        "trials": limit.trials,
        "base_loss_percent": loss.map(|loss| loss.estimate),
        "base_loss_percent_at_least": loss.map(|loss| loss.at_least),
        "base_loss_percent_at_most": loss.map(|loss| loss.at_most),
        "overload_delay_ms": limit.overload_delay.map(ms),
        "overload_drops": limit.overload_drops,
        "carried_bytes": limit.carried_bytes,
    });
    add(&mut fields, bounds("burst_bytes", limit.burst_bytes.as_ref()));
    fields
}

//= rfc6349 5.2
fn tcp(step: &TcpStep) -> Value {
    let direction =
        if step.bidirectional { String::from("bidirectional") } else { step.direction.to_string() };
    json!({
        "name": "tcp",
        "direction": direction,
        "flow_direction": step.direction,
        "role": match step.role {
            Role::Walk => "walk",
            Role::Throughput => "throughput",
        },
        "window_fraction": step.window_fraction,
        "connections": step.connections,
        "window_bytes": step.window_bytes,
        "window_effective_bytes": step.window_effective_bytes(),
        "bdp_bytes": step.bdp_bytes,
        "sender": step.sender,
        "congestion_control": step.congestion_control,
        "mss_bytes": step.mss_bytes,
        "paced_bps": step.pacing.map(|rate| rate.as_bps()),
        "good_bytes": step.good_bytes,
        "transmitted_bytes": step.transmitted_bytes,
        "retransmitted_bytes": step.retransmitted_bytes,
        "transfer_s": step.transfer.as_secs_f64(),
        "throughput_bps": step.throughput_l4.as_bps(),
        "throughput_bps_at_least": step.judged.throughput_l4_bounds.map(|[least, _]| least.as_bps()),
        "throughput_bps_at_most": step.judged.throughput_l4_bounds.map(|[_, most]| most.as_bps()),
        "share_percent": step.share_percent(),
        "share_percent_at_least": step.judged.share_percent_bounds.map(|[least, _]| least),
        "share_percent_at_most": step.judged.share_percent_bounds.map(|[_, most]| most),
        "sold_bps": step.judged.sold_l4.map(|rate| rate.as_bps()),
        "needed_cbs_bytes": step.judged.needed_cbs_bytes,
        "ideal_bps": step.ideal_l4.as_bps(),
        "ideal_bps_at_least": step.judged.ideal_l4_bounds.0.as_bps(),
        "ideal_bps_at_most": step.judged.ideal_l4_bounds.1.map(Rate::as_bps),
        "ideal_windows_bps": step.judged.windows_l4.as_bps(),
        "ideal_even_bps": step.judged.even_l4.map(|rate| rate.as_bps()),
        "ideal_rfc6349_bps": step.ideal_strict_l4.as_bps(),
        "transfer_time_ratio": step.transfer_time_ratio,
        "efficiency_percent": step.efficiency_percent,
        "buffer_delay_percent": step.buffer_delay_percent,
        "buffer_delay_ms": step.buffer_delay().map(ms),
        "buffer_delay_grade": step.buffer_delay_grade(),
        "rtt_mean_ms": step.rtt_mean.map(ms),
        "series": step.series.iter().map(sample).collect::<Vec<_>>(),
        "flows": step.flows.iter().map(connection).collect::<Vec<_>>(),
    })
}

fn connection(flow: &Connection) -> Value {
    let report = &flow.report;
    json!({
        "good_bytes": report.good_bytes,
        "transmitted_bytes": report.transmitted_bytes,
        "retransmitted_bytes": report.retransmitted_bytes,
        "throughput_bps": flow.throughput_l4.as_bps(),
        "transfer_time_ratio": flow.transfer_time_ratio,
        "efficiency_percent": flow.efficiency_percent,
        "buffer_delay_percent": flow.buffer_delay_percent,
        "rtt_mean_ms": report.rtt_mean.map(ms),
        "rtt_min_ms": report.rtt_min.map(ms),
        "window_effective_bytes": report.window_effective_bytes,
        "mss_bytes": report.segment_bytes,
        "congestion_control": report.congestion_control,
        "receive_window_limited_s": report.receive_window_limited.map(|t| t.as_secs_f64()),
        "send_buffer_limited_s": report.send_buffer_limited.map(|t| t.as_secs_f64()),
        "busy_s": report.busy.map(|time| time.as_secs_f64()),
    })
}

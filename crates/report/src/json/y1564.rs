//! The steps of a service activation test as JSON.

use fp_method::path::BASELINE_RTT;
use fp_method::y1564::{
    Availability, Figures, Measured, Offered, ServiceStep, Shortfall, Step, TcpFigures,
};
use serde_json::{Map, Value, json};

use super::{ms, sample};

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::BaselineRtt { service, baseline } => {
            let mut fields = json!(BASELINE_RTT.row(baseline));
            fields["service"] = json!(service);
            fields
        }
        Step::Configuration(step) => service("y1564_configuration", step),
        Step::Performance(step) => service("y1564_performance", step),
    }
}

fn service(name: &str, step: &ServiceStep) -> Value {
    let mut fields = Map::new();
    let mut add = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    add("name", json!(name));
    add("service", json!(step.service));
    add("direction", json!(step.direction));
    add("step", json!(step.offered.name()));
    add(
        "cir_percent",
        match step.offered {
            Offered::Cir { percent } => json!(percent),
            Offered::Eir | Offered::Policing | Offered::Cbs | Offered::Ebs => Value::Null,
        },
    );
    add("offered_l2_bps", json!(step.offered_l2.as_bps()));
    // Unknown where the tester spoilt the step.
    add("pass", json!(step.status.is_met()));
    add("status", json!(step.status.to_string()));
    add("failures", step.shortfalls.iter().map(shortfall).collect());
    add("tries", json!(step.tries));
    add("unsent_percent", json!(step.tester.unsent_percent));
    add("tester_drops", json!(step.tester.dropped_packets));
    add("tester_stall_ms", json!(ms(step.tester.longest_stall)));
    match &step.measured {
        Measured::Frames { judged, yellow } => {
            fields.extend(figures(judged));
            let yellow = yellow.as_ref().map(|yellow| Value::Object(figures(yellow)));
            fields.insert("yellow".into(), yellow.unwrap_or(Value::Null));
        }
        Measured::Tcp(tcp) => fields.extend(connections(tcp)),
    }
    Value::Object(fields)
}

fn shortfall(shortfall: &Shortfall) -> Value {
    json!({"code": shortfall.code().word(), "text": shortfall.to_string()})
}

fn figures(figures: &Figures) -> Map<String, Value> {
    let span = figures.ir_span_l2;
    let ftd = figures.ftd;
    let availability = figures.availability.as_ref();
    let marks = figures.dscp_received.iter();
    object(json!({
        "sent_frames": figures.sent_frames,
        "received_frames": figures.received_frames,
        "lost_frames": figures.lost_frames(),
        "out_of_order_frames": figures.out_of_order_frames,
        "duplicate_frames": figures.duplicate_frames,
        "ir_bps": figures.ir_l2.as_bps(),
        "ir_min_bps": span.map(|span| span.min.as_bps()),
        "ir_max_bps": span.map(|span| span.max.as_bps()),
        "ulr_l1_bps": figures.ulr_l1.as_bps(),
        "flr": figures.flr,
        "flr_resolution": figures.flr_resolution,
        "ftd_ms": ftd.map(|ftd| ms(ftd.mean)),
        "ftd_min_ms": ftd.map(|ftd| ms(ftd.min)),
        "ftd_max_ms": ftd.map(|ftd| ms(ftd.max)),
        "ftd_error_ms": ftd.map(|ftd| ms(ftd.error)),
        "fdv_ms": figures.fdv.map(ms),
        "availability_percent": availability.and_then(Availability::percent),
        "unavailable_s": availability.map(|known| known.unavailable_seconds),
        "severely_errored_s": availability.map(|known| known.severely_errored_seconds),
        "dscp_received": marks
            .map(|(dscp, frames)| json!({"dscp": dscp.code_point(), "frames": frames}))
            .collect::<Vec<_>>(),
        "series": figures.series.iter().map(sample).collect::<Vec<_>>(),
    }))
}

fn connections(tcp: &TcpFigures) -> Map<String, Value> {
    object(json!({
        "ir_bps": null,
        "flr": null,
        "ftd_ms": null,
        "fdv_ms": null,
        "availability_percent": null,
        "connections": tcp.connections,
        "window_bytes": tcp.window_bytes,
        "good_bytes": tcp.good_bytes,
        "retransmitted_bytes": tcp.retransmitted_bytes,
        "throughput_bps": tcp.throughput_l4.as_bps(),
        "ideal_bps": tcp.ideal_l4.as_bps(),
        "share_percent": tcp.share_percent(),
        "efficiency_percent": tcp.efficiency_percent,
        "rtt_mean_ms": tcp.rtt_mean.map(ms),
        "series": tcp.series.iter().map(sample).collect::<Vec<_>>(),
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

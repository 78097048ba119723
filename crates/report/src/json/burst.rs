//! The steps of a burst test in JSON.

use fp_method::burst::{
    BurstTimes, CbsStep, Charge, Discovered, Discovery, Line, Passed, PolicingStep, RateStep,
    SecondBucket, Step,
};
use fp_method::path::PATH_MTU;
use fp_model::Direction;
use serde_json::{Value, json};

use super::{add, bounds, ms};

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::PathMtu(mtu) => json!(PATH_MTU.row(mtu)),
        Step::Line(line) => self::line(line),
        Step::Cbs(step) => cbs(step),
        Step::Rate(step) => rate(step),
        Step::Policing(step) => policing(step),
        Step::Discovery(step) => discovery(step),
    }
}

fn line(line: &Line) -> Value {
    json!({
        "name": "line",
        "direction": line.direction,
        "rate_l1_bps": line.rate_l1.as_bps(),
        "rate_l1_bps_at_most": line.fastest_l1.as_bps(),
        "frame_bytes": line.frame_bytes,
    })
}

fn cbs(step: &CbsStep) -> Value {
    let mut fields = json!({
        "name": "cbs",
        "direction": direction(step.direction, step.bidirectional),
        "way": step.direction,
        "flow_direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "cir_bps": step.cir.rate.as_bps(),
        "cir_layer": step.cir.layer,
        "configured_burst_bytes": step.configured_burst_bytes,
        "tx_burst_bytes": step.tx_burst_bytes,
        "rx_burst_bytes_mean": step.rx_burst_bytes_mean,
        "frames_sent": step.frames_sent,
        "frames_received": step.frames_received,
        "frames_lost": step.frames_lost(),
        "frames_marked": step.frames_marked,
        "bursts": step.bursts,
        "period_ms": ms(step.period),
        "trials": step.trials,
        "flaw": step.flaw.map(|flaw| flaw.to_string()),
        "pass": step.pass,
    });
    add(&mut fields, times(&step.times));
    fields
}

fn rate(step: &RateStep) -> Value {
    let excess = step.measured.filter(|_| step.is_known);
    let excess = excess.map(|_| if step.waited.is_some() { "waits" } else { "is_dropped" });
    json!({
        "name": "rate",
        "direction": direction(step.direction, step.bidirectional),
        "way": step.direction,
        "flow_direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "cir_bps": step.cir.rate.as_bps(),
        "cir_layer": step.cir.layer,
        "measured_cir_bps": step.measured.map(fp_model::Rate::as_bps),
        "measured_cir_bps_at_least": step.within.map(|[from, _]| from.as_bps()),
        "measured_cir_bps_at_most": step.within.map(|[_, to]| to.as_bps()),
        "deviation_percent": step.deviation_percent,
        "excess": excess,
        "waited_ms": step.waited.map(ms),
        "pass": step.pass,
    })
}

fn policing(step: &PolicingStep) -> Value {
    let mut fields = json!({
        "name": "policing",
        "direction": direction(step.direction, step.bidirectional),
        "way": step.direction,
        "flow_direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "cir_bps": step.cir.rate.as_bps(),
        "cir_layer": step.cir.layer,
        "configured_burst_bytes": step.configured_burst_bytes,
        "tx_burst_bytes": step.tx_burst_bytes,
        "rx_burst_bytes_mean": step.rx_burst_bytes_mean,
        "frames_sent": step.frames_sent,
        "frames_received": step.frames_received,
        "frames_lost": step.frames_lost(),
        "bursts": step.bursts,
        "deviation_percent": step.deviation_percent,
        "trials": step.trials,
        "flaw": step.flaw.map(|flaw| flaw.to_string()),
        "pass": step.pass,
    });
    add(&mut fields, bounds("estimated_cbs_bytes", step.estimate.as_ref()));
    add(&mut fields, times(&step.times));
    fields
}

fn times(times: &BurstTimes) -> Value {
    json!({
        "line_burst_ms": ms(times.at_line_rate),
        "tx_burst_ms": ms(times.sent),
        "rx_burst_ms": times.received.map(ms),
    })
}

fn discovery(step: &Discovery) -> Value {
    let mut fields = json!({
        "name": "discovery",
        "direction": step.direction,
        "trials": step.trials,
        "sending_s": step.sending.as_secs_f64(),
    });
    add(&mut fields, bounds("line_rate_l1_bps", step.line_l1_bps.as_ref()));
    add(&mut fields, found(&step.found));
    fields
}

fn found(found: &Discovered) -> Value {
    match found {
        Discovered::NoPolicer { sent_bytes, loss } => {
            let mut fields = json!({
                "found": "no_policer",
                "sent_bytes": sent_bytes,
                "loss_counted_frames": loss.frames,
            });
            add(&mut fields, bounds("loss_percent", Some(&loss.percent())));
            fields
        }
        Discovered::Policer { cir_bps, cbs_bytes, charge, excess, alone, marked, .. } => {
            let mut fields = json!({
                "found": "policer",
                "excess": excess.as_ref().map(second_bucket),
                "marked_dscp": marked,
                "excess_shown_from_cbs_bytes": alone.map(|alone| alone.shown_from_bytes),
                "excess_shown_filled_within_ms": alone.map(|alone| ms(alone.filled_within)),
            });
            add(&mut fields, bounds("cir_bps", Some(cir_bps)));
            add(&mut fields, bounds("cbs_bytes", Some(cbs_bytes)));
            add(&mut fields, self::charge(charge));
            fields
        }
        Discovered::Shaper {
            rate_bps,
            charge,
            bucket_bytes,
            delay,
            carried_bytes,
            loss_percent,
        } => {
            let mut fields = json!({
                "found": "shaper",
                "delay_ms": ms(*delay),
                "carried_bytes": carried_bytes,
                "loss_percent": loss_percent,
            });
            add(&mut fields, bounds("rate_bps", Some(rate_bps)));
            add(&mut fields, bounds("bucket_bytes", Some(bucket_bytes)));
            add(&mut fields, self::charge(charge));
            fields
        }
        Discovered::Unknown { rate_bps, contradiction } => {
            let loads = contradiction.iter().flatten().map(passed).collect::<Vec<_>>();
            let mut fields = json!({"found": "unknown", "contradicting_loads": loads});
            add(&mut fields, bounds("rate_bps", Some(rate_bps)));
            fields
        }
    }
}

fn passed(load: &Passed) -> Value {
    let mut fields = json!({"frame_bytes": load.frame_bytes, "offered_bps": load.offered_bps});
    add(&mut fields, bounds("passed_bps", Some(&load.passed_bps)));
    fields
}

fn charge(charge: &Charge) -> Value {
    let mut fields = json!({
        "charged_layer": charge.layer.map(|(layer, _)| layer),
        "charged_offset_bytes": charge.layer.map(|(_, offset)| offset),
    });
    add(&mut fields, bounds("measured_offset_bytes", Some(&charge.offset_bytes)));
    fields
}

fn second_bucket(bucket: &SecondBucket) -> Value {
    let mut fields = json!({"dscp": bucket.dscp, "eir_bps": null, "ebs_bytes": null});
    if let Some(rate) = &bucket.rate_bps {
        add(&mut fields, bounds("eir_bps", Some(rate)));
    }
    if let Some(depth) = &bucket.depth_bytes {
        add(&mut fields, bounds("ebs_bytes", Some(depth)));
    }
    fields
}

fn direction(direction: Direction, bidirectional: bool) -> String {
    if bidirectional { String::from("bidirectional") } else { direction.to_string() }
}

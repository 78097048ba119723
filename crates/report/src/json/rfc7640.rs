//! The steps of an RFC 7640 run as JSON.

use std::time::Duration;

use fp_method::path::BASELINE_RTT;
use fp_method::rfc7640::{
    CapacityClass, CapacityStep, ClassStep, Hunt, HuntTrial, PolicerStep, QueueStep, SchedulerStep,
    ShaperStep, Stateful, Stateless, Step, Trains,
};
use fp_model::Rate;
use serde_json::{Value, json};

use super::{add, bounds, ms};

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::BaselineRtt(baseline) => json!(BASELINE_RTT.row(baseline)),
        Step::Policer(step) => policer(step),
        Step::Queue(step) => queue(step),
        Step::Scheduler(step) => scheduler(step),
        Step::Shaper(step) => shaper(step),
        Step::Capacity(step) => capacity(step),
    }
}

fn policer(step: &PolicerStep) -> Value {
    let mut fields = json!({
        "name": "rfc7640_policer",
        "direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "cir_l2_bps": step.cir_l2.as_bps(),
        "cbs_bytes": step.cbs_bytes,
        "eir_l2_bps": step.eir_l2.as_bps(),
        "ebs_bytes": step.ebs_bytes,
        "burst_rate_l2_bps": step.burst_rate_l2.map(Rate::as_bps),
        "compliant": stateless(&step.compliant),
        "excess": step.excess.as_ref().map(stateless),
        "hunt": hunt(&step.hunt),
        "bsa_bytes": step.hunt.bsa_bytes,
    });
    add(&mut fields, bounds("rate_estimate_l2_bps", step.rate.as_ref()));
    add(&mut fields, bounds("depth_estimate_bytes", step.depth.as_ref()));
    fields
}

fn queue(step: &QueueStep) -> Value {
    json!({
        "name": "rfc7640_queue",
        "direction": step.direction,
        "scheduler": "fifo",
        "frame_bytes": step.frame_bytes,
        "queue_bytes": step.queue_bytes,
        "bandwidth_l2_bps": step.bandwidth_l2.as_bps(),
        "stateless": stateless(&step.stateless),
        "hunt": hunt(&step.hunt),
        "bsa_bytes": step.hunt.bsa_bytes,
        "stateful": patterns(&step.stateful),
    })
}

fn scheduler(step: &SchedulerStep) -> Value {
    json!({
        "name": "rfc7640_scheduler",
        "direction": step.direction,
        "scheduler": step.scheduler,
        "frame_bytes": step.frame_bytes,
        "queue_bytes": step.queue_bytes,
        "bandwidth_l2_bps": step.bandwidth_l2.as_bps(),
        "classes": step.classes.iter().map(class).collect::<Vec<_>>(),
        "stateful": patterns(&step.stateful),
    })
}

fn class(class: &ClassStep) -> Value {
    json!({
        "dscp": class.dscp.code_point(),
        "weight": class.weight,
        "share_percent": class.share_percent,
        "expected_share_percent": class.expected_share_percent,
        "stateless": stateless(&class.stateless),
    })
}

fn shaper(step: &ShaperStep) -> Value {
    json!({
        "name": "rfc7640_shaper",
        "direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "rate_l2_bps": step.rate_l2.as_bps(),
        "bc_bytes": step.bc_bytes,
        "be_bytes": step.be_bytes,
        "queue_bytes": step.queue_bytes,
        "stateless": stateless(&step.stateless),
        "sr_l2_bps": step.trains.rate_l2.map(Rate::as_bps),
        "first_train_bytes": step.trains.first_train_bytes,
        "bucket_estimate_bytes": step.trains.bucket_bytes,
        "bucket_estimate_least_bytes": step.trains.bucket_least_bytes,
        "sbb_bytes": step.trains.train_bytes,
        "sbi_us": step.trains.train_interval.map(us),
        "stateful": patterns(&step.stateful),
    })
}

fn capacity(step: &CapacityStep) -> Value {
    json!({
        "name": "rfc7640_capacity",
        "direction": step.direction,
        "frame_bytes": step.frame_bytes,
        "classes": step.classes.iter().map(capacity_class).collect::<Vec<_>>(),
    })
}

fn capacity_class(class: &CapacityClass) -> Value {
    json!({
        "dscp": class.dscp.code_point(),
        "device": class.device,
        "compliant": stateless(&class.compliant),
        "excess": class.excess.as_ref().map(stateless),
        "hunt": class.hunt.as_ref().map(hunt),
        "bsa_bytes": class.hunt.as_ref().and_then(|hunt| hunt.bsa_bytes),
        "trains": class.trains.as_ref().map(trains),
    })
}

fn trains(trains: &Trains) -> Value {
    json!({
        "sr_l2_bps": trains.rate_l2.map(Rate::as_bps),
        "first_train_bytes": trains.first_train_bytes,
        "bucket_estimate_bytes": trains.bucket_bytes,
        "bucket_estimate_least_bytes": trains.bucket_least_bytes,
        "sbb_bytes": trains.train_bytes,
        "sbi_us": trains.train_interval.map(us),
    })
}

//= rfc7640 4.1
fn stateless(seen: &Stateless) -> Value {
    json!({
        "burst_bytes": seen.burst_bytes,
        "interval_ms": ms(seen.interval),
        "runs": seen.runs,
        "bursts": seen.bursts,
        "whole_bursts": seen.whole_bursts,
        "rx_burst_bytes_mean": seen.received_burst_bytes_mean(),
        "frames_sent": seen.sent_frames,
        "frames_received": seen.received_frames,
        "lost_frames": seen.lost_frames,
        "out_of_order_frames": seen.out_of_order_frames,
        "duplicate_frames": seen.duplicate_frames,
        "corrupt_frames": seen.corrupt_frames,
        "delay_min_ms": seen.delay.map(|delay| ms(delay.min)),
        "delay_mean_ms": seen.delay.map(|delay| ms(delay.mean)),
        "delay_p99_ms": seen.delay.map(|delay| ms(delay.p99)),
        "delay_max_ms": seen.delay.map(|delay| ms(delay.max)),
        "delay_variation_p99_ms": seen.delay_variation_p99.map(ms),
        "loss_timeout_ms": ms(seen.loss_timeout),
        "repeated_trials": seen.repeated_trials,
        "spoilt_trials": seen.spoilt_trials,
    })
}

fn hunt(hunt: &Hunt) -> Value {
    let trial = |trial: &HuntTrial| json!({"burst_bytes": trial.burst_bytes, "lost_frames": trial.lost_frames});
    json!({
        "bsa_bytes": hunt.bsa_bytes,
        "is_limit": hunt.is_limit,
        "trials": hunt.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}

fn patterns(patterns: &[Stateful]) -> Vec<Value> {
    patterns.iter().map(stateful).collect()
}

//= rfc7640 4.2
fn stateful(seen: &Stateful) -> Value {
    json!({
        "pattern": seen.pattern.name(),
        "dscp": seen.dscp.code_point(),
        "connections": seen.connections,
        "window_bytes": seen.window_bytes,
        "bdp_bytes": seen.bdp_bytes,
        "window_factor": seen.window_factor,
        "burst_bytes": seen.burst_bytes,
        "bursts": seen.bursts,
        "interval_ms": ms(seen.interval),
        "pattern_bytes": seen.pattern_bytes,
        "runs": seen.runs,
        "unfinished_runs": seen.unfinished_runs,
        "ttpet_mean_ms": seen.ttpet.map(|ttpet| ms(ttpet.mean)),
        "ttpet_min_ms": seen.ttpet.map(|ttpet| ms(ttpet.min)),
        "ttpet_max_ms": seen.ttpet.map(|ttpet| ms(ttpet.max)),
        "ttpet_ideal_ms": ms(seen.ideal_ttpet),
        "transmitted_bytes": seen.transmitted_bytes,
        "retransmitted_bytes": seen.retransmitted_bytes,
        "efficiency_percent": seen.efficiency_percent,
        "buffer_delay_percent": seen.buffer_delay_percent,
        "congestion_control": seen.congestion_control,
    })
}

fn us(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

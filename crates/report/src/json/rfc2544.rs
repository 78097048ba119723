//! The steps of an RFC 2544 run as the RFC reports them.

use fp_method::path::{BASELINE_RTT, PATH_MTU};
use fp_method::rfc2544::{
    BackToBack, DelayClock, FrameLoss, FrameRate, Goal, GoalResult, Latency, LineRate, Recovery,
    Step, Throughput, TrialRow,
};
use fp_model::Layer;
use serde_json::{Value, json};

use super::ms;

pub(super) fn step(step: &Step) -> Value {
    match step {
        Step::PathMtu(mtu) => json!(PATH_MTU.row(mtu)),
        Step::BaselineRtt(baseline) => json!(BASELINE_RTT.row(baseline)),
        Step::LineRate(line) => line_rate(line),
        Step::Throughput(found) => throughput(found),
        Step::Latency(found) => latency(found),
        Step::FrameLoss(found) => frame_loss(found),
        Step::BackToBack(found) => back_to_back(found),
        Step::Recovery(found) => recovery(found),
    }
}

fn line_rate(line: &LineRate) -> Value {
    json!({
        "name": "line_rate",
        "direction": line.direction,
        "rate_l1_bps": line.line_l1.map(|rate| rate.as_bps()),
        "source": line.source.to_string(),
        "reached_l1_bps": line.reached.rate_l1.as_bps(),
        "frame_bytes": line.reached.frame_bytes,
        "trials": line.trials,
    })
}

fn fps(rate: FrameRate) -> f64 {
    rate.frames_per_second()
}

fn throughput(found: &Throughput) -> Value {
    let at = |layer| found.found.map(|rate| rate.at(layer).as_bps());
    let [from, to] = [found.at_least, found.at_most];
    json!({
        "name": "rfc2544_throughput",
        "direction": found.way.to_string(),
        "frame_bytes": found.frame_bytes,
        "rate_l1_bps": at(Layer::L1),
        "rate_l1_bps_at_least": from.map(|rate| rate.at(Layer::L1).as_bps()),
        "rate_l1_bps_at_most": to.map(|rate| rate.at(Layer::L1).as_bps()),
        "rate_l2_bps": at(Layer::L2),
        "rate_fps": found.found.map(fps),
        "rate_fps_at_least": from.map(fps),
        "rate_fps_at_most": to.map(fps),
        "percent_of_line": found.percent_of_line(),
        "theoretical_fps": found.theoretical.map(fps),
        "limit": found.limit.to_string(),
        "goals": found.goals.iter().map(|goal| self::goal(found, goal)).collect::<Vec<_>>(),
        "trials": found.trials.iter().map(trial).collect::<Vec<_>>(),
    })
}

fn goal(of: &Throughput, (goal, result): &(Goal, GoalResult)) -> Value {
    let fps = |rate_l1| fps(FrameRate { frame_bytes: of.frame_bytes, rate_l1 });
    json!({
        "loss_ratio": goal.loss_ratio,
        "exceed_ratio": goal.exceed_ratio,
        "initial_s": goal.initial_duration.as_secs_f64(),
        "final_s": goal.final_duration.as_secs_f64(),
        "sum_s": goal.duration_sum.as_secs_f64(),
        "width": goal.width,
        "relevant_lower_bound_fps": result.lower.map(fps),
        "relevant_upper_bound_fps": result.upper.map(fps),
        "conditional_throughput_fps": result.conditional_throughput.map(fps),
        "regular": result.is_regular,
    })
}

fn trial(row: &TrialRow) -> Value {
    json!({
        "rate_l1_bps": row.offered.rate_l1.as_bps(),
        "rate_fps": fps(row.offered),
        "duration_s": row.lasts.as_secs_f64(),
        "planned_frames": row.planned_frames,
        "sent_frames": row.sent_frames,
        "received_frames": row.received_frames,
        "loss_percent": row.loss_percent(),
        "dropped_by_tester_frames": row.dropped_by_tester,
        "out_of_order_frames": row.out_of_order_frames,
        "duplicate_frames": row.duplicate_frames,
        "sent_by": row.sent_by,
        "pass": row.passed,
        "tester_limit": row.tester_limit,
        "repeats": row.repeats,
        "final": row.confirmation,
    })
}

fn latency(found: &Latency) -> Value {
    let (kind, error_us) = match found.clock {
        DelayClock::BothEnds { error } => ("one_way", Some(error.as_nanos() as f64 / 1e3)),
        DelayClock::RoundTrip => ("round_trip", None),
    };
    json!({
        "name": "rfc2544_latency",
        "direction": found.way.to_string(),
        "frame_bytes": found.rate.frame_bytes,
        "rate_fps": fps(found.rate),
        "kind": kind,
        "clock_error_us": error_us,
        "definition": "store_and_forward",
        "latency_min_ms": ms(found.min),
        "latency_mean_ms": ms(found.mean),
        "latency_max_ms": ms(found.max),
        "repetitions": found.means.len(),
        "repetition_means_ms": found.means.iter().copied().map(ms).collect::<Vec<_>>(),
    })
}

fn frame_loss(found: &FrameLoss) -> Value {
    let row = |row: &TrialRow| {
        let mut value = trial(row);
        value["percent_of_highest"] = json!(row.offered.percent_of(found.highest.rate_l1));
        value
    };
    json!({
        "name": "rfc2544_frame_loss",
        "direction": found.way.to_string(),
        "frame_bytes": found.frame_bytes,
        "highest_fps": fps(found.highest),
        "trials": found.trials.iter().map(row).collect::<Vec<_>>(),
    })
}

fn back_to_back(found: &BackToBack) -> Value {
    let figures = found.figures.as_ref();
    let known = figures.filter(|_| !found.is_at_limit());
    json!({
        "name": "rfc2544_back_to_back",
        "direction": found.way.to_string(),
        "frame_bytes": found.frame_bytes,
        "skipped": found.skipped.map(|reason| reason.to_string()),
        "repetitions": found.longest_frames.len(),
        "average_frames": figures.map(|figures| figures.average_frames),
        "min_frames": figures.map(|figures| figures.min_frames),
        "max_frames": figures.map(|figures| figures.max_frames),
        "deviation_frames": figures.map(|figures| figures.deviation_frames),
        "implied_buffer_s": known.map(|figures| figures.implied_buffer.as_secs_f64()),
        "corrected_buffer_s": known.map(|figures| figures.corrected_buffer.as_secs_f64()),
        "longest_frames": found.longest_frames,
        "limit_frames": found.limit_frames,
        "step_frames": found.step_frames,
        "trials": found.trials,
    })
}

fn recovery(found: &Recovery) -> Value {
    json!({
        "name": "rfc2544_recovery",
        "direction": found.way.to_string(),
        "frame_bytes": found.overload.frame_bytes,
        "overload_fps": fps(found.overload),
        "reduced_fps": fps(found.reduced),
        "recovery_ms": found.recovery.map(ms),
        "lost_in_overload_frames": found.lost_in_overload_frames,
        "lost_after_frames": found.lost_after_frames,
        "sent_late_max_ms": ms(found.sent_late_max),
        "tester_limit": found.tester_limit,
    })
}

//! The screen of a burst test: the tables of the CBS test and the policing test, what was discovered.

use fp_method::burst::{
    Alone, CbsStep, Charge, Discovered, Discovery, Line, Passed, PolicingStep, RateStep, Report,
    SecondBucket, Step,
};
use fp_method::path::PATH_MTU;
use fp_method::{Bounds, signed};
use fp_model::{Direction, Layer, PacketLayout, Rate};

use super::path::fact;
use super::{amount, between, duration, grouped, line, mark, rate, unknown};

const CBS_HEAD: &str = "        frame configured  sent burst   mean rcvd     sent received    lost bursts  sent in   rcvd in";
const POLICING_HEAD: &str = "        frame configured   sent burst    mean rcvd        CBS  deviation            interval bursts";

pub(super) fn body(out: &mut String, report: &Report) {
    for direction in [Direction::Download, Direction::Upload] {
        way(out, &report.steps, direction);
    }
}

fn way(out: &mut String, steps: &[Step], direction: Direction) {
    let mut table = None;
    for step in steps.iter().filter(|step| of(step) == direction) {
        let head = match step {
            Step::Cbs(step) => Some(("CBS test", step.bidirectional, step.cir, CBS_HEAD)),
            Step::Policing(step) => {
                Some(("policing test", step.bidirectional, step.cir, POLICING_HEAD))
            }
            Step::PathMtu(_) | Step::Line(_) | Step::Rate(_) | Step::Discovery(_) => None,
        };
        if table != head
            && let Some((name, bidirectional, cir, columns)) = head
        {
            let both = if bidirectional { ", both directions loaded" } else { "" };
            line(out, "");
            let cir = format!("CIR {:.3} Mbit/s ({})", cir.rate.as_bps() as f64 / 1e6, cir.layer);
            line(out, &format!("{name}, {direction}{both}, {cir}; bytes of layer 2"));
            line(out, columns);
        }
        table = head;
        match step {
            Step::PathMtu(mtu) => fact(out, &PATH_MTU.row(mtu), ""),
            Step::Line(found) => line(out, &line_rate(found)),
            Step::Cbs(step) => line(out, &cbs(step)),
            Step::Rate(step) => line(out, &refill(step)),
            Step::Policing(step) => line(out, &policing(step)),
            Step::Discovery(step) => discovery(out, step),
        }
    }
}

const fn of(step: &Step) -> Direction {
    match step {
        Step::PathMtu(step) => step.direction,
        Step::Line(step) => step.direction,
        Step::Cbs(step) => step.direction,
        Step::Rate(step) => step.direction,
        Step::Policing(step) => step.direction,
        Step::Discovery(step) => step.direction,
    }
}

fn line_rate(found: &Line) -> String {
    // Of what is known to a hundredth no more is said.
    let is_open = found.fastest_l1.as_bps() as f64 > 1.01 * found.rate_l1.as_bps() as f64;
    let faster =
        if is_open { format!(", or up to {}", rate(found.fastest_l1)) } else { String::new() };
    format!("line            {:<9} {} (l1){faster}", found.direction, rate(found.rate_l1))
}

fn cbs(step: &CbsStep) -> String {
    format!(
        "  {:<4} {:>6} {:>10} {:>8} kB {:>8} kB {:>8} {:>8} {:>7} {:>6} {:>8} {:>9}",
        mark(step.pass, "?"),
        step.frame_bytes,
        grouped(step.configured_burst_bytes),
        kilobytes(step.tx_burst_bytes as f64),
        kilobytes(step.rx_burst_bytes_mean),
        grouped(step.frames_sent),
        grouped(step.frames_received),
        grouped(step.frames_lost()),
        step.bursts,
        duration(step.times.sent),
        step.times.received.map_or_else(unknown, duration),
    )
}

fn refill(step: &RateStep) -> String {
    let measured = match (step.measured, step.deviation_percent) {
        (Some(measured), Some(deviation)) => {
            let deviation = signed(deviation, 2);
            format!("{} ({}), {deviation} % from the CIR", rate(measured), step.cir.layer)
        }
        _ if step.is_known => String::from("nothing was dropped"),
        _ => String::from("what limits, if anything does, is not known"),
    };
    let what = match step.waited {
        _ if !step.is_known => "unknown limit",
        Some(_) => "shaper passes",
        None => "policer passes",
    };
    let waited = step.waited.map_or_else(String::new, |waited| {
        format!("; what exceeds it waits up to {}", duration(waited))
    });
    format!("\n{what:<15} {:<9} {measured}{waited}", step.direction)
}

fn policing(step: &PolicingStep) -> String {
    let bytes = |bounds: Option<Bounds>| {
        bounds.map_or_else(unknown, |bounds| grouped(bounds.estimate.round() as u64))
    };
    let interval = step.estimate.map_or_else(unknown, |bounds| {
        let [least, most] = [bounds.at_least, bounds.at_most].map(|bytes| bytes.round() as u64);
        format!("{} … {}", grouped(least), grouped(most))
    });
    format!(
        "  {:<4} {:>6} {:>10} {:>9} kB {:>9} kB {:>10} {:>10} {interval:>19} {:>6}",
        mark(step.pass, "?"),
        step.frame_bytes,
        grouped(step.configured_burst_bytes),
        kilobytes(step.tx_burst_bytes as f64),
        kilobytes(step.rx_burst_bytes_mean),
        bytes(step.estimate),
        step.deviation_percent.map_or_else(unknown, |percent| format!("{} %", signed(percent, 2))),
        step.bursts,
    )
}

fn kilobytes(bytes: f64) -> String {
    format!("{:.3}", bytes / 1e3)
}

/// Of frames, at any rate: with the least and the most where some were lost.
pub(crate) fn lost(percent: f64, within: Option<Bounds>, of_frames: Option<f64>) -> String {
    match (within, of_frames) {
        (Some(Bounds { at_least, at_most, .. }), _) if at_most.is_finite() => {
            format!("{percent:.2} % lost ({at_least:.2} … {at_most:.2} %)")
        }
        (_, Some(frames)) => format!("none of {} frames lost", grouped(frames.round() as u64)),
        (_, None) => format!("{percent:.2} % lost"),
    }
}

fn discovery(out: &mut String, step: &Discovery) {
    let Discovery { direction, found, line_l1_bps, .. } = step;
    let mut say = |name: &str, text: String| {
        line(out, &format!("{name:<15} {direction:<9} {text}"));
    };
    let line_between = |line: &Bounds| match line.at_least > 0.0 {
        true => rate_between(line),
        false => rate(Rate::bps(line.estimate as u64)),
    };
    let line_l1 = line_l1_bps.as_ref().map(|line| format!("{} (l1)", line_between(line)));
    say("line", line_l1.unwrap_or_else(unknown));
    match found {
        Discovered::NoPolicer { sent_bytes, loss } => {
            let sent = grouped(*sent_bytes);
            let percent = loss.percent();
            let lost = lost(percent.estimate, Some(percent), Some(loss.frames));
            say("no policer", format!("{sent} bytes passed at line rate, {lost}"));
        }
        Discovered::Policer { cir_bps, cbs_bytes, charge, excess, alone, marked, .. } => {
            let layer = counted(charge);
            say("policer: CIR", format!("{}, {layer}", rate_between(cir_bps)));
            say("policer: CBS", format!("{}, {layer}", bytes_between(cbs_bytes)));
            if let Some(excess) = excess {
                say("excess", second_bucket(excess));
            } else {
                say("excess", no_second_bucket(alone.as_ref()));
            }
            if !marked.is_empty() {
                let marked: Vec<_> =
                    marked.iter().map(|dscp| dscp.code_point().to_string()).collect();
                say("marking", format!("excess frames arrive with DSCP {}", marked.join(", ")));
            }
        }
        Discovered::Shaper {
            rate_bps,
            charge,
            bucket_bytes,
            delay,
            carried_bytes,
            loss_percent,
        } => {
            say("shaper or line", format!("{}, {}", rate_between(rate_bps), counted(charge)));
            let bucket = bytes_between(bucket_bytes);
            say("bucket", format!("{bucket} go at once after a pause"));
            let delay = duration(*delay);
            let carried = carried(Some(*carried_bytes));
            say(
                "queue",
                format!("frames waited up to {delay}, {loss_percent:.2} % were lost{carried}"),
            );
        }
        Discovered::Unknown { rate_bps, contradiction } => {
            say("a limit", format!("{}, of which kind is not known", rate_between(rate_bps)));
            for load in contradiction.iter().flatten() {
                let Passed { frame_bytes, offered_bps, passed_bps } = load;
                let offered = rate(Rate::bps(*offered_bps as u64));
                let passed = rate_between(passed_bps);
                say("passed", format!("{passed} of {offered} (l2) as {frame_bytes} bytes"));
            }
        }
    }
    let (trials, sending) = (step.trials, duration(step.sending));
    say("found by", format!("{trials} trials, {sending} of sending"));
}

/// What a queue was seen to carry without a break: a policer whose bucket holds as much would not have shown.
pub(crate) fn carried(bytes: Option<u64>) -> String {
    bytes.map_or_else(String::new, |bytes| format!("; seen to carry {}", amount(bytes)))
}

fn second_bucket(bucket: &SecondBucket) -> String {
    let rate = bucket.rate_bps.as_ref().map_or_else(
        || String::from("EIR beyond what was sent"),
        |bounds| format!("EIR {}", rate_between(bounds)),
    );
    let depth = bucket
        .depth_bytes
        .as_ref()
        .map_or_else(String::new, |bounds| format!(", EBS {}", bytes_between(bounds)));
    format!("{rate}{depth}")
}

/// Of a bucket that was not found, where nothing excludes it.
pub(crate) const NOT_EXCLUDED: &str =
    "not excluded: CIR and CBS may be those of two buckets together";

/// What is known of a bucket that was not found.
fn no_second_bucket(alone: Option<&Alone>) -> String {
    let Some(alone) = alone else {
        return NOT_EXCLUDED.to_owned();
    };
    let bytes = grouped(alone.shown_from_bytes.round() as u64);
    let within = duration(alone.filled_within);
    format!(
        "none; would have shown behind a CBS above {bytes} bytes, with an EIR of 5 to 95 % of both \
         rates, full again within {within}"
    )
}

pub(super) fn rate_between(bounds: &Bounds) -> String {
    let rate = |bps: f64| match bps.is_finite() {
        true => rate(Rate::bps(bps.max(0.0) as u64)),
        false => String::from("not known"),
    };
    between(bounds, rate)
}

pub(super) fn bytes_between(bounds: &Bounds) -> String {
    let bytes = |bytes: f64| match bytes.is_finite() {
        true => grouped(bytes.max(0.0).round() as u64),
        false => String::from("not known"),
    };
    let [estimate, least, most] = [bounds.estimate, bounds.at_least, bounds.at_most].map(bytes);
    format!("{estimate} bytes ({least} … {most})")
}

/// Tags of this number of bytes, in words.
fn added(tags_bytes: i32) -> String {
    match tags_bytes {
        0 => String::new(),
        bytes => format!(" with {bytes} bytes of tags that the network adds"),
    }
}

/// What a frame costs, in words.
fn counted(charge: &Charge) -> String {
    let Bounds { at_least, at_most, .. } = charge.offset_bytes;
    match charge.layer {
        Some((Layer::L2, bytes)) if bytes < 0 => String::from("counted in frames without FCS"),
        Some((Layer::L1, bytes)) => {
            let tags = bytes - PacketLayout::ETHERNET_L1_OVERHEAD as i32;
            format!("counted on the line (l1){}", added(tags))
        }
        Some((Layer::L2, bytes)) => format!("counted in frames with FCS (l2){}", added(bytes)),
        Some((Layer::L3 | Layer::L4, _)) => String::from("counted in IP packets (l3)"),
        None if at_most.is_infinite() => {
            String::from("if counted in frames with FCS (l2), which is not known")
        }
        None => {
            let [least, most] = [at_least, at_most].map(|bytes| signed(bytes, 1));
            format!("as frames with FCS (l2), though {least} … {most} bytes more of each count")
        }
    }
}

//! What `test` says: path MTU, round trip, bottleneck, transfers, verdict.

use fp_model::Direction;
use serde_json::Value;

use super::discovery::passed_at_once;
use super::{
    Figure, Right, Said, State, compared, direction_of, exact_bytes, lost_at_any_rate, number,
    reasons, steps, text,
};
use crate::facts::{Bucket, DirectionFacts, Facts, HOST_L1_BPS, Kind, wavers, windows_bytes};
use crate::network::Network;

/// A bottleneck above this share of the highest rate that the search offers may count as not reached:
/// the default search takes a loss of 5 % for an overload.
const REACHED: f64 = 0.95;

pub(super) fn figures(network: &Network, facts: &Facts, document: &Value) -> Vec<Figure> {
    let mut figures = Vec::new();
    for step in steps(document, "path_mtu") {
        figures.extend(path_mtu(facts, step));
    }
    for step in steps(document, "baseline_rtt") {
        figures.extend(baseline_rtt(network, facts, step));
    }
    for step in steps(document, "bottleneck") {
        let Some(direction) = direction_of(text(step, "/direction")) else { continue };
        let found = bottleneck(facts.of_direction(direction), step);
        figures.extend(found.into_iter().map(|figure| figure.about(text(step, "/direction"))));
    }
    for step in steps(document, "tcp") {
        figures.extend(transfer(facts, step));
    }
    figures.push(verdict(facts, document));
    figures.extend(reasons(document).filter_map(|reason| cause(network, facts, document, reason)));
    figures
}

pub(super) fn path_mtu(facts: &Facts, step: &Value) -> Vec<Figure> {
    let Some(direction) = direction_of(text(step, "/direction")) else { return Vec::new() };
    let truth = facts.mtu(direction);
    let bytes = exact_bytes("path MTU", number(step, "mtu_bytes"), truth.bytes);
    let hole = step.get("black_hole").and_then(Value::as_bool).map(|said| {
        let text = format!("{said} said, {} true", truth.is_black_hole);
        Figure::of("black hole", said == truth.is_black_hole, text)
    });
    [Some(bytes), hole].into_iter().flatten().collect()
}

/// The smallest of many probes lies between the least that jitter allows and its mean. Clocks of
/// both ends take part in none of it; what a troubled host or others' traffic adds is part of the round
/// trip.
/// How long the kernel's routers take is not known.
pub(super) fn baseline_rtt(network: &Network, facts: &Facts, step: &Value) -> Option<Figure> {
    const GRAIN_MS: f64 = 0.02;
    if network.routers.is_some() {
        return None;
    }
    let said = Said::of(step, "rtt_min_ms")?;
    let [least, mean] = facts.rtt_s.map(|seconds| 1e3 * seconds);
    let is_crossed = facts.download.is_crossed || facts.upload.is_crossed;
    let waits = network.trouble.is_some() || is_crossed;
    let most = if waits { f64::INFINITY } else { mean };
    let right = Right { truth: least, from: least, to: most, grain: GRAIN_MS };
    Some(right.judged("baseline RTT", said))
}

fn bottleneck(way: &DirectionFacts, step: &Value) -> Vec<Figure> {
    let said = at_layer_2(way, step);
    let kind = text(step, "/kind");
    if kind == "not_reached" {
        return not_reached(way, said, hidden(way, step));
    }
    let burst = way.bucket.as_ref().and_then(|bucket| longest_burst(way, bucket, step));
    let loss = Said::of(step, "base_loss_percent").map(|said| lost_at_any_rate(said, way));
    if let Some(bucket) = hidden(way, step) {
        let line = said.map(|said| in_front(way, bucket).judged("bottleneck", said).bound());
        let kind = Figure::unknown(
            "kind",
            "a line said that carried no more than the bucket behind it passes",
        );
        return line.into_iter().chain([kind]).chain(loss).chain(burst).collect();
    }
    let is = |kind| way.kinds.contains(&kind);
    let truth = format!("'{kind}' said, {:?} true", way.kinds);
    let kind = match kind {
        "policer" => Figure::of("kind", is(Kind::Policer), truth),
        "queue" | "shaper" | "line" => Figure::of("kind", is(Kind::Queue) || is(Kind::Host), truth),
        _ => Figure::unknown("kind", truth),
    };
    let rate = compared("bottleneck", said, Right::within(way.rate_bps(0), way.right));
    [rate, kind].into_iter().chain(loss).chain(burst).collect()
}

/// The rate of the line in front of a bucket that does not show.
fn in_front(way: &DirectionFacts, bucket: &Bucket) -> Right {
    let carries = bucket.fed_frames_s / way.frames_s;
    Right { to: way.rate_bps(0) * carries, ..Right::within(way.rate_bps(0), way.right) }
}

/// The bucket of the policer that limits, where it passes at once what was seen to be carried in front of it:
/// until then nothing shows.
pub(super) fn hidden<'a>(way: &'a DirectionFacts, step: &Value) -> Option<&'a Bucket> {
    let carried_bytes = number(step, "carried_bytes")?;
    let is_policed = way.kinds == [Kind::Policer];
    let bucket = way.bucket.as_ref().filter(|_| is_policed)?;
    (carried_bytes <= passed_at_once(bucket, f64::from(way.frame_bytes))).then_some(bucket)
}

/// Whatever they held when a burst came, buckets let no longer one pass than they can hold. Bytes of frames
/// are as many at another layer but for a few of each.
fn longest_burst(way: &DirectionFacts, bucket: &Bucket, step: &Value) -> Option<Figure> {
    let said = Said::of(step, "burst_bytes")?;
    let frame_bytes = f64::from(way.frame_bytes);
    let truth = bucket.cbs_bytes + bucket.ebs_bytes;
    let to = truth * (1.0 + 18.0 / frame_bytes);
    Some(Right { truth, from: 0.0, to, grain: frame_bytes }.judged("burst", said).bound())
}

/// A bottleneck's rate in frames like those of the truth, whatever layer it is given at.
fn at_layer_2(way: &DirectionFacts, step: &Value) -> Option<Said> {
    let frame_bytes = number(step, "frame_bytes")?;
    let counted_bytes = match text(step, "/layer") {
        "l1" => frame_bytes + 20.0,
        "l3" => frame_bytes - 18.0,
        _ => frame_bytes,
    };
    Some(Said::of(step, "rate_bps")?.scaled(f64::from(way.frame_bytes) / counted_bytes))
}

/// That a limit was not reached is true of none, and of one that hardly can be; elsewhere it leaves
/// the question open, and what was carried is a bound.
fn not_reached(way: &DirectionFacts, said: Option<Said>, hidden: Option<&Bucket>) -> Vec<Figure> {
    let is_beyond = way.kind() == Kind::Host || way.rate_bps(20) >= REACHED * HOST_L1_BPS;
    let most = match hidden {
        Some(bucket) => in_front(way, bucket),
        None => Right::within(way.rate_bps(0), way.right),
    };
    let most = Right { from: 0.0, ..most };
    let carried = said.map(|said| most.judged("bottleneck", said).bound());
    let kind = if is_beyond { State::Right } else { State::Unknown };
    let kind = Figure::new("kind", kind, format!("not reached, {:?} true", way.kinds));
    carried.into_iter().chain([kind]).collect()
}

/// Of Ethernet, IPv4 and TCP with timestamps; IPv6 has 20 more, and carries less.
const HEADERS_BYTES: f64 = 70.0;

/// One direction alone: no transfer carries more than the bottleneck, and what it had forgiven before.
fn transfer(facts: &Facts, step: &Value) -> Vec<Figure> {
    let is_alone = text(step, "/direction") == text(step, "/flow_direction");
    let direction = direction_of(text(step, "/flow_direction")).filter(|_| is_alone);
    let (Some(direction), "throughput") = (direction, text(step, "/role")) else {
        return Vec::new();
    };
    let way = facts.of_direction(direction);
    let measured = || {
        let said = Said::of(step, "throughput_bps")?;
        Some((said, Said::of(step, "ideal_bps")?, number(step, "mss_bytes")?, transfer_s(step)?))
    };
    let Some((carried, ideal, segment_bytes, lasts_s)) = measured() else { return Vec::new() };
    if way.kind() == Kind::Host {
        return Vec::new();
    }
    // Windows of few segments may have shorter ones.
    let truth = 8.0 * segment_bytes * way.frames_s_of(segment_bytes + HEADERS_BYTES);
    let depth = way.bucket.map_or(0.0, |bucket| bucket.cbs_bytes + bucket.ebs_bytes);
    // An interval may begin right before a segment and end right behind one.
    let forgiven = 8.0 * (depth + way.released_bytes + segment_bytes) / lasts_s;
    let most = truth * way.right[1] + forgiven;
    let possible = Right { truth, from: 0.0, to: most, grain: 0.0 };
    let possible = possible.judged("throughput", carried).bound();
    // Whoever writes a window and waits for its acknowledgement carries less at best.
    let ideal = (text(step, "/sender") == "bulk")
        .then(|| Right::within(truth, way.right).judged("ideal", ideal).aside());
    let figures = core::iter::once(possible).chain(ideal);
    figures.map(|figure| figure.about(text(step, "/direction"))).collect()
}

fn transfer_s(step: &Value) -> Option<f64> {
    number(step, "transfer_s").filter(|seconds| *seconds > 0.0)
}

fn verdict(facts: &Facts, document: &Value) -> Figure {
    let status = text(document, "/verdict/status");
    let why = || {
        let reasons = reasons(document).map(|reason| text(reason, "/text")).take(1);
        format!("'{status}' said: {}", reasons.collect::<String>())
    };
    match (status, facts.passes) {
        ("pass" | "findings", Some(false)) | ("fail", Some(true)) => {
            Figure::of("verdict", false, why())
        }
        ("pass" | "findings" | "fail", _) => Figure::of("verdict", true, why()),
        _ => Figure::unknown("verdict", why()),
    }
}

/// Of the round trip: what grows by less is not what anybody would blame on a queue.
const BLAMED: f64 = 0.1;

/// Causes that cannot be: a deep queue where no queue limits; delay where all windows at once wait for no
/// line longer than a tenth of the round trip; loss of 5 % where there is less than half of that.
fn cause(network: &Network, facts: &Facts, document: &Value, reason: &Value) -> Option<Figure> {
    let code = text(reason, "/code");
    let step = reason.get("step").and_then(Value::as_u64).unwrap_or(u64::MAX);
    let step = document.pointer("/steps").and_then(|steps| steps.get(usize::try_from(step).ok()?));
    let direction = step.and_then(|step| {
        direction_of(text(step, "/flow_direction")).or(direction_of(text(step, "/direction")))
    });
    let queues = |direction: Direction| {
        let way = facts.of_direction(direction);
        let is_line = |step: &Value| {
            direction_of(text(step, "/direction")) == Some(direction) && hidden(way, step).is_some()
        };
        way.kinds.iter().any(|kind| *kind != Kind::Policer)
            || steps(document, "bottleneck").any(is_line)
    };
    let can_be = match code {
        "deep_queue" => direction.is_none_or(queues),
        "throughput_low_delay" => {
            let rtt_s = facts.rtt_s[1];
            let waits = |way: &DirectionFacts| {
                way.is_crossed
                    || way.waits_s_per_megabyte * windows_bytes(way, rtt_s) / 1e6 >= BLAMED * rtt_s
            };
            [&facts.download, &facts.upload].into_iter().any(waits)
                || network.all_links().any(wavers)
        }
        // It is said from 5 % on.
        "loss_too_high_for_tcp" => direction.is_none_or(|way| {
            let way = facts.of_direction(way);
            way.is_crossed || way.loss >= 0.025
        }),
        _ => return None,
    };
    Some(Figure::of("cause", can_be, format!("'{}' said", text(reason, "/text"))))
}

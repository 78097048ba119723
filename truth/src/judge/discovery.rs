//! What `burst --discover` says of each direction.

use serde_json::Value;

use super::transfers::{hidden, path_mtu};
use super::{
    Figure, Right, Said, State, compared, direction_of, lost_at_any_rate, number, steps, text,
};
use crate::facts::{Bucket, DirectionFacts, Facts, Kind};
use crate::network::Network;

/// The longest frames that are sent unless the path carries none of them.
const LONGEST_FRAME_BYTES: u32 = 1518;

pub(super) fn figures(network: &Network, facts: &Facts, document: &Value) -> Vec<Figure> {
    let mut figures: Vec<Figure> =
        steps(document, "path_mtu").flat_map(|step| path_mtu(facts, step)).collect();
    for step in steps(document, "discovery") {
        let Some(direction) = direction_of(text(step, "/direction")) else { continue };
        let frame_bytes = LONGEST_FRAME_BYTES.min(facts.mtu(direction).bytes + 18);
        let way = DirectionFacts::of(network, direction, frame_bytes);
        let found = match text(step, "/found") {
            "policer" => policer(&way, step),
            "shaper" => shaper(&way, step),
            "no_policer" => no_policer(&way, step),
            other => vec![Figure::unknown("kind", format!("'{other}' said, {:?} true", way.kinds))],
        };
        figures.extend(found.into_iter().map(|figure| figure.about(text(step, "/direction"))));
    }
    figures
}

fn policer(way: &DirectionFacts, step: &Value) -> Vec<Figure> {
    let said = || format!("a policer said, {:?} true", way.kinds);
    let Some(bucket) = way.bucket else { return vec![Figure::of("kind", false, said())] };
    let mut figures = vec![Figure::of("kind", true, said())];
    // What a frame costs, as the method has it: what it does not know it does not use.
    let offset = number(step, "charged_offset_bytes");
    let truth = f64::from(bucket.offset_bytes);
    figures.push(match offset {
        None => Figure::unknown("charge", "not said"),
        Some(offset) => {
            Figure::of("charge", offset == truth, format!("{offset} said, {truth} true"))
        }
    });
    let offset = offset.unwrap_or(0.0);
    let frame_bytes = f64::from(way.frame_bytes);
    // Both in what the policer really charges.
    let per_frame = (frame_bytes + truth) / (frame_bytes + offset);
    let found = |key: &str| Said::of(step, key).map(|said| said.scaled(per_frame));
    let limits = way.kind() == Kind::Policer;
    let right = if limits { way.right } else { [1.0, 1.0] };
    let grain = frame_bytes + truth;
    if bucket.eir_bps > 0.0 {
        figures.extend(two(step, &bucket, right, grain));
        return figures;
    }
    figures.push(compared("CIR", found("cir_bps"), Right::within(bucket.cir_bps, right)));
    let depth = Right::exactly(bucket.cbs_bytes).from(bucket.least_bytes).by(grain);
    figures.push(compared("CBS", found("cbs_bytes"), depth));
    if step.get("excess").is_some_and(|excess| !excess.is_null()) {
        figures.push(Figure::of("excess", false, "a second bucket said, there is one"));
    }
    figures
}

/// Two buckets: both as they are, or both together with no word on whether there is a second one.
fn two(step: &Value, bucket: &Bucket, right: [f64; 2], grain: f64) -> Vec<Figure> {
    let Bucket { cir_bps, cbs_bytes, eir_bps, ebs_bytes, is_marked, .. } = *bucket;
    let (rate, depth) = (Said::of(step, "cir_bps"), Said::of(step, "cbs_bytes"));
    let excess = step.get("excess").filter(|excess| !excess.is_null());
    if let Some(excess) = excess {
        return vec![
            compared("CIR", rate, Right::within(cir_bps, right)),
            compared("CBS", depth, Right::exactly(cbs_bytes).by(grain)),
            compared("EIR", Said::of(excess, "eir_bps"), Right::within(eir_bps, right)),
            compared("EBS", Said::of(excess, "ebs_bytes"), Right::exactly(ebs_bytes).by(grain)),
        ];
    }
    let excludes = excludes(step, bucket);
    let text = "one bucket said, there are two";
    let excess = if is_marked || excludes {
        Figure::of("excess", false, text)
    } else {
        Figure::unknown("excess", text)
    };
    let truth = cbs_bytes + ebs_bytes;
    let wasted = wasted_bytes(bucket, grain);
    let both = Right::exactly(truth).from(bucket.least_bytes.min(truth - wasted)).by(2.0 * grain);
    vec![
        compared("CIR", rate, Right::within(cir_bps + eir_bps, right)),
        compared("CBS", depth, both),
        excess,
    ]
}

/// While a burst empties the committed bucket the other one is full, and what would refill it is lost:
/// by as much both together seem less deep, if the burst comes as fast as the port sends.
fn wasted_bytes(bucket: &Bucket, frame_bytes: f64) -> f64 {
    let fed_bps = bucket.fed_frames_s * 8.0 * frame_bytes;
    let empties_s = 8.0 * bucket.cbs_bytes / (fed_bps - bucket.cir_bps);
    bucket.eir_bps / 8.0 * empties_s
}

/// Whether the document says that there is no second bucket like this one: whose share of both rates
/// is from 5 to 95 %, behind a committed one of more than it says, filled again within the time it says.
fn excludes(step: &Value, bucket: &Bucket) -> bool {
    let Bucket { cir_bps, cbs_bytes, eir_bps, ebs_bytes, .. } = *bucket;
    let Some(shown_from) = number(step, "excess_shown_from_cbs_bytes") else { return false };
    let within_ms = number(step, "excess_shown_filled_within_ms").unwrap_or(f64::INFINITY);
    let fills_s = (8.0 * cbs_bytes / cir_bps).max(8.0 * ebs_bytes / eir_bps);
    let share = eir_bps / (cir_bps + eir_bps);
    (0.05..=0.95).contains(&share) && cbs_bytes > shown_from && 1e3 * fills_s <= within_ms
}

/// What exceeds waits: true where a line or a shaper limits. One that limits only what a policer lets
/// through in bursts is none.
fn shaper(way: &DirectionFacts, step: &Value) -> Vec<Figure> {
    let queues = way.kinds.iter().any(|kind| *kind != Kind::Policer);
    let kind = format!("a queue said, {:?} true", way.kinds);
    let kind = Figure::of("kind", queues, kind);
    let frame_bytes = f64::from(way.frame_bytes);
    let offset = number(step, "charged_offset_bytes");
    // What is not known is not used.
    let costs = frame_bytes + offset.unwrap_or(0.0);
    let frames_s = Said::of(step, "rate_bps").map(|said| said.scaled(1.0 / (8.0 * costs)));
    if let Some(bucket) = hidden(way, step) {
        let text = "a queue said that carried no more than the bucket behind it passes";
        let right = Right { to: bucket.fed_frames_s, ..Right::within(way.frames_s, way.right) };
        let rate = frames_s.map(|said| right.judged("rate", said).bound());
        return [Figure::unknown("kind", text)].into_iter().chain(rate).collect();
    }
    if !queues {
        return vec![kind];
    }
    let truth = way.offset_bytes;
    let charge = match offset {
        None => Figure::unknown("charge", "not said"),
        Some(offset) => {
            Figure::of("charge", offset == f64::from(truth), format!("{offset} said, {truth} true"))
        }
    };
    let rate = compared("rate", frames_s, Right::within(way.frames_s, way.right));
    // A line lets nothing go at once, or one frame, as one likes to count it.
    let is_line = way.released_bytes == 0.0;
    let to = if is_line { costs } else { way.released_bytes };
    let right = Right { truth: to, from: way.released_least_bytes, to, grain: costs };
    let released = Said::of(step, "bucket_bytes").map(|said| right.judged("bucket", said));
    let released = released.map(|figure| match is_line {
        true => Figure { error: None, ..figure },
        false => figure,
    });
    [kind, charge, rate].into_iter().chain(released).collect()
}

/// Everything passed at the line's rate. Where a policer limits, that is honest as long as no more was
/// sent than a full bucket lets through.
fn no_policer(way: &DirectionFacts, step: &Value) -> Vec<Figure> {
    let sent_bytes = number(step, "sent_bytes").unwrap_or(0.0);
    let frame_bytes = f64::from(way.frame_bytes);
    let loss = Said::of(step, "loss_percent").map(|said| lost_at_any_rate(said, way));
    let kind = match way.bucket {
        Some(bucket) if way.kinds == [Kind::Policer] => {
            let passes = passed_at_once(&bucket, frame_bytes);
            let text = format!(
                "none said after {sent_bytes} bytes, there is one that passes {passes:.0} at once"
            );
            let state = if sent_bytes <= passes { State::Unknown } else { State::Wrong };
            Figure::new("kind", state, text)
        }
        Some(_) | None => {
            let line = Said::of(step, "line_rate_l1_bps");
            let on_the_line = 8.0 * (frame_bytes + 20.0);
            let line = line.map(|said| said.scaled(1.0 / on_the_line));
            compared("rate", line, Right::within(way.frames_s, way.right))
        }
    };
    [kind].into_iter().chain(loss).collect()
}

/// Bytes of frames that both buckets, full, let through of a burst without a gap.
pub(super) fn passed_at_once(bucket: &Bucket, frame_bytes: f64) -> f64 {
    let costs = frame_bytes + f64::from(bucket.offset_bytes);
    let refilled = (bucket.cir_bps + bucket.eir_bps) / (8.0 * costs);
    let spent = 1.0 - refilled / bucket.fed_frames_s;
    (bucket.cbs_bytes + bucket.ebs_bytes) / costs / spent.max(0.0) * frame_bytes
}

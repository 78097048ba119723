//! What `rfc2544` says of the throughput of each frame length.

use serde_json::Value;

use super::transfers::{baseline_rtt, path_mtu};
use super::{Figure, Right, Said, direction_of, steps, text};
use crate::facts::{DirectionFacts, FRAMING_BYTES, Facts};
use crate::network::Network;

const THROUGHPUT: &str = "throughput";

/// Where nothing is lost by chance, the throughput is what the path carries: the bucket is drained and
/// the queue filled before each trial. Where frames are lost at any rate, no rate loses none (RFC 2544
/// section 26.1), and how many a trial loses is chance: what is found is right unless it is more than
/// the path carries. So it is where others' traffic comes and goes, and where frames come unevenly to what
/// has no room for those that come together.
pub(super) fn figures(network: &Network, facts: &Facts, document: &Value) -> Vec<Figure> {
    let mut figures: Vec<Figure> =
        steps(document, "path_mtu").flat_map(|step| path_mtu(facts, step)).collect();
    let rtts = steps(document, "baseline_rtt");
    figures.extend(rtts.filter_map(|step| baseline_rtt(network, facts, step)));
    for step in steps(document, "rfc2544_throughput") {
        let direction = direction_of(text(step, "/direction"));
        let frame_bytes = step.get("frame_bytes").and_then(Value::as_u64);
        let (Some(direction), Some(frame_bytes)) = (direction, frame_bytes) else { continue };
        let frame_bytes = u32::try_from(frame_bytes).unwrap_or(u32::MAX);
        let way = DirectionFacts::of(network, direction, frame_bytes);
        let about = format!("{}, {frame_bytes} bytes", text(step, "/direction"));
        let longest = facts.mtu_download.bytes.min(facts.mtu_upload.bytes) + FRAMING_BYTES;
        let figure = match text(step, "/limit") == "path_mtu" {
            true => Figure::of(THROUGHPUT, frame_bytes > longest, "said not to fit the path"),
            false => throughput(&way, step),
        };
        figures.push(figure.about(&about));
    }
    figures
}

fn throughput(way: &DirectionFacts, step: &Value) -> Figure {
    let loses = way.loss > 0.0 || way.is_crossed || way.is_bunched;
    let Some(said) = Said::of(step, "rate_fps") else {
        return match loses {
            true => Figure::of(THROUGHPUT, true, "none said, and frames are lost at any rate"),
            false => Figure::unknown(THROUGHPUT, "not said"),
        };
    };
    let right = Right::within(way.even * way.frames_s, way.right);
    if loses {
        let bound = Right { from: 0.0, ..right };
        return bound.judged(THROUGHPUT, said).bound();
    }
    right.judged(THROUGHPUT, said)
}

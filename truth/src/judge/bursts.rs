//! What the methods say of a policer that their plan describes: `burst`, `rfc7640` and `y1564`.

use fp_model::Direction;
use serde_json::Value;

use super::{Figure, Right, Said, State, direction_of, number, reasons, steps, text};
use crate::facts::{Bucket, Facts, is_clean};
use crate::method::Method;
use crate::network::Network;
use crate::run::{Ran, SERVICE_LOSS};

/// Codes of the burst test's reasons that blame the policer.
const BLAMES_THE_POLICER: [&str; 5] = [
    "burst_lost",
    "burst_not_policed",
    "cbs_outside_tolerance",
    "cir_outside_tolerance",
    "no_policer",
];
/// What a service's last step offers of its CIR: ITU-T Y.1564.
const POLICED: f64 = 1.25;
/// Loss of more than this many times what a service may lose is seen in every step.
const SURELY_SEEN: f64 = 3.0;

/// Of the directions that were sold.
pub(super) fn figures(method: Method, network: &Network, facts: &Facts, ran: &Ran) -> Vec<Figure> {
    let Some(sold) = ran.sold else { return Vec::new() };
    let any = |is: &dyn Fn(Direction) -> bool| sold.directions.iter().any(|way| is(*way));
    let may_fail = sold.is_true && any(&|way| may_fail(method, network, facts, ran, way));
    let too_lossy = |way| facts.of_direction(way).loss >= SURELY_SEEN * SERVICE_LOSS;
    let may_pass = sold.is_true && !(method == Method::Y1564 && any(&too_lossy));
    let mut figures = vec![verdict(ran, sold.is_true, may_pass, may_fail)];
    for (figure, name, key) in MEASURED {
        for step in steps(&ran.document, name) {
            figures.extend(measured(facts, step, figure, key));
        }
    }
    // RFC 7640 sends bursts as often as the plan's CIR refills the bucket: with too high a CIR they meet
    // a bucket that is not full, and how deep that seems is no statement about the bucket.
    let refills = |bucket: Bucket| bucket.cir_bps == sold.cir_bps;
    let is_refilled = facts.download.bucket.is_some_and(refills);
    figures.retain(|figure| method != Method::Rfc7640 || figure.name != "CBS" || is_refilled);
    figures
}

/// What is measured of a policer, in which step, under which name.
const MEASURED: [(&str, &str, &str); 3] = [
    ("CIR", "rate", "measured_cir_bps"),
    ("CBS", "policing", "estimated_cbs_bytes"),
    ("CBS", "rfc7640_policer", "depth_estimate_bytes"),
];

fn measured(facts: &Facts, step: &Value, name: &'static str, key: &str) -> Option<Figure> {
    let direction = text(step, "/flow_direction");
    let direction = if direction.is_empty() { text(step, "/direction") } else { direction };
    let way = facts.of_direction(direction_of(direction)?);
    let bucket = way.bucket?;
    let frame_bytes = number(step, "frame_bytes").unwrap_or(0.0);
    let right = match name {
        "CIR" => Right::within(bucket.cir_bps, way.right),
        _ => Right::exactly(bucket.cbs_bytes).from(bucket.least_bytes).by(frame_bytes + 20.0),
    };
    Some(right.judged(name, Said::of(step, key)?).about(direction))
}

/// Whether a policer that is as sold may be failed. The burst test may where the path itself loses
/// frames and it blames that, not the policer; the others do not separate the two, and may where
/// the path has any random impairment. All of them may where a queue has no room for what the bucket lets
/// through: the path does not carry the burst, although the policer does. A service may that gets less than
/// its CIR of a quarter more, because the bucket has no room for a frame and what it wins until the next one.
fn may_fail(
    method: Method,
    network: &Network,
    facts: &Facts,
    ran: &Ran,
    direction: Direction,
) -> bool {
    let blames = |reason: &Value| BLAMES_THE_POLICER.contains(&text(reason, "/code"));
    let way = facts.of_direction(direction);
    let is_impaired = match method {
        Method::Burst => way.loss > 0.0 && !reasons(&ran.document).any(blames),
        _ => !network.links(direction).iter().all(is_clean),
    };
    let has_room = |bucket: Bucket| {
        let cost = f64::from(way.frame_bytes) + f64::from(bucket.offset_bytes);
        bucket.cbs_bytes >= cost * (1.0 + 1.0 / POLICED)
    };
    let is_short = method == Method::Y1564 && !way.bucket.is_none_or(has_room);
    is_impaired || way.is_crossed || !way.carries_bursts || is_short
}

fn verdict(ran: &Ran, is_as_sold: bool, may_pass: bool, may_fail: bool) -> Figure {
    let status = text(&ran.document, "/verdict/status");
    let why = reasons(&ran.document).map(|reason| text(reason, "/text")).take(2);
    let sold = if is_as_sold { "as sold" } else { "not as sold" };
    let text = format!("'{status}' said of one {sold}: {}", why.collect::<Vec<_>>().join("; "));
    let state = match status {
        "pass" | "findings" if may_pass => State::Right,
        "fail" if may_fail || !is_as_sold || !may_pass => State::Right,
        "pass" | "findings" | "fail" => State::Wrong,
        _ => State::Unknown,
    };
    Figure::new("verdict", state, text)
}

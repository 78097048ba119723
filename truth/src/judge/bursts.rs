//! What `burst` says of a policer that it was told of.

use serde_json::Value;

use super::{Figure, Right, Said, State, reasons, steps, text};
use crate::facts::Facts;
use crate::method::Ran;

/// Codes of reasons that blame the policer.
const BLAMES_THE_POLICER: [&str; 5] = [
    "burst_lost",
    "burst_not_policed",
    "cbs_outside_tolerance",
    "cir_outside_tolerance",
    "no_policer",
];

/// Download only.
pub(super) fn figures(facts: &Facts, ran: &Ran) -> Vec<Figure> {
    let (Some(sold), Some(bucket)) = (ran.sold, facts.download.bucket) else { return Vec::new() };
    let mut figures = vec![verdict(facts, ran, sold.is_true)];
    for step in steps(&ran.document, "rate") {
        let said = Said::of(step, "measured_cir_bps");
        let right = Right::within(bucket.cir_bps, facts.download.right);
        figures.extend(said.map(|said| right.judged("CIR", said)));
    }
    for step in steps(&ran.document, "policing") {
        let said = Said::of(step, "estimated_cbs_bytes");
        let frame_bytes = super::number(step, "frame_bytes").unwrap_or(0.0);
        let right = Right::exactly(bucket.cbs_bytes).by(frame_bytes + 20.0);
        figures.extend(said.map(|said| right.judged("CBS", said)));
    }
    figures
}

/// A policer that is as sold passes, unless the path itself loses frames and that is what is blamed;
/// one that is not fails.
fn verdict(facts: &Facts, ran: &Ran, is_as_sold: bool) -> Figure {
    let status = text(&ran.document, "/verdict/status");
    let blamed = |reason: &&Value| BLAMES_THE_POLICER.contains(&text(reason, "/code"));
    let blames_policer = reasons(&ran.document).any(|reason| blamed(&reason));
    let why = reasons(&ran.document).map(|reason| text(reason, "/text")).take(1);
    let sold = if is_as_sold { "as sold" } else { "not as sold" };
    let text = format!("'{status}' said of one {sold}: {}", why.collect::<String>());
    let state = match (status, is_as_sold) {
        ("pass" | "findings", true) | ("fail", false) => State::Right,
        ("fail", true) if facts.download.loss > 0.0 && !blames_policer => State::Right,
        ("pass" | "findings", false) | ("fail", true) => State::Wrong,
        _ => State::Unknown,
    };
    Figure::new("verdict", state, text)
}

//! What the methods say of a policer that they were told of: `burst`, `rfc7640` and `y1564`.

use serde_json::Value;

use super::{Figure, Right, Said, State, number, reasons, steps, text};
use crate::facts::{Facts, is_clean};
use crate::method::{Method, Ran, SERVICE_LOSS};
use crate::network::Network;

/// Codes of the burst test's reasons that blame the policer.
const BLAMES_THE_POLICER: [&str; 5] = [
    "burst_lost",
    "burst_not_policed",
    "cbs_outside_tolerance",
    "cir_outside_tolerance",
    "no_policer",
];
/// Loss of more than this many times what a service may lose is seen in every step.
const SURELY_SEEN: f64 = 3.0;

/// Of the download, in which all that is sold stands.
pub(super) fn figures(method: Method, network: &Network, facts: &Facts, ran: &Ran) -> Vec<Figure> {
    let (Some(sold), Some(bucket)) = (ran.sold, facts.download.bucket) else { return Vec::new() };
    let may_fail = sold.is_true && may_fail(method, network, facts, ran);
    let may_pass = sold.is_true && !(method == Method::Y1564 && loses_too_much(facts));
    let mut figures = vec![verdict(ran, sold.is_true, may_pass, may_fail)];
    for step in steps(&ran.document, "rate") {
        let said = Said::of(step, "measured_cir_bps");
        let right = Right::within(bucket.cir_bps, facts.download.right);
        figures.extend(said.map(|said| right.judged("CIR", said)));
    }
    for (name, key) in
        [("policing", "estimated_cbs_bytes"), ("rfc7640_policer", "depth_estimate_bytes")]
    {
        for step in steps(&ran.document, name) {
            let frame_bytes = number(step, "frame_bytes").unwrap_or(0.0);
            let right = Right::exactly(bucket.cbs_bytes).by(frame_bytes + 20.0);
            figures.extend(Said::of(step, key).map(|said| right.judged("CBS", said)));
        }
    }
    figures
}

/// Whether a policer that is as sold may be failed. The burst test may where the path itself loses
/// frames and it blames that, not the policer; the others do not tell one from the other, and may where
/// anything happens to frames. All of them may where a queue has no room for what the bucket lets
/// through: the path does not carry the burst, although the policer does.
fn may_fail(method: Method, network: &Network, facts: &Facts, ran: &Ran) -> bool {
    let blames = |reason: &Value| BLAMES_THE_POLICER.contains(&text(reason, "/code"));
    let is_impaired = match method {
        Method::Burst => facts.download.loss > 0.0 && !reasons(&ran.document).any(blames),
        _ => !network.path.far_to_near.iter().all(is_clean),
    };
    is_impaired || !facts.download.carries_bursts
}

fn loses_too_much(facts: &Facts) -> bool {
    facts.download.loss >= SURELY_SEEN * SERVICE_LOSS
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

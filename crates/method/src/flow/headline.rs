//! What stands for a run: all flows together, or the first.

use alloc::format;
use alloc::string::String;

use fp_model::figure::{Headline, Row, Unit, beside};

use super::FLOW;
use crate::definition::Found;

fn main_one(steps: &[Row]) -> Option<&Row> {
    let mut flows = FLOW.kind.among(steps);
    flows.clone().find(|step| step.word("part") == "sum").or_else(|| flows.next())
}

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let step = main_one(steps)?;
    // Runs of one transport are no repetition of those of another.
    let transport = match step.word("transport") {
        "" => String::new(),
        transport => format!("{} ", transport.to_uppercase()),
    };
    let name = format!("{transport}payload (l4), {}", step.word("direction"));
    Some(Headline::new(name, step.estimate("rate_bps")?, Headline::BITS))
}

pub(super) fn sentence(found: &Found<'_>) -> Option<String> {
    main_one(found.steps).and_then(figure)
}

/// The rate that a flow received beside the one that it sent, and its loss.
pub(super) fn figure(step: &Row) -> Option<String> {
    if !FLOW.kind.is_of(step) {
        return None;
    }
    let loss = step.number("loss_percent").map(|loss| format!(", {:.3} % lost", loss.value));
    let sent = step.part("sent_rates").and_then(|rates| rates.number("l4_bps"));
    let found = step.value("rate_bps");
    let text = match sent {
        Some(bps) => format!("{} sent", beside(&found, &Unit::Rate.shown(bps.value))),
        None => found,
    };
    Some(format!("{} {text}{}", step.word("direction"), loss.unwrap_or_default()))
}

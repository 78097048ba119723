//! What stands for a run: how many connections were open at once.

use alloc::format;
use alloc::string::String;

use fp_model::figure::{Headline, Row};

use super::STRESS;
use crate::definition::Found;

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let peak = STRESS.kind.among(steps).next()?.number("connections_peak")?;
    Some(Headline::new("open at once", peak.value, Headline::CONNECTIONS))
}

pub(super) fn sentence(found: &Found<'_>) -> Option<String> {
    let step = STRESS.kind.among(found.steps).next()?;
    let [peak, target] =
        ["connections_peak", "connections_target"].map(|field| step.grouped(field));
    Some(format!("{peak} of {target} connections open at once"))
}

//! What stands for a run: the information rate of all services, and how many of them met their criteria.

use alloc::format;
use alloc::string::String;

use fp_model::figure::{Headline, Row};

use super::PERFORMANCE;
use crate::definition::Found;

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let mut rates = PERFORMANCE.kind.among(steps).filter_map(|step| step.estimate("ir_bps"));
    let first = rates.next()?;
    Some(Headline::new(
        "information rate (l2)",
        rates.fold(first, |sum, bps| sum + bps),
        Headline::BITS,
    ))
}

/// How many services passed; `None` where the test failed, since its first reason counts those that did.
pub(super) fn sentence(found: &Found<'_>) -> Option<String> {
    let services = PERFORMANCE.kind.among(found.steps);
    let all = services.clone().count();
    let passed = services.filter(|step| step.word("status") == "pass").count();
    let says_it = passed == all && all > 0 && !found.has_failed;
    says_it.then(|| format!("{passed} of {all} services and directions met their criteria"))
}

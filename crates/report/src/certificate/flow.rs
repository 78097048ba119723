//! A run of flows on a certificate: each flow, its rates by layer, its course, the profile.

use fp_method::flow::{FLOW, PROFILE};

use super::{drawn, named, of_kind};
use crate::chart::{HALF, WHOLE, course, profile};
use crate::document::{Block, Figure};
use crate::stored::fields::Fields;

/// With more flows only classes and sums are shown.
const ROWS_MAX: usize = 64;
const COURSES_MAX: usize = 6;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let flows = shown(&named(steps, FLOW.kind.name));
    let mut blocks = of_kind(&FLOW.kind, &flows);
    blocks.extend(of_kind(&PROFILE.kind, steps));
    let profiles = named(steps, PROFILE.kind.name);
    blocks.extend(drawn(profiles.iter().filter_map(|step| profile::figure(*step)).collect()));
    // One alone has the whole width.
    let width = if flows.len() == 1 { WHOLE } else { HALF };
    let figures: Vec<Figure> = flows
        .iter()
        .take(COURSES_MAX)
        .filter_map(|flow| {
            let name = format!("{}, {}", flow.word("flow"), flow.word("direction"));
            course::figure(&name, *flow, &course::Asked::default(), width)
        })
        .collect();
    blocks.extend(drawn(figures));
    blocks
}

/// Classes in place of their flows, sums last.
fn shown<'a>(flows: &[Fields<'a>]) -> Vec<Fields<'a>> {
    let has_classes = flows.iter().any(|flow| flow.word("part") == "class");
    let single = flows.iter().filter(|flow| flow.word("part") == "flow").count();
    let is_row = |flow: &Fields<'_>| match flow.word("part") {
        "flow" => single <= ROWS_MAX && (!has_classes || flow.word("class").is_empty()),
        _ => true,
    };
    flows.iter().copied().filter(is_row).collect()
}

//! An RFC 6349 run on a certificate: the window walk, the throughput trials, their course.

use fp_method::rfc6349::{METRICS, TCP, THROUGHPUT, WALK};
use fp_model::figure::{self, capital};

use super::{drawn, named};
use crate::build::{self, ReadStep};
use crate::chart::{HALF, course, pairs};
use crate::document::{Block, Figure};
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let tcp = build::read_steps(&TCP.kind, steps);
    add(&mut blocks, &WALK, &tcp);
    let walked = tcp.iter().map(|(_, row)| row);
    blocks.extend(drawn(pairs::figures(&pairs::WALKED, walked)));
    let trials = add(&mut blocks, &THROUGHPUT, &tcp);
    add(&mut blocks, &METRICS, &tcp);
    let baseline_us = named(steps, "baseline_rtt")
        .first()
        .and_then(|step| step.number("rtt_min_ms"))
        .map(|milliseconds| milliseconds * 1e3);
    let figures: Vec<Figure> = trials
        .iter()
        .filter_map(|step| {
            let asked = course::Asked { ideal_bps: step.number("ideal_bps"), baseline_us };
            course::figure(&name(*step), *step, &asked, HALF)
        })
        .collect();
    blocks.extend(drawn(figures));
    blocks
}

/// Adds a table of TCP steps; the steps that have a row in it.
fn add<'a>(
    blocks: &mut Vec<Block>,
    table: &figure::Table,
    steps: &[ReadStep<'a>],
) -> Vec<Fields<'a>> {
    let mut shown = Vec::new();
    for (table, steps) in build::tables(table, steps) {
        blocks.push(Block::Table(table));
        shown.extend(steps);
    }
    shown
}

/// A trial in a few words.
fn name(step: Fields<'_>) -> String {
    let both =
        if step.word("direction") == "bidirectional" { ", both directions loaded" } else { "" };
    format!("{}{both}, {} sender", capital(step.word("flow_direction")), step.word("sender"))
}

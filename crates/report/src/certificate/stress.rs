//! A run of very many connections on a certificate: how many there were over time, how long they took.

use fp_method::stress::STRESS;

use super::{named, of_kind};
use crate::chart::active;
use crate::document::{Block, Figure};
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let steps = named(steps, STRESS.kind.name);
    let figures: Vec<Figure> = steps.iter().filter_map(|step| active::figure(*step)).collect();
    if !figures.is_empty() {
        blocks.push(Block::Figures(figures));
    }
    blocks.extend(of_kind(&STRESS.kind, &steps));
    blocks
}

//! A run of very many connections on a certificate: how many there were over time, how long they took.

use fp_method::stress::STRESS;

use super::{drawn, named, of_kind};
use crate::chart::active;
use crate::document::Block;
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let steps = named(steps, STRESS.kind.name);
    let figures = drawn(steps.iter().filter_map(|step| active::figure(*step)).collect());
    figures.into_iter().chain(of_kind(&STRESS.kind, &steps)).collect()
}

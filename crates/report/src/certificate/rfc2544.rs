//! An RFC 2544 run on a certificate: a table and a graph for each test, as the RFC reports them.

use fp_method::rfc2544::{APPLICABILITY, BACK_TO_BACK, FRAME_LOSS, LATENCY, RECOVERY, THROUGHPUT};
use fp_model::figure::Kind;

use super::{drawn, named, of_kind};
use crate::chart::rates;
use crate::document::{Block, Figure};
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = vec![Block::Text(String::from(APPLICABILITY))];
    let mut add = |kind: &Kind, draw: fn(&[Fields<'_>]) -> Vec<Figure>| {
        blocks.extend(of_kind(kind, steps));
        blocks.extend(drawn(draw(&named(steps, kind.name))));
    };
    add(&THROUGHPUT.kind, rates::throughput);
    add(&LATENCY.kind, |_| Vec::new());
    add(&FRAME_LOSS.kind, rates::loss);
    add(&BACK_TO_BACK.kind, |_| Vec::new());
    add(&RECOVERY.kind, |_| Vec::new());
    blocks
}

//! An RFC 7640 run on a certificate: the tables of each kind of device, bursts first, then TCP.

use fp_method::rfc7640::{CAPACITY, POLICER, QUEUE, SCHEDULER, SHAPER};

use super::of_kind;
use crate::document::Block;
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let kinds =
        [&POLICER.kind, &QUEUE.kind, &SCHEDULER.kind, &SHAPER.kind, &CAPACITY.kind].into_iter();
    kinds.flat_map(|kind| of_kind(kind, steps)).collect()
}

//! A burst test on a certificate: the tables of the CBS and the policing test, the estimated buckets.

use fp_method::burst::{CBS, POLICING};

use super::{drawn, named, of_kind};
use crate::chart::buckets;
use crate::document::Block;
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>], plan: Fields<'_>) -> Vec<Block> {
    let mut blocks = of_kind(&CBS.kind, steps);
    blocks.extend(of_kind(&POLICING.kind, steps));
    let policing = named(steps, POLICING.kind.name);
    blocks.extend(drawn(buckets::figures(&policing, plan.number("tolerance_percent"))));
    blocks
}

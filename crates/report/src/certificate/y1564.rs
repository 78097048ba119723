//! A service activation test on a certificate: all services at once, then each by itself.

use fp_method::y1564::{CONFIGURATION, PERFORMANCE};

use super::{drawn, named, of_kind};
use crate::chart::services;
use crate::document::Block;
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = of_kind(&PERFORMANCE.kind, steps);
    blocks.extend(drawn(services::figures(&named(steps, PERFORMANCE.kind.name))));
    blocks.extend(of_kind(&CONFIGURATION.kind, steps));
    blocks
}

//! A service activation test on a certificate: all services at once, then each by itself.

use fp_method::y1564::{CONFIGURATION, PERFORMANCE};

use super::{drawn, of_kind};
use crate::build;
use crate::chart::pairs;
use crate::document::Block;
use crate::stored::fields::Fields;

pub(super) fn blocks(steps: &[Fields<'_>]) -> Vec<Block> {
    let mut blocks = of_kind(&PERFORMANCE.kind, steps);
    let services = build::read_steps(&PERFORMANCE.kind, steps);
    let services = services.iter().map(|(_, row)| row);
    blocks.extend(drawn(pairs::figures(&pairs::SERVICES, services)));
    blocks.extend(of_kind(&CONFIGURATION.kind, steps));
    blocks
}

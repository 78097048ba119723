//! What stands for a run: the throughput of the largest frames.

use alloc::format;

use fp_model::figure::{Headline, Row};

use super::THROUGHPUT;

pub(super) fn headline(steps: &[Row]) -> Option<Headline> {
    let found = THROUGHPUT
        .kind
        .among(steps)
        .filter_map(|step| Some((step.estimate("frame_bytes")?, step.estimate("rate_l2_bps")?)));
    let (frame_bytes, bps) = found.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(Headline::new(format!("throughput (l2) of {frame_bytes} bytes"), bps, Headline::BITS))
}

//! A policer, with real frames.

use crate::across::run;
use crate::cases::rfc7640;

#[test]
pub(super) fn a_policer_passes_its_bursts_and_no_larger_ones() {
    rfc7640::a_policer_passes_its_bursts_and_no_larger_ones(run);
}

//! Bursts of real frames.

use crate::across::run;
use crate::cases::burst;

#[test]
pub(super) fn a_policer_passes_its_bursts_and_is_measured() {
    burst::rows_of_the_note(run, &[512, 1518]);
}

//! Bursts of real frames.

use crate::across::run;
use crate::cases::burst;

#[test]
fn a_policer_passes_its_bursts_and_no_larger_ones() {
    burst::rows_of_the_note_with_any_sender(run, &[512, 1518]);
}

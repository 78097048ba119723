//! A policer, with real frames.

use crate::across::run;
use crate::cases::rfc7640;

#[test]
pub(super) fn a_policer_passes_its_bursts_with_any_sender() {
    rfc7640::a_policer_passes_its_bursts_with_any_sender(run);
}

//! A policer, with real frames.

use crate::across::run;
use crate::cases::rfc2544;

#[test]
pub(super) fn a_policer_is_found_at_every_length() {
    rfc2544::a_policer_is_found_at_every_length(run);
}

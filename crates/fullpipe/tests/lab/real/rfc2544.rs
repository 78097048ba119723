//! A policer, with real frames.

use crate::across::run;
use crate::cases::rfc2544;

#[test]
fn a_policer_is_found() {
    rfc2544::a_policer_is_found(run);
}

//! A port that is what was sold, with real traffic.

use crate::across::run;
use crate::cases::y1564;

#[test]
pub(super) fn three_services_side_by_side_have_what_was_sold() {
    y1564::three_services_side_by_side_have_what_was_sold(run);
}

//! The whole test, with real traffic between real TCP stacks.

use crate::across::run;
use crate::cases::rfc6349;

#[test]
fn a_line_of_100_mbit_is_found() {
    rfc6349::a_line_of_100_mbit_is_found(run);
}

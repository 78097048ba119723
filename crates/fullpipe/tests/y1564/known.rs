//! Services that are not what was sold, over the lab.

use super::lab::{SHORT, best_of_three, sold};
use super::result::Finished;

/// A policer that lets too much pass is simulated only.
#[test]
fn of_three_services_exactly_the_misconfigured_one_fails() {
    let profile = "dscp: ef, cir: 2M, cbs: 16K";
    let cases = [
        ("dscp: ef, cir: 1.8M, cbs: 16K", &["flr_exceeded", "ir_low"][..]),
        ("dscp: ef, cir: 2M, cbs: 12K", &["flr_exceeded"][..]),
    ];
    for (configured, codes) in cases {
        let port = sold().network(profile, configured);
        let is_right = |run: &Finished| run.otherwise_than_failed("voice", codes).is_none();
        let run = best_of_three(|| port.in_the_lab(&SHORT), is_right);
        run.only_failed("voice", codes);
    }
}

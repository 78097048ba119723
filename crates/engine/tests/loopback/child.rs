//! An end in a process of its own, to be killed or stopped: this test program once more.

use fp_engine::control::Pairing;
use fp_model::Testbed as _;

use crate::real::control::far_end::{FarEnd, LOOPBACK, connect, long_trial};

/// Says to a child which end it is to be; to a near end, with whom.
pub(crate) const FAR: &str = "FULLPIPE_TEST_FAR_END";
pub(crate) const NEAR: &str = "FULLPIPE_TEST_NEAR_END";
/// Before what a child says to its parent: the test harness prints lines of its own.
pub(crate) const SAYS: &str = "child says: ";

/// Not a test, and of no tier: what a child does.
#[test]
fn end() {
    if std::env::var_os(FAR).is_some() {
        let far = FarEnd::at(LOOPBACK);
        println!("\n{SAYS}{}", far.pairing);
        // Until the parent kills us, or is gone itself.
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    } else if let Ok(pairing) = std::env::var(NEAR) {
        let outcome = connect(&Pairing::parse(&pairing).unwrap()).unwrap().run(&long_trial());
        println!("\n{SAYS}{outcome:?}");
    }
}

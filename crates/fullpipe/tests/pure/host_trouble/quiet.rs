//! Quiet hosts: no check of the tester speaks against them.

use fp_method::verdict::Status;
use fp_net::sim::Trouble;

use super::subject::{Network, Subject};

#[test]
fn no_check_of_any_method_fails_between_quiet_hosts() {
    for subject in Subject::ALL {
        for (network, expected) in [(Network::Right, Status::Pass), (Network::Wrong, Status::Fail)]
        {
            for seed in 0..3 {
                let outcome = subject.run(network, Trouble::default(), seed);
                let about = format!("{subject:?}, {network:?}, {seed}: {:#?}", outcome.verdict);
                outcome.end.unwrap_or_else(|why| panic!("{about}: {why}"));
                assert!(outcome.checks.iter().all(|check| check.ok), "{about}");
                // Without a rate that was asked for, a slower line is no failure.
                let is_judged = network == Network::Right || subject != Subject::Rfc6349;
                assert_eq!(outcome.verdict.status == expected, is_judged, "{about}");
            }
        }
    }
}

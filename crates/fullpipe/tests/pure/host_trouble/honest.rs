//! Troubles of honest hosts, many of them: whatever they are, no verdict is wrong and called valid.

use fp_method::verdict::Status;
use fp_net::sim::{Severity, Trouble};

use super::subject::{Network, Outcome, Subject};

/// A wrong verdict, in words.
fn wrong(subject: Subject, network: Network, outcome: &Outcome) -> Option<String> {
    let status = outcome.verdict.status;
    let is_wrong = match network {
        Network::Right => status == Status::Fail,
        // Nobody asked RFC 6349 for a rate: it measures the slower line.
        Network::Wrong => status == Status::Pass && subject != Subject::Rfc6349,
    };
    let is_valid = matches!(status, Status::Pass | Status::Fail | Status::Info);
    let far_off = outcome.rate_share.filter(|share| (share - 1.0).abs() > 0.01);
    if is_valid && let Some(share) = far_off {
        return Some(format!("{share:.4} of the true rate, {status}"));
    }
    is_wrong.then(|| {
        let reasons = outcome.verdict.reasons.iter();
        let texts: Vec<_> = reasons.map(|reason| reason.text.as_str()).collect();
        format!("{status}: {}", texts.join("; "))
    })
}

/// How many of the runs decided something, and what was wrong.
fn under(severity: Severity, seeds: u64) -> (usize, Vec<String>) {
    let (mut decided, mut all) = (0, Vec::new());
    for subject in Subject::ALL {
        for network in [Network::Right, Network::Wrong] {
            for seed in 0..seeds {
                let outcome = subject.run(network, Trouble::drawn(seed, severity), seed);
                decided += usize::from(matches!(
                    outcome.verdict.status,
                    Status::Pass | Status::Fail | Status::Info
                ));
                let said = wrong(subject, network, &outcome);
                all.extend(said.map(|said| format!("{subject:?}, {network:?}, {seed}: {said}")));
            }
        }
    }
    (decided, all)
}

#[test]
fn no_verdict_is_wrong_between_hosts_that_do_other_things_too() {
    let (decided, wrong) = under(Severity::Mild, 4);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided > 0, "not one run decided anything");
}

#[test]
fn no_verdict_is_wrong_between_crowded_hosts() {
    let (decided, wrong) = under(Severity::Heavy, 4);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided > 0, "not one run decided anything");
}

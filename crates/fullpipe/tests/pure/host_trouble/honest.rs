//! Troubles of honest hosts, many of them: whatever they are, no verdict is wrong and called valid.

use fp_method::rfc2544::{self, Limit, Step};
use fp_method::verdict::Status;
use fp_model::{Family, Rate};
use fp_net::path::{LinkSpec, PathSpec, PoliceSpec};
use fp_net::sim::{Severity, SimTestbed, Trouble};

use super::faults::{far, takes};
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

/// A policer of 60 Mbit/s passes 14,648 frames of 512 bytes a second. The far end has room for the trains that show
/// that, and drops frames of every trial of a second, because it takes 13,000.
#[test]
fn a_trial_that_the_receiver_spoilt_does_not_bound_the_throughput() {
    let police = Some(PoliceSpec::single_bucket(Rate::mbps(60), 50_000));
    let link = LinkSpec { line_rate: Some(Rate::mbps(1000)), police, ..LinkSpec::default() };
    let path = PathSpec::symmetric("policed", vec![link]);
    let plan = rfc2544::Plan {
        tests: vec![rfc2544::Test::Throughput],
        frame_lengths_bytes: vec![512],
        ..rfc2544::Plan::new(Family::Ipv4, 1500)
    };
    let mut bed = SimTestbed::new(&path, 1).with_trouble(far(takes(13_000, 1000)));
    let (report, end) = rfc2544::run(&plan, &mut bed);
    end.unwrap();
    // Frames of the MTU are fewer than the receiver takes.
    let of_512 = report.steps.iter().filter_map(|step| match step {
        Step::Throughput(found) if found.frame_bytes == 512 => Some(found),
        _ => None,
    });
    let limits: Vec<_> = of_512.clone().map(|found| found.limit).collect();
    assert_eq!(limits, [Limit::Network, Limit::Tester]);
    let carried = 60e6 / (512.0 * 8.0);
    for found in of_512 {
        let at_least = found.at_least.unwrap().frames_per_second();
        assert!(at_least <= carried, "{found:?}");
        assert!(found.at_most.is_none_or(|most| most.frames_per_second() >= carried), "{found:?}");
    }
}

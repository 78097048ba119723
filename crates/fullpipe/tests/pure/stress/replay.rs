//! A result can be judged again from its evidence, without the network.

use fp_method::stress::{self, Plan};
use fp_report::Work;
use serde_json::Value;

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| Work::run(&stress::METHOD, plan, bed))
}

fn recorded(name: &str) -> Value {
    serde_json::from_str(&crate::recorded::text(name)).unwrap()
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    for name in ["stress-sim", "stress-slow-sim", "stress-lab"] {
        let result = recorded(name);
        crate::judged::expect_the_same(&result, &judged_again(&result, |_| {}));
    }
}

/// The round trip takes 20 ms: no handshake is shorter.
#[test]
fn another_criterion_gives_another_verdict_on_the_same_evidence() {
    let result = recorded("stress-sim");
    assert_eq!(result["verdict"]["status"], "pass", "{:#}", result["verdict"]);
    let shorter = std::time::Duration::from_millis(19);
    let again = judged_again(&result, |plan| plan.criteria.handshake_p99_max = Some(shorter));
    assert_eq!(again["verdict"]["status"], "fail");
    assert_eq!(again["verdict"]["reasons"][0]["code"], "handshake_slow");
}

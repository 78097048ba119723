//! A result can be judged again from its evidence, without the network.

use fp_method::rfc6349::{self, Plan};
use fp_report::Work;
use serde_json::Value;

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| Work::run(&rfc6349::METHOD, plan, bed))
}

fn recorded(name: &str) -> Value {
    serde_json::from_str(&crate::recorded::text(name)).unwrap()
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    for name in ["rfc6349-sim", "rfc6349-bucket-sim", "rfc6349-lab", "rfc6349-bucket-lab"] {
        let result = recorded(name);
        crate::judged::expect_the_same(&result, &judged_again(&result, |_| {}));
    }
}

#[test]
fn other_thresholds_give_another_verdict_on_the_same_evidence() {
    let result = recorded("rfc6349-bucket-sim");
    assert_eq!(result["verdict"]["status"], "fail");
    let again = judged_again(&result, |plan| plan.thresholds.throughput_percent = 1.0);
    assert_eq!(again["verdict"]["status"], "pass");
}

//! A result can be judged again from its evidence, without the network.

use fp_method::burst::{self, Plan};
use fp_report::Work;
use serde_json::Value;

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| Work::run(&burst::METHOD, plan, bed))
}

fn recorded(name: &str) -> Value {
    serde_json::from_str(&crate::recorded::text(name)).unwrap()
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    for name in
        ["burst-sim", "burst-50k-sim", "burst-discover-sim", "burst-lab", "burst-discover-lab"]
    {
        let result = recorded(name);
        crate::judged::expect_the_same(&result, &judged_again(&result, |_| {}));
    }
}

/// A bucket of 64,000 bytes that was sold as one of 65,000 is off by 1.5 %: within two percent, not
/// within one. The bursts of both are the same.
#[test]
fn another_tolerance_gives_another_verdict_on_the_same_evidence() {
    let result = recorded("burst-65k-sim");
    let status =
        |result: &Value| result["steps"].as_array().unwrap().last().unwrap()["pass"].clone();
    assert_eq!(status(&result), true, "{}", result["steps"]);
    let again = judged_again(&result, |plan| plan.tolerance_percent = 1.0);
    assert_eq!(status(&again), false);
}

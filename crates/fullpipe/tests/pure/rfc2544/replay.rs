//! A result can be judged again from its evidence, without the network.

use fp_method::rfc2544::{self, LeastThroughput, Plan, Threshold};
use fp_report::Work;
use serde_json::Value;

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| Work::run(&rfc2544::METHOD, plan, bed))
}

fn recorded(name: &str) -> Value {
    serde_json::from_str(&crate::recorded::text(name)).unwrap()
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    for name in ["rfc2544-sim", "rfc2544-latency-sim", "rfc2544-lab"] {
        let result = recorded(name);
        crate::judged::expect_the_same(&result, &judged_again(&result, |_| {}));
    }
}

#[test]
fn other_criteria_give_another_verdict_on_the_same_evidence() {
    let result = recorded("rfc2544-sim");
    assert_eq!(result["verdict"]["status"], "info");
    let at_least = Threshold::Percent { percent_of_line: 50.0 };
    let asked = LeastThroughput { frame_bytes: None, at_least };
    let again = judged_again(&result, |plan| plan.criteria.throughput.push(asked));
    assert_eq!(again["verdict"]["status"], "fail");
}

//! A result can be judged again from its evidence, without the network.

use fp_method::y1564::{self, Plan};
use fp_report::Work;
use serde_json::Value;

fn recorded(name: &str) -> Value {
    serde_json::from_str(&crate::recorded::text(name)).unwrap()
}

/// Across the lab and in virtual time.
#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    for name in ["y1564-sim", "y1564-loss-sim", "y1564-lab"] {
        let result = recorded(name);
        crate::judged::expect_the_same(&result, &judged_again(&result, |_| {}));
    }
}

#[test]
fn other_criteria_give_another_verdict_on_the_same_evidence() {
    let result = recorded("y1564-sim");
    assert_eq!(result["verdict"]["status"], "pass");
    let stricter = |plan: &mut Plan| {
        let y1564::Traffic::Frames(frames) = &mut plan.services[0].traffic else { panic!() };
        frames.criteria.ftd = Some(std::time::Duration::from_millis(1));
    };
    let again = judged_again(&result, stricter);
    assert_eq!(again["verdict"]["status"], "fail");
    assert_eq!(again["verdict"]["reasons"][0]["text"], "1 of 3 services failed: voice");
}

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| Work::run(&y1564::METHOD, plan, bed))
}

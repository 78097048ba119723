//! A result can be judged again from its evidence, without the network.

use fp_method::rfc6349::{self, Plan};
use fp_report::Work;
use serde_json::Value;

fn judged_again(result: &Value, change: impl FnOnce(&mut Plan)) -> Value {
    crate::judged::again(result, change, |plan: Plan, bed| {
        let (report, end) = rfc6349::run(&plan, bed);
        (Work::Rfc6349 { plan, report }, end)
    })
}

#[test]
fn the_evidence_of_a_run_gives_the_same_report_to_the_last_byte() {
    let run = crate::result::run(&["sim", "metro-40m-cbs64k", "test", "-q"]);
    crate::judged::expect_the_same(&run.result, &judged_again(&run.result, |_| {}));
}

#[test]
fn other_thresholds_give_another_verdict_on_the_same_evidence() {
    let run = crate::result::run(&["sim", "metro-40m-cbs64k", "test", "-q"]);
    assert_eq!(run.status(), "fail");
    let again = judged_again(&run.result, |plan| plan.thresholds.throughput_percent = 1.0);
    assert_eq!(again["verdict"]["status"], "pass");
}

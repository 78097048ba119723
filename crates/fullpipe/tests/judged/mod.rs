//! Judges a result again from its evidence, without the network.

use fp_model::{Abort, Evidence, HostFacts, Replay};
use fp_report::Work;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The document that `judge`, a method, makes of the evidence and the changed plan of `result`.
pub(crate) fn again<Plan: DeserializeOwned>(
    result: &Value,
    change: impl FnOnce(&mut Plan),
    judge: impl FnOnce(Plan, &mut Replay) -> (Work, Result<(), Abort>),
) -> Value {
    let mut plan: Plan = serde_json::from_value(result["plan"].clone()).unwrap();
    let evidence: Vec<Evidence> = serde_json::from_value(result["evidence"].clone()).unwrap();
    change(&mut plan);
    let (work, end) = judge(plan, &mut Replay::of(evidence.clone()));
    end.unwrap();
    fp_report::json(&fp_report::Run {
        id: String::new(),
        started: String::new(),
        lasted: std::time::Duration::ZERO,
        across: String::new(),
        labels: fp_report::Labels::default(),
        near: HostFacts::default(),
        far: HostFacts::default(),
        work,
        evidence,
    })
}

/// All that follows from plan and evidence, to the last byte.
pub(crate) fn expect_the_same(result: &Value, again: &Value) {
    for part in ["plan", "verdict", "validity", "steps", "deviations", "evidence"] {
        assert_eq!(result[part].to_string(), again[part].to_string(), "{part}");
    }
}

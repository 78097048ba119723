//! `fullpipe.result/1` and its stream of events: every figure under a name that carries its unit.

mod schema;

use std::time::Duration;

use fp_method::verdict::{self, Check, Reason};
use fp_model::figure;
use fp_model::{Clocks, Evidence, HostFacts};
use serde_json::{Value, json};

pub use schema::result_schema;

use crate::{Outcome, Run, Work};

const SCHEMA: &str = "fullpipe.result/1";

/// The whole result as one JSON document.
pub fn json(run: &Run) -> Value {
    let Outcome { verdict, checks, deviations, events } = run.work.outcome();
    json!({
        "schema": SCHEMA,
        "id": run.id,
        "method": run.work.method().name,
        "started": run.started,
        "duration_s": run.lasted.as_secs_f64(),
        "across": run.across,
        "labels": run.labels,
        "tool": {"name": "fullpipe", "version": run.near.version},
        "near": host(&run.near),
        "far": host(&run.far),
        "clocks": clocks(&run.evidence),
        "plan": run.work.plan_in_json(),
        "verdict": {
            "status": verdict.status.to_string(),
            "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>(),
        },
        "validity": {
            "ok": checks.iter().all(|check| check.ok),
            "checks": checks.iter().map(check).collect::<Vec<_>>(),
        },
        "steps": run.work.steps_in_json(),
        "diagnosis": null,
        "deviations": deviations,
        "events": events.iter().map(event).collect::<Vec<_>>(),
        "evidence": run.evidence,
    })
}

/// What the sentence on a verdict is made of.
pub(crate) fn brief(work: &Work) -> Value {
    let verdict = work.outcome().verdict;
    json!({
        "method": work.method().name,
        "verdict": {
            "status": verdict.status.to_string(),
            "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>(),
        },
        "steps": work.steps_in_json(),
    })
}

fn host(facts: &HostFacts) -> Value {
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    json!({
        "name": facts.name,
        "kernel": known(&facts.kernel),
        "processors": (facts.processors > 0).then_some(facts.processors),
        "version": known(&facts.version),
        "clock_source": known(&facts.clock_source),
        "congestion_control": known(&facts.congestion_control),
    })
}

/// How the two ends' clocks stood to each other: at the first trial that knows, and at worst.
fn clocks(evidence: &[Evidence]) -> Value {
    let known = || evidence.iter().filter_map(|trial| trial.observation.clocks);
    let Some(first) = known().next() else { return Value::Null };
    let moved = |clocks: Clocks| clocks.offset_ns.wrapping_sub(first.offset_ns).unsigned_abs();
    let moved_ns = known().map(moved).max().unwrap_or_default();
    let error = known().map(|clocks| clocks.error).max().unwrap_or_default();
    json!({
        "offset_us": first.offset_ns as f64 / 1e3,
        "offset_moved_us": moved_ns as f64 / 1e3,
        "error_us": error.as_nanos() as f64 / 1e3,
        "trials": known().count(),
    })
}

fn reason(reason: &Reason) -> Value {
    json!({"code": reason.code.word(), "text": reason.text, "step": reason.step})
}

fn event(event: &verdict::Event) -> Value {
    json!({
        "at_s": event.at.map(|at| at.as_secs_f64()),
        "trial": event.trial,
        "code": event.code.word(),
        "lasts_s": event.lasts.map(|lasts| lasts.as_secs_f64()),
    })
}

fn check(check: &Check) -> Value {
    json!({
        "name": check.name.word(),
        "ok": check.ok,
        "value": check.value,
        "limit": check.limit,
        "unit": check.unit,
    })
}

/// One line of the stream: what has just happened, `t_s` after the run began.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    Testbed(&'a fp_model::Event),
    /// The end of the run, with the whole result.
    Result(&'a Run),
}

/// An event as JSON; every line is one document.
pub fn json_event(event: Event<'_>, since_start: Duration) -> Value {
    let t_s = since_start.as_secs_f64();
    match event {
        Event::Testbed(fp_model::Event::Started(trial)) => {
            json!({"event": "trial_started", "t_s": t_s, "trial": trial})
        }
        Event::Testbed(fp_model::Event::Sampled { flow, direction, sample: slot }) => json!({
            "event": "sample",
            "t_s": t_s,
            "flow": flow,
            "direction": direction,
            "sample": figure::slot(slot),
        }),
        Event::Testbed(fp_model::Event::Counted { flow, direction, sample }) => json!({
            "event": "sample",
            "t_s": t_s,
            "flow": flow,
            "direction": direction,
            "sample": figure::connections_slot(sample),
        }),
        Event::Testbed(fp_model::Event::Finished(observation)) => {
            json!({"event": "trial_finished", "t_s": t_s, "observation": observation})
        }
        Event::Result(run) => json!({"event": "result", "t_s": t_s, "result": json(run)}),
    }
}

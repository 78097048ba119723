//! `fullpipe.result/1` and its stream of events: every figure under a name that carries its unit.

mod schema;

use std::time::Duration;

use fp_method::verdict::{self, Check, Reason};
use fp_method::{burst, flow, rfc2544, rfc6349, rfc7640, stress, y1564};
use fp_model::figure::{self, Row};
use fp_model::{Clocks, Evidence, HostFacts};
use serde_json::{Value, json};

pub use schema::result_schema;

use crate::{Run, Work};

const SCHEMA: &str = "fullpipe.result/1";

/// The whole result as one JSON document.
pub fn json(run: &Run) -> Value {
    let (verdict, checks, deviations) = run.work.outcome();
    json!({
        "schema": SCHEMA,
        "id": run.id,
        "method": run.work.method().name(),
        "started": run.started,
        "duration_s": run.lasted.as_secs_f64(),
        "across": run.across,
        "labels": run.labels,
        "tool": {"name": "fullpipe", "version": run.near.version},
        "near": host(&run.near),
        "far": host(&run.far),
        "clocks": clocks(&run.evidence),
        "plan": plan(&run.work),
        "verdict": {
            "status": verdict.status.to_string(),
            "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>(),
        },
        "validity": {
            "ok": checks.iter().all(|check| check.ok),
            "checks": checks.iter().map(check).collect::<Vec<_>>(),
        },
        "steps": steps(&run.work),
        "diagnosis": null,
        "deviations": deviations,
        "events": run.work.events().iter().map(event).collect::<Vec<_>>(),
        "evidence": run.evidence,
    })
}

/// What the sentence on a verdict is made of.
pub(crate) fn brief(work: &Work) -> Value {
    let (verdict, ..) = work.outcome();
    json!({
        "method": work.method().name(),
        "verdict": {
            "status": verdict.status.to_string(),
            "reasons": verdict.reasons.iter().map(reason).collect::<Vec<_>>(),
        },
        "steps": steps(work),
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

fn plan(work: &Work) -> Value {
    match work {
        Work::Flow { plan, .. } => json!(plan),
        Work::Rfc2544 { plan, .. } => json!(plan),
        Work::Rfc6349 { plan, .. } => json!(plan),
        Work::Y1564 { plan, .. } => json!(plan),
        Work::Burst { plan, .. } => json!(plan),
        Work::Rfc7640 { plan, .. } => json!(plan),
        Work::Stress { plan, .. } => json!(plan),
    }
}

pub(crate) fn steps(work: &Work) -> Vec<Value> {
    let step = |(place, row): (usize, Row)| {
        let mut step = json!(row);
        if row.kind.is_judged {
            step["pass"] = json!(is_met(work, place));
        }
        step
    };
    match work {
        Work::Flow { report, .. } => of_steps(&report.steps, flow::Step::row, step),
        Work::Rfc2544 { report, .. } => of_steps(&report.steps, rfc2544::Step::row, step),
        Work::Rfc6349 { report, .. } => of_steps(&report.steps, rfc6349::Step::row, step),
        Work::Y1564 { report, .. } => of_steps(&report.steps, y1564::Step::row, step),
        Work::Burst { report, .. } => of_steps(&report.steps, burst::Step::row, step),
        Work::Rfc7640 { report, .. } => of_steps(&report.steps, rfc7640::Step::row, step),
        Work::Stress { report, .. } => of_steps(&report.steps, stress::Step::row, step),
    }
}

fn of_steps<S>(
    steps: &[S],
    row: fn(&S) -> Row,
    value: impl Fn((usize, Row)) -> Value,
) -> Vec<Value> {
    steps.iter().map(row).enumerate().map(value).collect()
}

/// Whether the step at a place meets what was asked of it; `None` where nothing was, or where it could
/// not be seen.
fn is_met(work: &Work, place: usize) -> Option<bool> {
    match work {
        Work::Flow { plan, report } => flow::is_met(plan, report, place),
        Work::Rfc2544 { plan, report } => rfc2544::is_met(plan, &report.steps, place),
        Work::Rfc6349 { plan, report } => rfc6349::is_met(plan, &report.steps, place),
        Work::Rfc7640 { plan, report } => rfc7640::is_met(plan, &report.steps, place),
        Work::Stress { plan, report } => stress::is_met(plan, report, place),
        // Their steps say it themselves.
        Work::Burst { .. } | Work::Y1564 { .. } => None,
    }
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

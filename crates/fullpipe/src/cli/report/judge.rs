//! Judges a stored result again, from its evidence and without the network.
//!
//! The new result confirms the document where it says all that the document says: an older fullpipe
//! did not know every field of today. With other thresholds it has another verdict, and the document
//! then says that it was judged again.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_method::{burst, flow, rfc2544, rfc6349, rfc7640, stress, y1564};
use fp_model::{Abort, Evidence, HostFacts, Replay};
use fp_report::{Run, Stored, Work};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// What follows from plan and evidence.
const FOLLOWS: [&str; 6] = ["plan", "verdict", "validity", "steps", "diagnosis", "deviations"];

/// A field of a plan, by its path, with another value.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    path: Vec<String>,
    value: Value,
}

/// Of `thresholds.throughput_percent=80`.
///
/// # Errors
/// What is wrong with it and what is allowed.
pub(crate) fn change(text: &str) -> Result<Change, String> {
    let (path, value) = text
        .split_once('=')
        .filter(|(path, value)| !path.is_empty() && !value.is_empty())
        .ok_or_else(|| {
            String::from("a change has a field and a value: thresholds.efficiency_percent=99")
        })?;
    let path = path.split('.').map(str::to_owned).collect();
    // What is neither a number nor another word of JSON is text.
    let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    Ok(Change { path, value })
}

/// The result as the method of today sees it; `None` where its evidence is not all there is to it:
/// it was broken off, or is of a fullpipe that judged otherwise.
pub(crate) fn as_it_was(stored: &Stored) -> Option<Run> {
    let run = replayed(stored, stored.value()["plan"].clone()).ok()?;
    let again = fp_report::json(&run);
    let is_said = |part: &&str| {
        let then = stored.value().get(part);
        then.is_none_or(|then| says_all(&again[part], then))
    };
    FOLLOWS.iter().all(is_said).then_some(run)
}

/// Whether what is said today is all that was said then. An older fullpipe did not know every field
/// of today's.
fn says_all(today: &Value, then: &Value) -> bool {
    match (today, then) {
        (Value::Object(today), Value::Object(then)) => then.iter().all(|(field, then)| {
            let is_said = |today| {
                says_all(today, then)
                    || was_of_frames(field, today, then)
                    || has_more_checks(field, today, then)
            };
            today.get(field).is_some_and(is_said)
        }),
        (Value::Array(today), Value::Array(then)) => {
            let mut pairs = today.iter().zip(then);
            today.len() == then.len() && pairs.all(|(today, then)| says_all(today, then))
        }
        _ => today == then,
    }
}

/// A tester checks itself in more ways than it did once; none of them speaks against the run.
fn has_more_checks(field: &str, today: &Value, then: &Value) -> bool {
    let (Some(today), Some(then)) = (today.as_array(), then.as_array()) else { return false };
    let was_made = |check: &&Value| then.iter().any(|known| says_all(check, known));
    let (old, new): (Vec<&Value>, Vec<&Value>) = today.iter().partition(was_made);
    field == "checks" && old.len() == then.len() && new.iter().all(|check| check["ok"] == true)
}

/// Of frames, which are never sent again, it was once said that none were.
fn was_of_frames(field: &str, today: &Value, then: &Value) -> bool {
    field == "retransmitted_bytes" && today.is_null() && *then == 0
}

/// The result with other wishes.
///
/// # Errors
/// Which wish the plan does not know, or which the evidence has no answer to.
pub(crate) fn again(stored: &Stored, changes: &[Change]) -> anyhow::Result<Stored> {
    if stored.verdict() == "aborted" {
        return Err(anyhow!("this run was broken off: there is no whole evidence to judge again"));
    }
    let mut plan = stored.value()["plan"].clone();
    for change in changes {
        change.apply(&mut plan)?;
    }
    let run = replayed(stored, plan)?;
    let mut again = fp_report::json(&run);
    // What does not follow from plan and evidence stays as it was written, or unknown.
    let mut document = stored.value().clone();
    for part in FOLLOWS {
        document[part] = again[part].take();
    }
    let changed = changes.iter().map(|change| (change.path.join("."), change.value.clone()));
    document["judged_again"] = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "plan": changed.collect::<serde_json::Map<_, _>>(),
    });
    Ok(Stored::read(format!("{document:#}\n"))?)
}

impl Change {
    fn apply(&self, plan: &mut Value) -> anyhow::Result<()> {
        let mut place = plan;
        for (depth, name) in self.path.iter().enumerate() {
            let so_far = self.path[..depth].join(".");
            let inside = place.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>());
            let fields = inside.unwrap_or_default();
            place = place.get_mut(name.as_str()).ok_or_else(|| match fields.as_slice() {
                [] => anyhow!("the plan's '{so_far}' is a value and has no fields"),
                fields => {
                    let of = if depth == 0 { String::new() } else { format!(" '{so_far}'") };
                    anyhow!("the plan{of} has no field '{name}', it has {}", fields.join(", "))
                }
            })?;
        }
        *place = self.value.clone();
        Ok(())
    }
}

fn replayed(stored: &Stored, plan: Value) -> anyhow::Result<Run> {
    let value = stored.value();
    let evidence: Vec<Evidence> = serde_json::from_value(value["evidence"].clone())
        .context("the evidence of this result cannot be read")?;
    let (work, end) = judged(stored.method(), plan, &mut Replay::of(evidence.clone()))?;
    end.map_err(|abort| {
        anyhow!(
            "{abort}: with this plan something else would have been measured; thresholds can be \
             changed afterwards, what was sent cannot"
        )
    })?;
    Ok(Run {
        id: stored.id().to_owned(),
        started: stored.started().to_owned(),
        lasted: Duration::try_from_secs_f64(stored.duration_s()).unwrap_or_default(),
        across: stored.across().to_owned(),
        labels: stored.labels(),
        near: host(&value["near"]),
        far: host(&value["far"]),
        work,
        evidence,
    })
}

fn judged(
    method: &str,
    plan: Value,
    bed: &mut Replay,
) -> anyhow::Result<(Work, Result<(), Abort>)> {
    Ok(match method {
        "rfc6349" => Work::run(&rfc6349::METHOD, planned(plan)?, bed),
        "flow" => Work::run(&flow::METHOD, planned(plan)?, bed),
        "rfc2544" => Work::run(&rfc2544::METHOD, planned(plan)?, bed),
        "y1564" => Work::run(&y1564::METHOD, planned(plan)?, bed),
        "burst" => Work::run(&burst::METHOD, planned(plan)?, bed),
        "rfc7640" => Work::run(&rfc7640::METHOD, planned(plan)?, bed),
        "stress" => Work::run(&stress::METHOD, planned(plan)?, bed),
        other => return Err(anyhow!("'{other}' cannot be judged again by this fullpipe")),
    })
}

fn planned<Plan: DeserializeOwned>(plan: Value) -> anyhow::Result<Plan> {
    serde_json::from_value(plan).context("this is no plan of the method")
}

fn host(facts: &Value) -> HostFacts {
    let text = |field: &str| facts[field].as_str().unwrap_or_default().to_owned();
    let processors = facts["processors"].as_u64().and_then(|count| count.try_into().ok());
    HostFacts {
        name: text("name"),
        kernel: text("kernel"),
        processors: processors.unwrap_or_default(),
        version: text("version"),
        clock_source: text("clock_source"),
        congestion_control: text("congestion_control"),
    }
}

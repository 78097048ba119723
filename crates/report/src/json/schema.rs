//! The JSON Schema of results, `fullpipe.result/1`, made of the names of their steps' fields.

use std::collections::BTreeSet;

use fp_method::reason::Code;
use serde_json::{Map, Value, json};

use super::{SCHEMA, StepFields, step_fields};
use crate::Method;

/// Fields that hold words. Names end in their unit where they hold a number.
const WORDS: [&str; 40] = [
    "buffer_delay_grade",
    "cause",
    "charged_layer",
    "cir_layer",
    "class",
    "code",
    "congestion_control",
    "definition",
    "device",
    "direction",
    "ecn",
    "ecn_sent",
    "engine",
    "excess",
    "family",
    "flaw",
    "flow",
    "flow_direction",
    "found",
    "kind",
    "layer",
    "limit",
    "name",
    "part",
    "pattern",
    "probed_by",
    "profile",
    "role",
    "scheduler",
    "sender",
    "sent_by",
    "service",
    "skipped",
    "source",
    "status",
    "step",
    "text",
    "transport",
    "version",
    "way",
];

/// Fields that are true or false.
const FLAGS: [&str; 9] = [
    "abort",
    "black_hole",
    "conserved",
    "final",
    "is_limit",
    "overload_drops",
    "pass",
    "regular",
    "tester_limit",
];

/// The schema of a result of any method.
pub fn result_schema() -> Value {
    let methods: Vec<&str> = Method::ALL.iter().map(|method| method.name()).collect();
    // Some steps are of several methods.
    let mut steps: Vec<Value> = Vec::new();
    for fields in Method::ALL.iter().flat_map(|method| step_fields(*method)) {
        let of_step = step(fields);
        if !steps.contains(&of_step) {
            steps.push(of_step);
        }
    }
    let word = || json!({"type": ["string", "null"]});
    let host = json!({"type": ["object", "null"]});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA,
        "title": "A result of fullpipe",
        "type": "object",
        "required": [
            "schema", "id", "method", "started", "duration_s", "across", "tool", "near", "far", "plan",
            "verdict", "validity", "steps", "diagnosis", "evidence",
        ],
        "properties": {
            "schema": {"const": SCHEMA},
            "id": {"type": "string"},
            "method": {"enum": methods},
            "started": {"type": "string", "format": "date-time"},
            "duration_s": {"type": "number", "minimum": 0},
            "across": {"description": "What stood between the ends", "type": "string"},
            "labels": {"type": "object", "additionalProperties": word()},
            "tool": {
                "type": "object",
                "required": ["name", "version"],
                "properties": {"name": {"const": "fullpipe"}, "version": {"type": "string"}},
            },
            "near": host,
            "far": host,
            "clocks": {"description": "How the two ends' clocks stood to each other", "type": ["object", "null"]},
            "plan": {"description": "What was asked, defaults included", "type": "object"},
            "verdict": verdict(),
            "validity": validity(),
            "steps": {
                "description": "What was found, in the order in which it was",
                "type": "array",
                "items": {"anyOf": steps},
            },
            "diagnosis": {"type": ["object", "null"]},
            "deviations": {
                "description": "Where the run departs from the standard",
                "type": "array",
                "items": {"type": "string"},
            },
            "events": {
                "description": "What happened to trials, in the order of time; at_s counts from when trials could be run",
                "type": "array",
                "items": event(),
            },
            "evidence": {
                "description": "Every trial with what was observed, enough to judge again",
                "type": "array",
                "items": {"type": "object", "required": ["trial", "observation"]},
            },
        },
        "$defs": {"code": codes()},
    })
}

/// Every reason, with what it says and what its reader can do.
fn codes() -> Value {
    let code = |code: Code| {
        let title = match (code.is_finding(), code.is_check()) {
            (true, _) => "finding",
            (false, true) => "self-check",
            (false, false) => "reason",
        };
        json!({"const": code.word(), "title": title, "description": code.about().join("\n")})
    };
    json!({"oneOf": Code::all().map(code).collect::<Vec<_>>()})
}

fn event() -> Value {
    let seconds = || json!({"type": ["number", "null"], "minimum": 0});
    json!({
        "type": "object",
        "required": ["at_s", "trial", "code", "lasts_s"],
        "properties": {
            "at_s": seconds(),
            "trial": {"type": "string"},
            "code": {"$ref": "#/$defs/code"},
            "lasts_s": seconds(),
        },
    })
}

fn verdict() -> Value {
    json!({
        "type": "object",
        "required": ["status", "reasons"],
        "properties": {
            "status": {"enum": [
                "pass", "findings", "fail", "inconclusive", "invalid", "aborted", "info",
            ]},
            "reasons": {"type": "array", "items": {
                "type": "object",
                "required": ["code", "text", "step"],
                "properties": {
                    "code": {"$ref": "#/$defs/code"},
                    "text": {"type": "string"},
                    "step": {
                        "description": "Place among the steps, counted from 0",
                        "type": ["integer", "null"],
                        "minimum": 0,
                    },
                },
            }},
        },
    })
}

fn validity() -> Value {
    json!({
        "type": "object",
        "required": ["ok", "checks"],
        "properties": {
            "ok": {"type": "boolean"},
            "checks": {"type": "array", "items": {
                "type": "object",
                "required": ["name", "ok", "value", "limit", "unit"],
                "properties": {
                    "name": {"$ref": "#/$defs/code"},
                    "ok": {"type": "boolean"},
                    "value": {"type": ["number", "null"]},
                    "limit": {"type": ["number", "null"]},
                    "unit": {"type": "string"},
                },
            }},
        },
    })
}

/// The schema of one kind of step: no other fields, each of its type or unknown.
fn step(fields: &StepFields) -> Value {
    let paths: BTreeSet<String> = fields.paths().collect();
    let split: Vec<Vec<&str>> = paths.iter().map(|path| path.split('.').collect()).collect();
    let mut of_step = object(&split);
    of_step["properties"]["name"] = json!({"const": fields.step});
    of_step["required"] = json!(["name"]);
    of_step
}

/// The object that has these paths: its own fields, and what is inside of them.
fn object(paths: &[Vec<&str>]) -> Value {
    let names: BTreeSet<&str> = paths.iter().filter_map(|path| path.first().copied()).collect();
    let below = |name: &str| -> Vec<Vec<&str>> {
        let of_it = paths.iter().filter(|path| path.first() == Some(&name));
        of_it.map(|path| path[1..].to_vec()).filter(|rest| !rest.is_empty()).collect()
    };
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), field(name, &below(name)))).collect();
    json!({"type": ["object", "null"], "additionalProperties": false, "properties": properties})
}

fn field(name: &str, below: &[Vec<&str>]) -> Value {
    let elements: Vec<Vec<&str>> =
        below.iter().filter(|path| path[0] == "N").map(|path| path[1..].to_vec()).collect();
    if below.is_empty() {
        scalar(name)
    } else if elements.is_empty() {
        object(below)
    } else if elements.iter().all(Vec::is_empty) {
        json!({"type": ["array", "null"], "items": scalar(name)})
    } else {
        json!({"type": ["array", "null"], "items": object(&elements)})
    }
}

fn scalar(name: &str) -> Value {
    let kind = match name {
        name if WORDS.contains(&name) => "string",
        name if FLAGS.contains(&name) => "boolean",
        _ => "number",
    };
    json!({"type": [kind, "null"]})
}

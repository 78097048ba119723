//! The JSON Schema of results, `fullpipe.result/1`, made of the columns of their steps.

use fp_method::methods::{self, METHODS};
use fp_method::reason::Code;
use fp_method::verdict::Status;
use fp_model::figure::{Info, Kind, Unit};
use serde_json::{Map, Value, json};

use super::SCHEMA;

/// The schema of a result of any method.
pub fn result_schema() -> Value {
    let names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
    let steps: Vec<Value> = methods::kinds().map(step).collect();
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
            "method": {"enum": names},
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
            "status": {"enum": Status::ALL.map(Status::name)},
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
fn step(kind: &Kind) -> Value {
    let mut of_step = object(kind.columns);
    of_step["properties"]["name"] = json!({"const": kind.name});
    if kind.is_judged {
        of_step["properties"]["pass"] = scalar(Unit::Flag);
    }
    of_step["required"] = json!(["name"]);
    of_step
}

/// The object that has these columns.
fn object(columns: &[Info]) -> Value {
    let mut properties = Map::new();
    for info in columns {
        properties.insert(info.field.to_owned(), field(info));
        if info.has_interval {
            properties.extend(info.ends().map(|end| (end, scalar(info.unit))));
        }
    }
    json!({"type": ["object", "null"], "additionalProperties": false, "properties": properties})
}

fn field(info: &Info) -> Value {
    let list = |items: Value| json!({"type": ["array", "null"], "items": items});
    match info.unit {
        Unit::Part(columns) => object(columns),
        Unit::Parts(columns) | Unit::Series(columns) => list(object(columns)),
        unit if info.is_list => list(scalar(unit)),
        unit => scalar(unit),
    }
}

fn scalar(unit: Unit) -> Value {
    let kind = match unit {
        Unit::Word => "string",
        Unit::Flag => "boolean",
        _ => "number",
    };
    json!({"type": [kind, "null"]})
}

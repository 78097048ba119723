//! The JSON Schema of plans, `fullpipe.plan/1`: the options of each command are those of its parser.

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use serde_json::{Map, Value, json};

use super::super::Cli;
use super::super::words::{DECIDED, methods, names};

pub(crate) fn schema() -> Value {
    let mut cli = Cli::command();
    cli.build();
    let commands = methods();
    let mut test = keys_of_a_test();
    for name in &commands {
        if let Some(command) = cli.find_subcommand(name) {
            test.insert(name.clone(), options_of(command));
        }
    }
    let one_of: Vec<Value> = commands.iter().map(|name| json!({"required": [name]})).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A plan of fullpipe",
        "type": "object",
        "required": ["plan", "tests"],
        "additionalProperties": false,
        "properties": {
            "plan": {"const": "fullpipe.plan/1"},
            "name": {"$ref": "#/$defs/name"},
            "far": {"$ref": "#/$defs/far"},
            "lab": {"$ref": "#/$defs/lab"},
            "sim": {"$ref": "#/$defs/sim"},
            "variables": {
                "description": "Names for values: $name or ${name} stands for one",
                "type": "object",
                "propertyNames": {"$ref": "#/$defs/variable"},
                "additionalProperties": {"$ref": "#/$defs/value"}
            },
            "tests": {
                "description": "In the order in which they run",
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": test,
                    "oneOf": one_of
                }
            },
            "schedule": schedule(),
            "stop-on-fail": {
                "description": "Leave out what follows a test that has not passed",
                "type": "boolean"
            }
        },
        "$defs": definitions()
    })
}

fn keys_of_a_test() -> Map<String, Value> {
    let keys = json!({
        "name": {"$ref": "#/$defs/name"},
        "tags": {"$ref": "#/$defs/values", "description": "For --tags and --skip-tags"},
        "far": {"$ref": "#/$defs/far"},
        "lab": {"$ref": "#/$defs/lab"},
        "sim": {"$ref": "#/$defs/sim"},
        "matrix": {
            "description": "Variables with lists of values: a test for each combination",
            "type": "object",
            "propertyNames": {"$ref": "#/$defs/variable"},
            "additionalProperties": {
                "type": "array", "minItems": 1, "items": {"$ref": "#/$defs/value"}
            }
        },
        "repeat": {
            "description": "Runs of the test, 1 to 100: the median of each figure decides",
            "$ref": "#/$defs/value"
        },
        "pause": {"description": "Before each run, such as 2s", "$ref": "#/$defs/value"},
        "timeout": {"description": "A run that takes longer is ended", "$ref": "#/$defs/value"},
        "verdict": {
            "description": "Whether what the command finds good or bad counts",
            "enum": ["count", "ignore"]
        },
        "pass": {"oneOf": [
            {"$ref": "#/$defs/criterion"},
            {"type": "array", "items": {"$ref": "#/$defs/criterion"}}
        ]}
    });
    match keys {
        Value::Object(keys) => keys,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

fn schedule() -> Value {
    json!({
        "description": "All tests again and again",
        "type": "object",
        "required": ["every", "times"],
        "additionalProperties": false,
        "properties": {
            "every": {"description": "From one beginning to the next", "$ref": "#/$defs/value"},
            "times": {"description": "1 to 10,000", "$ref": "#/$defs/value"}
        }
    })
}

fn definitions() -> Value {
    let limit = |description: &str| json!({"description": description, "$ref": "#/$defs/value"});
    json!({
        "value": {"type": ["string", "number", "boolean"]},
        "values": {"oneOf": [
            {"$ref": "#/$defs/value"},
            {"type": "array", "items": {"$ref": "#/$defs/value"}}
        ]},
        "flag": {"oneOf": [{"type": "boolean"}, {"type": "string", "pattern": "^\\$"}]},
        "variable": {"pattern": "^[A-Za-z][A-Za-z0-9_]{0,63}$"},
        "name": {"type": ["string", "number"], "minLength": 1, "maxLength": 100},
        "far": {
            "description": "The far end: HOST[:PORT], or a pairing string with its secret",
            "type": "string"
        },
        "lab": {
            "description": "An emulated network: a built-in name or a file beside the plan",
            "type": "string"
        },
        "sim": {"description": "The same in virtual time", "type": "string"},
        "criterion": {
            "type": "object",
            "required": ["step", "field"],
            "additionalProperties": false,
            "properties": {
                "step": {"description": "The name of steps of the result", "type": "string"},
                "where": {
                    "description": "Fields with values that tell which of these steps",
                    "type": "object",
                    "additionalProperties": {"$ref": "#/$defs/value"}
                },
                "field": {"description": "A field of the step; a.b is b in a", "type": "string"},
                "at_least": limit("In the unit of the field's name: 35M of _bps, 60ms of _ms"),
                "at_most": limit("The same"),
                "equals": limit("A word, a number, true or false")
            },
            "oneOf": [
                {"required": ["at_least"]}, {"required": ["at_most"]}, {"required": ["equals"]}
            ]
        }
    })
}

fn options_of(command: &Command) -> Value {
    let mut properties = Map::new();
    for arg in command.get_arguments() {
        let is_for_a_plan = !DECIDED.contains(&arg.get_id().as_str())
            && !matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort)
            && !matches!(arg.get_action(), ArgAction::HelpLong | ArgAction::Version);
        if is_for_a_plan {
            for name in names(arg) {
                properties.insert(name, option(arg));
            }
        }
    }
    let about = command.get_about().map(ToString::to_string);
    json!({
        "description": about,
        "type": ["object", "null"],
        "additionalProperties": false,
        "properties": properties
    })
}

fn option(arg: &Arg) -> Value {
    let description = arg.get_help().map(ToString::to_string);
    let definition = match arg.get_action() {
        ArgAction::SetTrue => "#/$defs/flag",
        _ => "#/$defs/values",
    };
    json!({"description": description, "$ref": definition})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::schema::takes;

    const PLANS: [&str; 3] = [
        include_str!("../../../../../examples/plans/burst-tolerance.yaml"),
        include_str!("../../../../../examples/plans/rate-triangles.yaml"),
        include_str!("../../../../../examples/plans/tcp-throughput.yaml"),
    ];

    fn is_valid(plan: &Value) -> bool {
        takes(&schema(), plan)
    }

    #[test]
    fn the_shipped_plans_are_as_the_schema_says() {
        for text in PLANS {
            let plan: Value = serde_saphyr::from_str(text).unwrap();
            assert!(is_valid(&plan), "{plan:#}");
        }
    }

    #[test]
    fn the_schema_refuses_what_the_reader_refuses() {
        let plan = |test: Value| json!({"plan": "fullpipe.plan/1", "tests": [test]});
        assert!(is_valid(&plan(json!({"burst": {"cir": "40M", "discover": true}}))));
        assert!(is_valid(&plan(json!({"test": null, "repeat": 3}))));
        for wrong in [
            json!({"name": "no command"}),
            json!({"test": null, "burst": null}),
            json!({"test": {"wnidow": 5}}),
            json!({"test": {"output": "x"}}),
            json!({"test": {"strict-6349": 5}}),
            json!({"test": null, "matrix": {"a": []}}),
            json!({"test": null, "pass": {"step": "tcp", "field": "x"}}),
            json!({"test": null, "verdict": "no"}),
        ] {
            assert!(!is_valid(&plan(wrong.clone())), "{wrong}");
        }
    }
}

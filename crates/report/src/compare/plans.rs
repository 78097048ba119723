//! What was asked differently.

use std::collections::BTreeMap;

use serde_json::Value;

/// What a document tells of the far end, not of a wish.
const LEFT_OUT: [&str; 1] = ["interface_mtu_bytes"];

/// Inputs whose values differ: name, first, second; lists in one piece.
pub(super) fn differences(first: &Value, second: &Value) -> Vec<[String; 3]> {
    let [first, second] = [first, second].map(|plan| {
        let mut inputs = BTreeMap::new();
        collect(plan, "", &mut inputs);
        inputs
    });
    let names = first.keys().chain(second.keys().filter(|name| !first.contains_key(*name)));
    let shown = |inputs: &BTreeMap<String, &Value>, name: &str| match inputs.get(name) {
        None | Some(Value::Null) => crate::text::unknown(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => shortened(&value.to_string()),
    };
    names
        .filter(|name| !LEFT_OUT.contains(&name.as_str()))
        .filter(|name| first.get(*name) != second.get(*name))
        .map(|name| [name.replace('_', " "), shown(&first, name), shown(&second, name)])
        .collect()
}

fn collect<'a>(value: &'a Value, path: &str, inputs: &mut BTreeMap<String, &'a Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, &path, inputs);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            inputs.insert(path.to_owned(), value);
        }
    }
}

fn shortened(text: &str) -> String {
    crate::text::shortened(text, 60)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_inputs_that_differ_are_told_with_where_they_are() {
        let first = json!({"cir": {"rate_bps": 1, "layer": "l2"}, "dscp": 0, "trial_s": null});
        let second = json!({"cir": {"rate_bps": 2, "layer": "l2"}, "dscp": 0, "trial_s": 2.5});
        let found = differences(&first, &second);
        assert_eq!(found, [["cir.rate bps", "1", "2"], ["trial s", "–", "2.5"]]);
    }
}

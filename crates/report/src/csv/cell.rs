//! One cell of CSV (RFC 4180), harmless in a spreadsheet.

use serde_json::Value;

/// Beginnings that make a spreadsheet take text for a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// Empty where nothing is known. Numbers have the digits of the document; text that would be a
/// formula gets an apostrophe in front, which spreadsheets take for "this is text".
pub(super) fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) if text.starts_with(FORMULA) => quoted(&format!("'{text}")),
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => quoted(&value.to_string()),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn formulas_are_disarmed_and_numbers_are_not() {
        for text in ["=cmd()", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert!(cell(&json!(text)).trim_start_matches('"').starts_with('\''), "{text:?}");
        }
        assert_eq!(cell(&json!(-1.5)), "-1.5");
        assert_eq!(cell(&json!("10.0.0.2:6349")), "10.0.0.2:6349");
    }

    #[test]
    fn separators_and_quotes_are_inside_quotes() {
        assert_eq!(cell(&json!("a,b")), "\"a,b\"");
        assert_eq!(cell(&json!("say \"a\"\nb")), "\"say \"\"a\"\"\nb\"");
        assert_eq!(cell(&json!("plain; text")), "plain; text");
    }
}

//! Whether what a parser takes and what its JSON Schema takes are the same, for the tests of both.

use serde_json::Value;

use super::Problem;

#[path = "../../tests/schema/mod.rs"]
mod validator;

pub(crate) use validator::takes;

/// Whether the schema takes a file that is YAML.
pub(crate) fn fits(schema: &str, text: &str) -> bool {
    takes(&serde_json::from_str(schema).unwrap(), &serde_saphyr::from_str(text).unwrap())
}

/// Compares the keys of the schema with those of the parser, which names what it allows where it meets
/// something else. `places` are beginnings of texts in `every_key` before which a wrong key can stand,
/// each with the name of its object in the schema: empty for the whole file.
pub(crate) fn expect_keys<T>(
    schema: &str,
    every_key: &str,
    places: &[(&str, &str)],
    parse: impl Fn(&str) -> Result<T, Problem>,
) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    for (before, name) in places {
        let (head, tail) = every_key.split_once(before).unwrap_or_else(|| panic!("{before}"));
        // In braces keys are parted by commas; elsewhere each has a line.
        let indentation = head.rsplit('\n').next().unwrap_or_default();
        let is_line = indentation.chars().all(|letter| matches!(letter, ' ' | '-'));
        let between = match is_line {
            true => format!("\n{}", indentation.replace('-', " ")),
            false => String::from(", "),
        };
        let wrong = format!("{head}bogus: 1{between}{before}{tail}");
        let problem = parse(&wrong).err().unwrap_or_else(|| panic!("{wrong}")).to_string();
        let (_, allowed) =
            problem.split_once("allowed are ").unwrap_or_else(|| panic!("{problem}"));
        let mut allowed: Vec<&str> = allowed.split(", ").collect();
        allowed.sort_unstable();
        let object = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        let mut keys: Vec<&String> = object["properties"].as_object().unwrap().keys().collect();
        keys.sort_unstable();
        assert_eq!(allowed, keys, "{name}");
    }
}

//! Steps of a document as rows of their columns: what a run has just found, and what an older fullpipe has stored.

use fp_method::methods;
use fp_model::figure::{Cell, Info, Known, Part, Row, Unit};
use serde_json::Value;

use crate::stored::fields::Fields;

/// A step; `None` of a kind that is not known.
pub(crate) fn row(step: Fields<'_>) -> Option<Row> {
    let kind = methods::kind(step.word("name"))?;
    Some(Row { kind, part: part(kind.columns, step) })
}

/// The steps of a result document that are of known kinds.
pub(crate) fn rows(result: &Value) -> Vec<Row> {
    Fields(result).each("steps").filter_map(row).collect()
}

fn part(columns: &'static [Info], step: Fields<'_>) -> Part {
    Part { columns, cells: columns.iter().map(|info| cell(info, step)).collect() }
}

fn cell(info: &Info, step: Fields<'_>) -> Cell {
    match (&step.0[info.field], info.unit) {
        (Value::Array(parts), Unit::Parts(columns)) => {
            Cell::Parts(parts.iter().map(|fields| part(columns, Fields(fields))).collect())
        }
        // Whoever draws a series reads it from the document: it may have a slot for each tenth of a second of a day.
        (Value::Array(_), Unit::Series(_)) => Cell::Unknown,
        (Value::Array(values), _) => {
            Cell::List(values.iter().map(|value| one(value, NO_ENDS)).collect())
        }
        (fields @ Value::Object(_), Unit::Part(columns)) => {
            Cell::Part(Box::new(part(columns, Fields(fields))))
        }
        (value, _) if info.has_interval => {
            one(value, info.ends().each_ref().map(|field| &step.0[field.as_str()]))
        }
        (value, _) => one(value, NO_ENDS),
    }
}

const NO_ENDS: [&Value; 2] = [&Value::Null; 2];

/// A value with the ends of its interval.
fn one(value: &Value, [at_least, at_most]: [&Value; 2]) -> Cell {
    match value {
        Value::Bool(flag) => Cell::Flag(*flag),
        Value::String(word) => word.clone().into(),
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(value), _) => {
                let [at_least, at_most] = [at_least.as_u64(), at_most.as_u64()];
                Cell::Whole(Known { value, at_least, at_most })
            }
            (None, Some(value)) => {
                let [at_least, at_most] = [at_least.as_f64(), at_most.as_f64()];
                Cell::Real(Known { value, at_least, at_most })
            }
            (None, None) => Cell::Unknown,
        },
        Value::Null if [at_least, at_most].iter().any(|end| end.is_number()) => {
            let alone = |end| one(end, NO_ENDS);
            Cell::Ends(Box::new([alone(at_least), alone(at_most)]))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => Cell::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use fp_method::methods::Method;
    use fp_model::figure::Kind;

    use super::*;

    fn recordings() -> Vec<PathBuf> {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence"));
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "zz")).collect()
    }

    fn read(file: &Path) -> Value {
        let packed = fs::read(file).unwrap();
        let text = miniz_oxide::inflate::decompress_to_vec_zlib(&packed).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// The paths to the single values in `value`.
    fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        let below = |name: &str| [path, name].join(if path.is_empty() { "" } else { "." });
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| paths(field, &below(name), found));
            }
            Value::Array(list) => list.iter().for_each(|each| paths(each, &below("0"), found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                found.insert(path.to_owned());
            }
        }
    }

    /// A field that is `null` as a whole has fields where it is known.
    fn has(kind: &Kind, path: &str) -> bool {
        kind.has(path) || kind.fields().any(|known| known.starts_with(&format!("{path}.")))
    }

    #[test]
    fn every_field_of_every_recorded_result_is_named() {
        let files = recordings();
        assert!(files.len() > 30, "{files:?}");
        for file in files {
            let result = read(&file);
            let method = Method::named(result["method"].as_str().unwrap()).unwrap();
            for step in result["steps"].as_array().unwrap() {
                let name = step["name"].as_str().unwrap();
                let known = method.kinds.iter().find(|known| known.name == name);
                let known = known.unwrap_or_else(|| panic!("no step {name} of {}", method.name));
                let mut found = BTreeSet::new();
                paths(step, "", &mut found);
                for path in found.iter().filter(|path| *path != "name") {
                    assert!(has(known, path), "no {path} of {name} in {}", file.display());
                }
            }
        }
    }
}

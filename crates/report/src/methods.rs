//! The methods: what each is called in results, on the command line and by people.

use fp_method::figures;
use fp_model::figure::Kind;

/// A method of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    Rfc6349,
    Flow,
    Rfc2544,
    Y1564,
    Burst,
    Rfc7640,
    Stress,
}

impl Method {
    pub const ALL: [Self; 7] = [
        Self::Rfc6349,
        Self::Flow,
        Self::Rfc2544,
        Self::Y1564,
        Self::Burst,
        Self::Rfc7640,
        Self::Stress,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc6349 => "rfc6349",
            Self::Flow => "flow",
            Self::Rfc2544 => "rfc2544",
            Self::Y1564 => "y1564",
            Self::Burst => "burst",
            Self::Rfc7640 => "rfc7640",
            Self::Stress => "stress",
        }
    }

    /// The command that runs it.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Rfc6349 => "test",
            Self::Flow
            | Self::Rfc2544
            | Self::Y1564
            | Self::Burst
            | Self::Rfc7640
            | Self::Stress => self.name(),
        }
    }

    /// What people call it: on the screen, in documents and on pages.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Rfc6349 => "TCP throughput test (RFC 6349)",
            Self::Flow => "Traffic measurement",
            Self::Rfc2544 => "Benchmark (RFC 2544)",
            Self::Y1564 => "Service activation test (in the style of ITU-T Y.1564)",
            Self::Burst => "Burst test of a policer (CIR and CBS)",
            Self::Rfc7640 => "Traffic management test (RFC 7640)",
            Self::Stress => "Connection load test",
        }
    }

    /// The kinds of steps that its results may have.
    pub fn kinds(self) -> &'static [&'static Kind] {
        figures::of_method(self.name())
    }

    /// The method of this name in results.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method that the command `command` runs.
    pub fn of_command(command: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.command() == command)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde_json::Value;

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
                let known = method.kinds().iter().find(|known| known.name == name);
                let known = known.unwrap_or_else(|| panic!("no step {name} of {method:?}"));
                let mut found = BTreeSet::new();
                paths(step, "", &mut found);
                for path in found.iter().filter(|path| *path != "name") {
                    assert!(has(known, path), "no {path} of {name} in {}", file.display());
                }
            }
        }
    }
}

//! A table whose columns become known row by row.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cell::cell;

/// Columns that identify a row stand before its figures.
const FIRST: [&str; 4] = ["step", "name", "direction", "flow_direction"];

/// Names with values, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Row(Vec<(String, Value)>);

impl<const COUNT: usize> From<[(String, Value); COUNT]> for Row {
    fn from(cells: [(String, Value); COUNT]) -> Self {
        Self(cells.into())
    }
}

impl Row {
    /// A name that is there already keeps its value.
    pub(super) fn add(&mut self, name: &str, value: &Value) {
        if !self.0.iter().any(|(known, _)| known == name) {
            self.0.push((name.to_owned(), value.clone()));
        }
    }

    /// The number in a list; of a list in a list, another one.
    pub(super) fn add_place(&mut self, place: usize) {
        let depth = self.0.iter().filter(|(name, _)| name.starts_with("place")).count();
        let name = match depth {
            0 => String::from("place"),
            depth => format!("place_{}", depth + 1),
        };
        self.0.push((name, place.into()));
    }

    fn get(&self, name: &str) -> &Value {
        self.0.iter().find(|(known, _)| known == name).map_or(&Value::Null, |(_, value)| value)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sheet {
    rows: Vec<Row>,
}

impl Sheet {
    pub(super) fn push(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// With a head; columns that say nothing in any row are left out.
    pub(super) fn text(&self) -> String {
        let columns = self.columns();
        let mut out = String::new();
        let mut line = |cells: Vec<String>| {
            out.push_str(&cells.join(","));
            out.push('\n');
        };
        line(columns.iter().map(|name| cell(&Value::from(*name))).collect());
        for row in &self.rows {
            line(columns.iter().map(|name| cell(row.get(name))).collect());
        }
        out
    }

    fn columns(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let mut names = Vec::new();
        for (name, _) in self.rows.iter().flat_map(|row| &row.0).filter(|(_, v)| !v.is_null()) {
            if seen.insert(name.as_str()) {
                names.push(name.as_str());
            }
        }
        let place =
            |name: &str| FIRST.iter().position(|first| *first == name).unwrap_or(FIRST.len());
        names.sort_by_key(|name| place(name));
        names
    }
}

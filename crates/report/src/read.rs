//! Steps of a document as rows of their columns: what a run has just found, and what an older fullpipe has stored.

use fp_method::figures;
use fp_model::figure::{Cell, Info, Known, Part, Row, Unit};
use serde_json::Value;

use crate::stored::fields::Fields;

/// A step; `None` of a kind whose columns are not described.
pub(crate) fn row(step: Fields<'_>) -> Option<Row> {
    let kind = figures::kind(step.word("name"))?;
    Some(Row { kind, cells: cells(kind.columns, step) })
}

fn cells(columns: &[Info], step: Fields<'_>) -> Vec<Cell> {
    columns.iter().map(|info| cell(info, step)).collect()
}

fn cell(info: &Info, step: Fields<'_>) -> Cell {
    match &step.0[info.field] {
        Value::Bool(flag) => Cell::Flag(*flag),
        Value::String(word) => word.clone().into(),
        Value::Number(number) => {
            let [at_least, at_most] = info.ends().map(|field| step.0[field].clone());
            match number.as_u64() {
                Some(value) => {
                    let [at_least, at_most] = [at_least.as_u64(), at_most.as_u64()];
                    Cell::Whole(Known { value, at_least, at_most })
                }
                None => number.as_f64().map_or(Cell::Unknown, |value| {
                    let [at_least, at_most] = [at_least.as_f64(), at_most.as_f64()];
                    Cell::Real(Known { value, at_least, at_most })
                }),
            }
        }
        Value::Array(parts) => match info.unit {
            Unit::Parts(columns) => {
                let part = |part| Part { columns, cells: cells(columns, Fields(part)) };
                Cell::Parts(parts.iter().map(part).collect())
            }
            _ => Cell::Unknown,
        },
        Value::Null | Value::Object(_) => Cell::Unknown,
    }
}

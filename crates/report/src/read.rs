//! Steps of a document as rows of their columns: what a run has just found, and what an older fullpipe has stored.

use fp_method::figures;
use fp_model::figure::{Cell, Info, Known, Row};
use serde_json::Value;

use crate::stored::fields::Fields;

/// A step; `None` of a kind whose columns are not described.
pub(crate) fn row(step: Fields<'_>) -> Option<Row> {
    let kind = figures::kind(step.word("name"))?;
    let cells = kind.columns.iter().map(|info| cell(info, step)).collect();
    Some(Row { kind, cells })
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
        Value::Null | Value::Array(_) | Value::Object(_) => Cell::Unknown,
    }
}

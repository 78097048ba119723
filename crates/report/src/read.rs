//! Steps of a document as rows of their columns: what a run has just found, and what an older fullpipe has stored.

use fp_method::figures;
use fp_model::figure::{Cell, Info, Known, Part, Row, Unit};
use serde_json::Value;

use crate::stored::fields::Fields;

/// A step; `None` of a kind that is not known.
pub(crate) fn row(step: Fields<'_>) -> Option<Row> {
    let kind = figures::kind(step.word("name"))?;
    Some(Row { kind, part: part(kind.columns, step) })
}

fn part(columns: &'static [Info], step: Fields<'_>) -> Part {
    Part { columns, cells: columns.iter().map(|info| cell(info, step)).collect() }
}

fn cell(info: &Info, step: Fields<'_>) -> Cell {
    match (&step.0[info.field], info.unit) {
        (Value::Array(parts), Unit::Parts(columns)) => {
            Cell::Parts(parts.iter().map(|fields| part(columns, Fields(fields))).collect())
        }
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

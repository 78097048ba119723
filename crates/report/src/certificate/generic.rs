//! A step of a method or of a kind that this program does not know: every figure under its name.

use crate::document::{Block, Cell, Table, columns};
use crate::stored::fields::Fields;

pub(super) fn table(step: Fields<'_>) -> Block {
    let fields = step.0.as_object().into_iter().flatten();
    let simple =
        fields.filter(|(name, value)| *name != "name" && !value.is_array() && !value.is_object());
    let row = |(name, value): (&String, &serde_json::Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        vec![Cell::new(name.replace('_', " ")), Cell::new(text)]
    };
    Block::Table(Table {
        caption: step.word("name").replace('_', " "),
        columns: columns(&["figure", ">value"]),
        rows: simple.map(row).collect(),
        note: None,
    })
}

//! Steps that are a sentence, on the screen.

use fp_model::figure::Row;

/// What was found, beside its title and its direction, if it has one.
pub(super) fn fact(row: &Row) -> String {
    format!("{:<16}{:<9} {}", row.kind.title, row.direction(), (row.kind.fact)(row))
}

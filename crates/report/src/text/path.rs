//! Steps that are a sentence, on the screen.

use fp_model::figure::Row;

use super::line;

/// Adds what was found beside its title and its direction, if it has one, and more behind it; nothing of a step
/// that stands in a table.
pub(super) fn fact(out: &mut String, row: &Row, more: &str) {
    if let Some(fact) = row.kind.fact {
        line(out, &format!("{:<16}{:<9} {}{more}", row.kind.title, row.direction(), fact(row)));
    }
}

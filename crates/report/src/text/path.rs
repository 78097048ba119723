//! What steps say in words, on the screen.

use fp_model::figure::Row;

use super::line;

/// Adds each fact beside its name and its direction, if it has one, and more behind it.
pub(super) fn fact(out: &mut String, row: &Row, more: &str) {
    for (name, text) in (row.kind.facts)(row) {
        line(out, &format!("{name:<16}{:<9} {text}{more}", row.direction()));
    }
}

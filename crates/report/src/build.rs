//! Steps as tables of a document, by what their kinds say of them.

use fp_model::figure::{self, Kind, Row, Shown, Unit};

use crate::document::{Cell, Column, Side, Table, Tone};
use crate::read;
use crate::stored::fields::Fields;
use crate::text::mark;

/// One for each caption, with the steps that have a row in it.
pub(crate) fn tables<'a>(
    kind: &Kind,
    table: &figure::Table,
    steps: &[Fields<'a>],
) -> Vec<(Table, Vec<Fields<'a>>)> {
    let of_kind = steps.iter().filter(|step| step.word("name") == kind.name);
    let rows = of_kind.filter_map(|step| Some((*step, read::row(*step)?)));
    let rows =
        rows.flat_map(|(step, row)| (table.rows)(&row).into_iter().map(move |row| (step, row)));
    let mut tables: Vec<(Table, Vec<Fields<'_>>)> = Vec::new();
    for (step, row) in rows {
        let caption = (table.caption)(&row);
        let known = tables.iter().position(|(begun, _)| begun.caption == caption);
        let place = known.unwrap_or(tables.len());
        if known.is_none() {
            tables.push((begun(table, caption, &row), Vec::new()));
        }
        let (whole, shown) = &mut tables[place];
        whole.rows.push(table.columns.iter().map(|shown| cell(shown, &row, step)).collect());
        shown.push(step);
    }
    let result = table.columns.iter().position(|shown| matches!(shown, Shown::Result));
    for (whole, steps) in &mut tables {
        let was_asked = steps.iter().any(|step| step.flag("pass").is_some());
        if let Some(place) = result.filter(|_| !was_asked) {
            whole.columns.remove(place);
            whole.rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
    }
    tables
}

/// Without its rows; `first` is the first of them.
fn begun(table: &figure::Table, caption: String, first: &Row) -> Table {
    let columns = table.columns.iter().map(|shown| column(first, shown)).collect();
    let note = Some((table.note)(first)).filter(|note| !note.is_empty());
    Table { caption, columns, rows: Vec::new(), note }
}

fn cell(shown: &Shown, row: &Row, step: Fields<'_>) -> Cell {
    match shown {
        Shown::Field(field) | Shown::As(field, _) => Cell::new(row.text(field)),
        Shown::Words(_, of) | Shown::Figure(_, of) => Cell::new(of(row)),
        Shown::Limit(_, of, is_tester) => {
            Cell::toned(of(row), if is_tester(row) { Tone::Doubtful } else { Tone::Neutral })
        }
        Shown::Result => result(step),
    }
}

/// What became of what was asked of a step, and what it missed.
pub(crate) fn result(step: Fields<'_>) -> Cell {
    let is_met = step.flag("pass");
    let (word, tone) = match (is_met, step.word("status")) {
        (Some(true), _) => (mark(is_met, ""), Tone::Good),
        (Some(false), _) => (mark(is_met, ""), Tone::Bad),
        (None, "invalid") => ("INVALID", Tone::Doubtful),
        (None, _) => ("–", Tone::Neutral),
    };
    let missed = step.each("failures").map(|failure| words_of(failure.word("code")));
    let missed = missed.collect::<Vec<_>>().join(", ");
    Cell::toned(if missed.is_empty() { word.into() } else { format!("{word}: {missed}") }, tone)
}

/// A code as the heads of tables have its words.
fn words_of(code: &str) -> String {
    let word = |word: &str| match word {
        "ir" | "flr" | "ftd" | "fdv" => word.to_uppercase(),
        word => word.to_owned(),
    };
    code.split('_').map(word).collect::<Vec<_>>().join(" ")
}

fn column(first: &Row, shown: &Shown) -> Column {
    let is_word = |field| matches!(first.info(field).unit, Unit::Word | Unit::Flag);
    let (head, is_word) = match *shown {
        Shown::Field(field) => (first.info(field).name, is_word(field)),
        Shown::As(field, head) => (head, is_word(field)),
        Shown::Words(head, _) | Shown::Limit(head, ..) => (head, true),
        Shown::Figure(head, _) => (head, false),
        Shown::Result => ("result", true),
    };
    Column { head: head.to_owned(), side: if is_word { Side::Left } else { Side::Right } }
}

//! Steps as tables of a document, by what their kinds say of them.

use fp_method::verdict::Status;
use fp_model::figure::{self, Row, Shown, Unit};

use crate::document::{Cell, Column, Side, Table, Tone};
use crate::stored::fields::Fields;
use crate::text::mark;

/// A step of a document, with what its columns have.
pub(crate) type ReadStep<'a> = (Fields<'a>, &'a Row);

/// One for each caption.
pub(crate) fn tables(table: &figure::Table, steps: &[ReadStep<'_>]) -> Vec<Table> {
    let mut tables: Vec<(Table, Vec<Fields<'_>>)> = Vec::new();
    for (step, whole) in steps {
        let rows = (table.rows)(whole);
        let Some(first) = rows.first() else { continue };
        let caption = (table.caption)(whole);
        let known = tables.iter().position(|(begun, _)| begun.caption == caption);
        let place = known.unwrap_or(tables.len());
        if known.is_none() {
            let columns = table.columns.iter().map(|shown| column(first, shown)).collect();
            let note = Some((table.note)(whole)).filter(|note| !note.is_empty());
            tables.push((Table { caption, columns, rows: Vec::new(), note }, Vec::new()));
        }
        let (begun, of) = &mut tables[place];
        // What became of a step stands in its first row.
        let steps = std::iter::once(Some(*step)).chain(std::iter::repeat(None));
        for (row, judged) in rows.iter().zip(steps) {
            begun.rows.push(table.columns.iter().map(|shown| cell(shown, row, judged)).collect());
        }
        of.push(*step);
    }
    if let Some(place) = table.columns.iter().position(|shown| matches!(shown, Shown::Result)) {
        tables.iter_mut().for_each(|(table, steps)| leave_out_unasked(table, place, steps));
    }
    tables.into_iter().map(|(table, _)| table).collect()
}

/// The column of results at this place where nothing was asked of any step.
fn leave_out_unasked(table: &mut Table, place: usize, steps: &[Fields<'_>]) {
    let was_asked =
        |step: &Fields<'_>| step.flag("pass").is_some() || step.word("status") == INVALID;
    if !steps.iter().any(was_asked) {
        table.columns.remove(place);
        table.rows.iter_mut().for_each(|row| drop(row.remove(place)));
    }
}

fn cell(shown: &Shown, row: &Row, judged: Option<Fields<'_>>) -> Cell {
    match shown {
        Shown::Field(field) | Shown::As(field, _) => Cell::new(row.text(field)),
        Shown::Words(_, of) | Shown::Figure(_, of) => Cell::new(of(row)),
        Shown::Limit(_, of, is_tester) => {
            Cell::toned(of(row), if is_tester(row) { Tone::Doubtful } else { Tone::Neutral })
        }
        Shown::Bar(_, of, bar) => Cell { bar: bar(row), ..Cell::new(of(row)) },
        Shown::Result => judged.map_or_else(|| Cell::new(""), result),
    }
}

/// The status of a step that the tester disturbed.
const INVALID: &str = Status::Invalid.name();

/// What became of what was asked of a step, and what it missed.
fn result(step: Fields<'_>) -> Cell {
    let is_met = step.flag("pass");
    let (word, tone) = match (is_met, step.word("status")) {
        (Some(true), _) => (mark(is_met, ""), Tone::Good),
        (Some(false), _) => (mark(is_met, ""), Tone::Bad),
        (None, INVALID) => (Status::Invalid.title(), Tone::Doubtful),
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
        Shown::Figure(head, _) | Shown::Bar(head, ..) => (head, false),
        Shown::Result => ("result", true),
    };
    Column { head: head.to_owned(), side: if is_word { Side::Left } else { Side::Right } }
}

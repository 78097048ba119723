//! Steps as tables of a document, by what their kinds say of them.

use fp_model::figure::{self, Kind, Row, Shown, Unit};

use crate::document::{Cell, Column, Side, Table, Tone};
use crate::read;
use crate::stored::fields::Fields;

/// The steps that have a row in a table of this kind.
pub(crate) fn shown_in<'a>(
    kind: &Kind,
    table: &figure::Table,
    steps: &[Fields<'a>],
) -> Vec<Fields<'a>> {
    let is_shown = |step: &Fields<'_>| {
        step.word("name") == kind.name && read::row(*step).is_some_and(|row| (table.shows)(&row))
    };
    steps.iter().copied().filter(is_shown).collect()
}

/// Of those that stand in one with the first.
pub(crate) fn of_one_caption<'a>(
    table: &figure::Table,
    steps: &[Fields<'a>],
) -> Vec<Vec<Fields<'a>>> {
    let mut groups: Vec<(String, Vec<Fields<'a>>)> = Vec::new();
    for step in steps {
        let caption = read::row(*step).map_or_else(String::new, |row| (table.caption)(&row));
        match groups.iter_mut().find(|(known, _)| *known == caption) {
            Some((_, group)) => group.push(*step),
            None => groups.push((caption, vec![*step])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// With a row for each of `steps`.
pub(crate) fn table(kind: &Kind, table: &figure::Table, steps: &[Fields<'_>]) -> Table {
    let row = |step: &Fields<'_>| {
        let row = read::row(*step)?;
        let text = |shown: &Shown| match shown {
            Shown::Field(field) | Shown::As(field, _) => row.text(field),
            Shown::Words(_, of) | Shown::Limit(_, of, _) | Shown::Figure(_, of) => of(&row),
        };
        let tone = |shown: &Shown| match shown {
            Shown::Limit(_, _, is_tester) if is_tester(&row) => Tone::Doubtful,
            _ => Tone::Neutral,
        };
        let cell = |shown| Cell::toned(text(shown), tone(shown));
        Some(table.columns.iter().map(cell).collect())
    };
    let first = steps.first().and_then(|step| read::row(*step));
    let said = |of: fn(&Row) -> String| first.as_ref().map(of);
    let note = said(table.note);
    Table {
        caption: said(table.caption).unwrap_or_default(),
        columns: table.columns.iter().map(|shown| column(kind, shown)).collect(),
        rows: steps.iter().filter_map(row).collect(),
        note: note.filter(|note| !note.is_empty()),
    }
}

fn column(kind: &Kind, shown: &Shown) -> Column {
    let is_word = |field| matches!(kind.info(field).unit, Unit::Word | Unit::Flag);
    let (head, is_word) = match *shown {
        Shown::Field(field) => (kind.info(field).name, is_word(field)),
        Shown::As(field, head) => (head, is_word(field)),
        Shown::Words(head, _) | Shown::Limit(head, ..) => (head, true),
        Shown::Figure(head, _) => (head, false),
    };
    Column { head: head.to_owned(), side: if is_word { Side::Left } else { Side::Right } }
}

//! Tables: columns as wide as their content needs, heads repeated on every page.

use pdf_writer::types::StructRole;

use super::blocks::ink;
use super::font::{TypeFace, Weight};
use super::press::{MARGIN, Press, Type};
use super::tree::NodeId;
use super::wrap::{widest_word, wrap};
use crate::document::draw::{Ink, Pen};
use crate::document::{Cell, Column, Side, Table, Tone};

const CAPTION: Type = Type::bold(10.0);
const NOTE: Type = Type::regular(8.0).in_ink(Ink::Grey);
const NOTE_LEADING: f64 = 10.5;
/// The first at which the table is no wider than the page.
const SIZES: [f64; 6] = [8.0, 7.6, 7.2, 6.8, 6.4, 6.0];
/// Between columns, and between figures and words behind them.
const GAP: f64 = 9.0;
const APART: f64 = 22.0;
/// A table that is no higher is not divided between pages.
const WHOLE: f64 = 190.0;

/// How the columns of a table stand.
struct Grid {
    size: f64,
    widths: Vec<f64>,
    /// Before each column.
    gaps: Vec<f64>,
}

impl Grid {
    fn leading(&self) -> f64 {
        self.size * 1.28
    }

    fn left(&self, column: usize) -> f64 {
        let before: f64 = self.widths[..column].iter().sum();
        let gaps: f64 = self.gaps[..=column].iter().sum();
        MARGIN + before + gaps
    }

    const fn letters(&self, weight: Weight) -> Type {
        Type { weight, size: self.size, ink: Ink::Black }
    }
}

pub(super) fn table(press: &mut Press, table: &Table) {
    let grid = grid(press, table);
    let heads = heads(press, table, &grid);
    let head_height = height(&heads, &grid) + 4.0;
    press.space(12.0);
    let rows = |count: usize| -> f64 {
        (0..count).map(|row| row_height(press, table, &grid, row)).sum::<f64>()
    };
    let whole = 18.0 + head_height + rows(table.rows.len()) + notes_height(press, table);
    // A caption without a row would be lost.
    let least = if whole <= WHOLE { whole } else { 18.0 + head_height + rows(3) };
    press.need(least);
    let node = press.node(StructRole::Table);
    let caption = press.tree.add(node, StructRole::Caption);
    press.at += 10.0;
    let foot = press.at;
    press.print(caption, |press| press.words((MARGIN, foot), &table.caption, CAPTION));
    press.at += 5.0;
    let row = press.tree.add(node, StructRole::TR);
    head(press, table, &grid, &heads, Some(row));
    for (place, cells) in table.rows.iter().enumerate() {
        let is_last = place + 1 == table.rows.len();
        // A note does not stand alone on the next page.
        let note = if is_last { notes_height(press, table) } else { 0.0 };
        let height = row_height(press, table, &grid, place) + note;
        if press.need(height) {
            head(press, table, &grid, &heads, None);
        }
        body(press, table, &grid, cells, node);
    }
    if let Some(note) = &table.note {
        notes(press, note);
    }
    press.at += 4.0;
}

fn notes_height(press: &Press, table: &Table) -> f64 {
    let lines = table.note.as_ref().map(|note| note_lines(press, note).len());
    lines.map_or(0.0, |lines| 2.0 + NOTE_LEADING * lines as f64)
}

fn note_lines(press: &Press, note: &str) -> Vec<String> {
    wrap(note, press.face(Weight::Regular), NOTE.size, press.width())
}

fn notes(press: &mut Press, note: &str) {
    let node = press.node(StructRole::P);
    press.at += 2.0;
    for line in note_lines(press, note) {
        press.need(NOTE_LEADING);
        press.at += NOTE_LEADING;
        let foot = press.at - 2.0;
        press.print(node, |press| press.words((MARGIN, foot), &line, NOTE));
    }
}

fn grid(press: &Press, table: &Table) -> Grid {
    let gap = |column: usize| match column {
        0 => 0.0,
        column if table.is_after_figures(column) => APART,
        _ => GAP,
    };
    let gaps: Vec<f64> = (0..table.columns.len()).map(gap).collect();
    let room = press.width() - gaps.iter().sum::<f64>();
    let mut grid = Grid { size: SIZES[0], widths: Vec::new(), gaps };
    for size in SIZES {
        let wanted: Vec<Wanted> =
            (0..table.columns.len()).map(|column| Wanted::of(press, table, column, size)).collect();
        grid = Grid { size, widths: shared(&wanted, room), ..grid };
        if wanted.iter().map(|wanted| wanted.least).sum::<f64>() <= room {
            break;
        }
    }
    grid
}

/// What a column takes.
struct Wanted {
    /// With its words broken as often as they can be.
    least: f64,
    /// With its cells on one line each, and its head on two or three.
    good: f64,
}

impl Wanted {
    fn of(press: &Press, table: &Table, column: usize, size: f64) -> Self {
        let Column { head, side } = &table.columns[column];
        let [regular, bold] = [Weight::Regular, Weight::Bold].map(|weight| press.face(weight));
        let cells = || table.rows.iter().filter_map(|row| row.get(column));
        let whole = |cell: &Cell| font(press, cell).width(&cell.text, size);
        let word = |cell: &Cell| widest_word(&cell.text, font(press, cell), size);
        let widest = cells().map(whole).fold(0.0, f64::max);
        // Figures are not broken.
        let unbroken = match side {
            Side::Right => widest,
            Side::Left => cells().map(word).fold(0.0, f64::max),
        };
        let least = unbroken.max(widest_word(head, bold, size));
        let head = bold.width(head, size).min(regular.width("0", size) * 11.0);
        Self { least, good: widest.max(head).max(least) }
    }
}

const fn font<'a>(press: &'a Press, cell: &Cell) -> TypeFace<'a> {
    press.face(weight(cell))
}

const fn weight(cell: &Cell) -> Weight {
    match cell.tone {
        Tone::Neutral => Weight::Regular,
        Tone::Good | Tone::Bad | Tone::Doubtful => Weight::Bold,
    }
}

/// The room divided: what is left over goes to all columns, what is missing is taken where words can
/// be broken.
fn shared(wanted: &[Wanted], room: f64) -> Vec<f64> {
    let good: f64 = wanted.iter().map(|wanted| wanted.good).sum();
    let least: f64 = wanted.iter().map(|wanted| wanted.least).sum();
    if good <= room {
        let more = (room - good) / wanted.len().max(1) as f64;
        return wanted.iter().map(|wanted| wanted.good + more).collect();
    }
    let share = ((room - least) / (good - least).max(1e-9)).clamp(0.0, 1.0);
    wanted.iter().map(|wanted| wanted.least + share * (wanted.good - wanted.least)).collect()
}

fn heads(press: &Press, table: &Table, grid: &Grid) -> Vec<Vec<String>> {
    let head = |(column, width): (&Column, &f64)| {
        wrap(&column.head, press.face(Weight::Bold), grid.size, *width + 0.01)
    };
    table.columns.iter().zip(&grid.widths).map(head).collect()
}

fn height(cells: &[Vec<String>], grid: &Grid) -> f64 {
    let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
    lines as f64 * grid.leading() + 3.0
}

fn lines(press: &Press, grid: &Grid, cells: &[Cell]) -> Vec<Vec<String>> {
    let of = |(cell, width): (&Cell, &f64)| {
        wrap(&cell.text, font(press, cell), grid.size, *width + 0.01)
    };
    cells.iter().zip(&grid.widths).map(of).collect()
}

fn row_height(press: &Press, table: &Table, grid: &Grid, row: usize) -> f64 {
    table.rows.get(row).map_or(0.0, |cells| height(&lines(press, grid, cells), grid))
}

/// The head of the table. On a further page it is repeated without a row in the structure, so that it is not read
/// aloud again.
fn head(press: &mut Press, table: &Table, grid: &Grid, heads: &[Vec<String>], row: Option<NodeId>) {
    let height = height(heads, grid);
    let foot = press.at + height - 3.0;
    for (column, lines) in heads.iter().enumerate() {
        let side = table.columns[column].side;
        // At the foot of the head.
        let first = foot - (lines.len() as f64 - 1.0) * grid.leading() - 1.0;
        let print = |press: &mut Press| {
            cell(press, grid, column, side, first, lines, grid.letters(Weight::Bold));
        };
        match row {
            Some(row) => {
                let node = press.tree.add(row, StructRole::TH);
                press.print(node, print);
            }
            None => press.ornament(print),
        }
    }
    press.at += height + 1.0;
    let at = press.at;
    press.ornament(|press| press.rule(at, Pen::new(Ink::Grey, 1.0)));
    press.at += 1.0;
}

fn body(press: &mut Press, table: &Table, grid: &Grid, cells: &[Cell], node: NodeId) {
    let texts = lines(press, grid, cells);
    let height = height(&texts, grid);
    let first = press.at + grid.leading() - 0.5;
    let row = press.tree.add(node, StructRole::TR);
    for (column, (lines, of)) in texts.iter().zip(cells).enumerate() {
        let node = press.tree.add(row, StructRole::TD);
        let mut letters = grid.letters(weight(of));
        if of.tone != Tone::Neutral {
            letters = letters.in_ink(ink(of.tone));
        }
        let side = table.columns[column].side;
        press.print(node, |press| cell(press, grid, column, side, first, lines, letters));
    }
    press.at += height;
    let at = press.at;
    press.ornament(|press| press.rule(at, Pen::new(Ink::Pale, 0.6)));
}

fn cell(
    press: &mut Press,
    grid: &Grid,
    column: usize,
    side: Side,
    first: f64,
    lines: &[String],
    letters: Type,
) {
    let left = grid.left(column);
    for (place, line) in lines.iter().enumerate() {
        let foot = first + place as f64 * grid.leading();
        match side {
            Side::Left => press.words((left, foot), line, letters),
            Side::Right => press.words_before((left + grid.widths[column], foot), line, letters),
        }
    }
}

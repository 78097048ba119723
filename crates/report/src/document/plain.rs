//! A document as plain text for a terminal, and as Markdown for a ticket: the same rows of the same
//! cells.

use super::{Banner, Block, Document, Fact, Figure, Side, Table};
use crate::text::{folded, line};

/// How wide a table may be where nobody knows how wide the terminal is.
const COLUMNS: usize = 100;
/// How long a bar is at most, and what stands above it.
const BAR_CELLS: usize = 13;
const BAR_HEAD: &str = "│ is the ideal";
/// Between two columns, and before the first one.
const BLANKS: &str = "  ";

/// For a terminal of this many columns or a pipe; ends with a line feed.
pub fn plain(document: &Document, columns: Option<usize>) -> String {
    let mut out = String::new();
    let title = title(document);
    line(&mut out, &title);
    line(&mut out, &"=".repeat(title.chars().count()));
    for block in &document.blocks {
        out.push('\n');
        plain_block(&mut out, block, columns.unwrap_or(COLUMNS));
    }
    line(&mut out, &format!("\n{}", document.foot));
    folded(out, columns)
}

/// One page has one head.
fn title(document: &Document) -> String {
    match document.band.as_str() {
        "" => document.title.clone(),
        band => format!("{} · {band}", document.title),
    }
}

/// With those drawings that plain characters can show.
pub(crate) fn plain_blocks(out: &mut String, blocks: &[Block], columns: Option<usize>) {
    let is_plain = |block: &&Block| match block {
        Block::Figures(figures) => figures.iter().any(|figure| !figure.plain.is_empty()),
        _ => true,
    };
    for (place, block) in blocks.iter().filter(is_plain).enumerate() {
        if place > 0 {
            out.push('\n');
        }
        plain_block(out, block, columns.unwrap_or(COLUMNS));
    }
}

fn plain_block(out: &mut String, block: &Block, columns: usize) {
    match block {
        Block::Heading(text) => {
            line(out, text);
            line(out, &"-".repeat(text.chars().count()));
        }
        Block::Text(text) => line(out, text),
        Block::List(items) => items.iter().for_each(|item| line(out, &format!("  - {item}"))),
        Block::Verdict(Banner { word, sentence, .. }) => {
            line(out, &format!("verdict: {word}. {sentence}"));
        }
        Block::Facts(facts) => {
            let wide = facts.iter().map(|fact| fact.name.chars().count()).max().unwrap_or(0);
            for Fact { name, text } in facts {
                line(out, &format!("{name:wide$}  {text}"));
            }
        }
        Block::Table(table) => {
            line(out, &table.caption);
            plain_rows(out, table, columns);
            table.note.iter().for_each(|note| line(out, &format!("{BLANKS}{note}")));
        }
        Block::Figures(figures) => {
            for Figure { caption, alternative, plain, .. } in figures {
                line(out, if plain.is_empty() { alternative } else { caption });
                out.push_str(plain);
            }
        }
        Block::Signatures(_) => {}
    }
}

/// Where a row would be wider than the terminal, what its first cell says stands above the rows that have it
/// in common, and the words of cells that begin at the left stand below each other.
fn plain_rows(out: &mut String, table: &Table, columns: usize) {
    let bars = bars(table);
    let beside = if bars.is_empty() { 0 } else { BLANKS.len() + BAR_CELLS + 1 };
    let columns = columns.saturating_sub(beside);
    let rows = rows(table, str::to_owned);
    let mut widths = widths(&rows);
    let wide = |widths: &[usize]| widths.iter().map(|width| BLANKS.len() + width).sum::<usize>();
    let is_left = |place: usize| table.columns[place].side == Side::Left;
    // Figures stand in one piece; words and heads may be broken at their blanks.
    let piece = |(line, cell): (usize, &str), place: usize| {
        let whole = cell.chars().count();
        let word = cell.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        if line == 0 || is_left(place) { word } else { whole }
    };
    let least = |place: usize| {
        let cells = rows.iter().map(|row| row.get(place).map_or("", String::as_str));
        cells.enumerate().map(|cell| piece(cell, place)).max().unwrap_or(0)
    };
    let least: Vec<usize> = (0..widths.len()).map(least).collect();
    let is_first_alone = wide(&least) > columns && widths.len() > 2 && is_left(0);
    if is_first_alone && let Some(first) = widths.first_mut() {
        *first = 0;
    }
    // Heads of figures first: they take a line more, where words may take many.
    let places = || 0..widths.len();
    let order: Vec<usize> = places()
        .filter(|place| !is_left(*place))
        .chain(places().filter(|place| is_left(*place)))
        .collect();
    for place in order {
        let over = wide(&widths).saturating_sub(columns);
        widths[place] = widths[place].saturating_sub(over).max(least[place].min(widths[place]));
    }
    let mut above = None;
    // The first row are the heads.
    let head = if bars.is_empty() { "" } else { BAR_HEAD };
    let bars =
        std::iter::once(head).chain(bars.iter().map(String::as_str)).chain(std::iter::repeat(""));
    for (row, bar) in rows.iter().zip(bars) {
        let head = row.first().filter(|_| is_first_alone);
        if head.is_some_and(|head| !head.is_empty()) && head != above {
            head.iter().for_each(|head| line(out, &format!("{BLANKS}{head}")));
        }
        above = head;
        let words = |(place, cell): (usize, &String)| match table.columns[place].side {
            _ if head.is_some() && place == 0 => Vec::new(),
            _ if cell.chars().count() > widths[place] => {
                textwrap::wrap(cell, widths[place]).into_iter().map(String::from).collect()
            }
            Side::Left | Side::Right => vec![cell.clone()],
        };
        let words: Vec<Vec<String>> = row.iter().enumerate().map(words).collect();
        for place in 0..words.iter().map(Vec::len).max().unwrap_or(0) {
            let row: Vec<String> =
                words.iter().map(|cell| cell.get(place).cloned().unwrap_or_default()).collect();
            let bar = if place == 0 { bar } else { "" };
            line(
                out,
                &format!("{BLANKS}{}{BLANKS}{bar}", cells(table, &row, &widths).join(BLANKS)),
            );
        }
    }
}

/// The bar of each row on a scale that ends at the largest figure: filled cells for what was reached, a line at what
/// would have been ideal. None in a table without.
fn bars(table: &Table) -> Vec<String> {
    let all: Vec<Option<[f64; 2]>> =
        table.rows.iter().map(|row| row.iter().find_map(|cell| cell.bar)).collect();
    let most = all.iter().flatten().flatten().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let bar = |[reached, ideal]: [f64; 2]| {
        let end = (ideal / most * BAR_CELLS as f64).round();
        let filled = (reached / ideal.max(1.0) * end).round() as usize;
        let cell = |at: usize| match at {
            at if at == end as usize => '│',
            at if at < filled => '█',
            _ => ' ',
        };
        (0..=BAR_CELLS).map(cell).collect::<String>()
    };
    all.into_iter().map(|each| each.map_or_else(String::new, bar)).collect()
}

/// As GitHub's dialect of Markdown has it; ends with a line feed.
pub fn markdown(document: &Document) -> String {
    let mut out = String::new();
    line(&mut out, &format!("# {}", escaped(&title(document))));
    for block in &document.blocks {
        out.push('\n');
        markdown_block(&mut out, block);
    }
    line(&mut out, &format!("\n---\n\n{}", escaped(&document.foot)));
    out
}

fn markdown_block(out: &mut String, block: &Block) {
    match block {
        Block::Heading(text) => line(out, &format!("## {}", escaped(text))),
        Block::Text(text) => line(out, &escaped(text)),
        Block::List(items) => {
            items.iter().for_each(|item| line(out, &format!("- {}", escaped(item))));
        }
        Block::Verdict(Banner { word, sentence, .. }) => {
            line(out, &format!("**{}**: {}", escaped(word), escaped(sentence)));
        }
        Block::Facts(facts) => {
            for Fact { name, text } in facts {
                line(out, &format!("- {}: {}", escaped(name), escaped(text)));
            }
        }
        Block::Table(table) => markdown_table(out, table),
        Block::Figures(figures) => {
            for figure in figures {
                line(out, &format!("*{}*", escaped(&figure.alternative)));
            }
        }
        Block::Signatures(_) => {}
    }
}

fn markdown_table(out: &mut String, table: &Table) {
    line(out, &format!("### {}\n", escaped(&table.caption)));
    let rows = rows(table, escaped);
    let widths = widths(&rows);
    for (place, row) in rows.iter().enumerate() {
        line(out, &format!("| {} |", cells(table, row, &widths).join(" | ")));
        if place == 0 {
            let rules = table.columns.iter().zip(&widths).map(|(column, width)| {
                let dashes = "-".repeat((*width).max(3) - 1);
                match column.side {
                    Side::Left => format!("{dashes}-"),
                    Side::Right => format!("{dashes}:"),
                }
            });
            line(out, &format!("| {} |", rules.collect::<Vec<_>>().join(" | ")));
        }
    }
    if let Some(note) = &table.note {
        line(out, &format!("\n{}", escaped(note)));
    }
}

/// What would be markup stands as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// The heads, then the rows.
fn rows(table: &Table, of: fn(&str) -> String) -> Vec<Vec<String>> {
    let heads = table.columns.iter().map(|column| of(&column.head)).collect();
    let rows = table.rows.iter().map(|row| row.iter().map(|cell| of(&cell.text)).collect());
    std::iter::once(heads).chain(rows).collect()
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    // A rule of Markdown has three dashes.
    (0..columns).map(|column| width(column).unwrap_or(0).max(3)).collect()
}

fn cells(table: &Table, row: &[String], widths: &[usize]) -> Vec<String> {
    let aligned = row.iter().zip(&table.columns).zip(widths).map(|((cell, column), &width)| {
        match column.side {
            Side::Left => format!("{cell:width$}"),
            Side::Right => format!("{cell:>width$}"),
        }
    });
    aligned.collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, columns};
    use super::*;

    fn document(text: &str) -> Document {
        let table = Table {
            caption: "Rates".into(),
            columns: columns(&["name", ">rate"]),
            rows: vec![
                vec![Cell::new(text), Cell::new("9.00")],
                vec![Cell::new("b"), Cell::new("10.00")],
            ],
            note: None,
        };
        Document {
            title: "T".into(),
            band: String::new(),
            foot: "F".into(),
            blocks: vec![Block::Table(table)],
        }
    }

    #[test]
    fn figures_stand_below_each_other() {
        let text = plain(&document("a"), None);
        assert!(text.contains("\n  name   rate\n  a      9.00\n  b     10.00\n"), "{text}");
    }

    #[test]
    fn a_row_that_is_too_wide_stands_below_what_its_first_cell_says() {
        let mut document = document("a");
        let Some(Block::Table(table)) = document.blocks.first_mut() else { panic!() };
        table.columns = columns(&["step", "figure", ">rate"]);
        let row = |cells: [&str; 3]| cells.map(Cell::new).to_vec();
        table.rows = vec![row(["one step", "RTT of it", "9"]), row(["one step", "b", "10.00"])];
        let text = plain(&document, Some(19));
        let rows = "  step\n    figure     rate\n  one step\n    RTT of        9\n    it\n    b         10.00\n";
        assert!(text.contains(rows), "{text}");
    }

    #[test]
    fn a_head_is_broken_where_its_figures_are_narrower_and_the_table_too_wide() {
        let mut document = document("a");
        let Some(Block::Table(table)) = document.blocks.first_mut() else { panic!() };
        table.columns = columns(&["step", ">of the line"]);
        let text = plain(&document, Some(16));
        assert!(
            text.contains("\n  step    of the\n            line\n  a         9.00\n"),
            "{text}"
        );
        assert!(plain(&document, Some(20)).contains("\n  step  of the line\n"));
    }

    #[test]
    fn a_table_of_markdown_keeps_its_columns_whatever_is_in_them() {
        let text = markdown(&document("a|b <script>"));
        assert!(text.contains("| a\\|b \\<script\\> |  9.00 |"), "{text}");
        assert!(text.contains("| --------------- | ----: |"), "{text}");
    }
}

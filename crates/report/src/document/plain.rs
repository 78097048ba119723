//! A document as plain text for a terminal, and as Markdown for a ticket: the same rows of the same
//! cells.

use super::{Banner, Block, Document, Fact, Side, Table};
use crate::text::line;

/// For a terminal or a pipe; ends with a line feed.
pub fn plain(document: &Document) -> String {
    let mut out = String::new();
    let title = title(document);
    line(&mut out, &title);
    line(&mut out, &"=".repeat(title.chars().count()));
    for block in &document.blocks {
        out.push('\n');
        plain_block(&mut out, block);
    }
    line(&mut out, &format!("\n{}", document.foot));
    out
}

/// One page has one head.
fn title(document: &Document) -> String {
    match document.band.as_str() {
        "" => document.title.clone(),
        band => format!("{} · {band}", document.title),
    }
}

fn plain_block(out: &mut String, block: &Block) {
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
            let rows = rows(table, str::to_owned);
            let widths = widths(&rows);
            for row in &rows {
                line(out, &format!("  {}", cells(table, row, &widths).join("  ")));
            }
            table.note.iter().for_each(|note| line(out, &format!("  {note}")));
        }
        Block::Figures(figures) => {
            figures.iter().for_each(|figure| line(out, &figure.alternative));
        }
        Block::Signatures(_) => {}
    }
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
        let text = plain(&document("a"));
        assert!(text.contains("\n  name   rate\n  a      9.00\n  b     10.00\n"), "{text}");
    }

    #[test]
    fn a_table_of_markdown_keeps_its_columns_whatever_is_in_them() {
        let text = markdown(&document("a|b <script>"));
        assert!(text.contains("| a\\|b \\<script\\> |  9.00 |"), "{text}");
        assert!(text.contains("| --------------- | ----: |"), "{text}");
    }
}

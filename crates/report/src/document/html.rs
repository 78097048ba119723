//! A document as one HTML file that needs nothing else and asks nobody for anything.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serializer;

use super::draw::{Anchor, Drawing, Ink, Mark, Pen, Point};
use super::{Banner, Block, Document, Fact, Figure, Side, Table, Tone};

/// Nothing is fetched and no script runs, whatever a label may contain.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
const STYLE: &str = include_str!("certificate.css");

/// The whole file; ends with a line feed.
pub fn html(document: &Document) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content="fullpipe";
                title { (document.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                @if !document.band.is_empty() { p.band role="note" { (document.band) } }
                main {
                    h1 { (document.title) }
                    @for part in parts(&document.blocks) {
                        @if let [Block::Heading(name), rest @ ..] = part {
                            section {
                                h2 { (name) }
                                @for block in rest { (self::block(block)) }
                            }
                        } @else {
                            @for block in part { (self::block(block)) }
                        }
                    }
                }
                footer { (document.foot) }
            }
        }
    };
    let mut text = page.into_string();
    text.push('\n');
    text
}

/// Each from a heading up to the next.
fn parts(blocks: &[Block]) -> impl Iterator<Item = &[Block]> {
    blocks.chunk_by(|_, next| !matches!(next, Block::Heading(_)))
}

fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => h2 { (text) },
            Block::Text(text) => p { (text) },
            Block::List(items) => ul { @for item in items { li { (item) } } },
            Block::Verdict(banner) => (self::banner(banner)),
            Block::Facts(facts) => (self::facts(facts)),
            Block::Table(table) => (self::table(table)),
            Block::Figures(figures) => div.figures { @for each in figures { (figure(each)) } },
            Block::Signatures(names) => (signatures(names)),
        }
    }
}

const fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Doubtful => "doubtful",
        Tone::Neutral => "neutral",
    }
}

fn banner(banner: &Banner) -> Markup {
    html! {
        p.verdict.(class(banner.tone)) role="status" {
            strong { (banner.word) }
            " "
            span { (banner.sentence) }
        }
    }
}

fn facts(facts: &[Fact]) -> Markup {
    html! {
        dl {
            @for fact in facts {
                div.long[fact.is_long()] { dt { (fact.name) } dd { (fact.text) } }
            }
        }
    }
}

fn side(table: &Table, column: usize) -> Option<&'static str> {
    match table.columns[column].side {
        Side::Left => table.is_after_figures(column).then_some("apart"),
        Side::Right => Some("figure"),
    }
}

fn table(table: &Table) -> Markup {
    html! {
        // What is wider than a telephone is scrolled, also by keyboard.
        div.wide tabindex="0" role="region" aria-label=(table.caption) {
            table {
                caption { (table.caption) }
                thead {
                    tr {
                        @for (place, column) in table.columns.iter().enumerate() {
                            th scope="col" class=[side(table, place)] { (column.head) }
                        }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr {
                            @for (place, cell) in row.iter().enumerate() {
                                td class=[side(table, place)] {
                                    @if cell.tone == Tone::Neutral {
                                        (cell.text)
                                    } @else {
                                        b.(class(cell.tone)) { (cell.text) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if let Some(note) = &table.note { p.note { (note) } }
        }
    }
}

fn figure(figure: &Figure) -> Markup {
    html! {
        figure.whole[figure.is_wide] {
            figcaption { (figure.caption) }
            (svg(&figure.drawing, &figure.alternative))
        }
    }
}

fn signatures(names: &[String]) -> Markup {
    html! {
        div.signatures { @for name in names { p { (name) } } }
    }
}

fn svg(drawing: &Drawing, alternative: &str) -> Markup {
    let view = format!("0 0 {} {}", short(drawing.width), short(drawing.height));
    html! {
        svg role="img" aria-label=(alternative) viewBox=(view) {
            title { (alternative) }
            @for mark in &drawing.marks { (self::mark(mark)) }
        }
    }
}

/// The drawing as the text of an SVG file, for a page that shows it as an image.
pub(super) fn serialize_svg<S: Serializer>(
    drawing: &Drawing,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let [width, height] = [drawing.width, drawing.height].map(short);
    let file = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("0 0 {width} {height}"))
            width=(width) height=(height) font-family="system-ui, sans-serif" {
            @for mark in &drawing.marks { (self::mark(mark)) }
        }
    };
    serializer.serialize_str(&file.into_string())
}

fn mark(mark: &Mark) -> Markup {
    match mark {
        Mark::Line { points, pen } => html! {
            polyline points=(list(points)) fill="none" stroke=(colour(pen.ink))
                stroke-width=(short(pen.width)) stroke-dasharray=[dashes(*pen)]
                stroke-linejoin="round" {}
        },
        Mark::Area { points, fill } => html! {
            polygon points=(list(points)) fill=(colour(*fill)) {}
        },
        Mark::Word { at, text, size, anchor, ink } => {
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            html! {
                text x=(short(at.0)) y=(short(at.1)) font-size=(short(*size))
                    text-anchor=(anchor) fill=(colour(*ink)) { (text) }
            }
        }
    }
}

fn colour(ink: Ink) -> String {
    let [red, green, blue] = ink.rgb();
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn dashes(pen: Pen) -> Option<String> {
    let lengths = pen.dash.lengths();
    let text = || lengths.iter().map(|length| short(*length)).collect::<Vec<_>>().join(" ");
    (!lengths.is_empty()).then(text)
}

fn list(points: &[Point]) -> String {
    let each = points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y)));
    each.collect::<Vec<_>>().join(" ")
}

/// To a hundredth of a point.
fn short(length: f64) -> String {
    let text = format!("{length:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::{Cell, columns};
    use super::*;

    fn document(text: &str) -> Document {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.word((1.0, 2.0), text, 7.0, Anchor::End, Ink::Black);
        let figure = Figure {
            caption: text.into(),
            alternative: text.into(),
            drawing,
            is_wide: false,
            plain: String::new(),
        };
        let table = Table {
            caption: text.into(),
            columns: columns(&["name", ">figure"]),
            rows: vec![vec![Cell::new(text), Cell::toned(text, Tone::Bad)]],
            note: Some(text.into()),
        };
        Document {
            title: text.into(),
            band: text.into(),
            foot: text.into(),
            blocks: vec![
                Block::Facts(vec![Fact::new("Label", text)]),
                Block::Heading(text.into()),
                Block::List(vec![text.into()]),
                Block::Table(table),
                Block::Figures(vec![figure]),
                Block::Signatures(vec![text.into()]),
            ],
        }
    }

    #[test]
    fn whatever_a_label_says_it_is_text() {
        let text = html(&document("<script>alert(\"1\")</script>&'"));
        assert!(!text.contains("<script"), "{text}");
        assert!(text.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;"));
    }

    #[test]
    fn nothing_is_fetched_from_anywhere() {
        let text = html(&document("plain"));
        for reference in ["src=", "href=", "url(", "@import", "http:", "https:"] {
            assert!(!text.contains(reference), "{reference}");
        }
    }

    #[test]
    fn a_table_is_a_table_and_a_picture_has_its_words() {
        let text = html(&document("plain"));
        assert!(text.contains("<th scope=\"col\" class=\"figure\">figure</th>"), "{text}");
        assert!(text.contains("<svg role=\"img\" aria-label=\"plain\""));
        assert!(text.contains("<b class=\"bad\">plain</b>"));
    }
}

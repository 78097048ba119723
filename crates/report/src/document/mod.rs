//! What a certificate says, before it is HTML, PDF, Markdown or plain text: every text in it is
//! final, so that all of them show the same figures.

pub(crate) mod draw;
mod html;
mod pdf;
mod plain;

use draw::Drawing;
pub use html::html;
pub use pdf::{Paper, PdfError, PdfFile, pdf};
pub(crate) use plain::plain_blocks;
pub use plain::{markdown, plain};
use serde::Serialize;

/// A document from its title to its last line.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub title: String,
    /// At the head of every page: what nobody may overlook who is shown one of them. Empty where there is
    /// nothing of the kind.
    pub band: String,
    /// At the foot of every page: which run this is.
    pub foot: String,
    pub blocks: Vec<Block>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// Begins a part of the document.
    Heading(String),
    Text(String),
    List(Vec<String>),
    Verdict(Banner),
    Facts(Vec<Fact>),
    Table(Table),
    /// Side by side where there is room.
    Figures(Vec<Figure>),
    /// Lines to write on by hand, each with what belongs there.
    Signatures(Vec<String>),
}

/// The verdict, to be seen from afar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Banner {
    pub tone: Tone,
    /// One word.
    pub word: String,
    pub sentence: String,
}

/// What colour underlines; the words say it as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tone {
    Good,
    Bad,
    Doubtful,
    Neutral,
}

/// Something with its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    pub name: String,
    pub text: String,
}

impl Fact {
    pub(crate) fn new(name: &str, text: impl Into<String>) -> Self {
        Self { name: name.to_owned(), text: text.into() }
    }

    /// It takes a line for itself: half of one would break it often.
    fn is_long(&self) -> bool {
        const CHARACTERS: usize = 56;
        self.text.chars().count() > CHARACTERS
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// What one has to know to read it.
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Column {
    pub head: String,
    pub side: Side,
}

/// At which side of their column texts stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Left,
    /// Figures, so that their digits stand below each other.
    Right,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
    /// What was reached and what would have been ideal, drawn at the end of the row in plain characters alone.
    #[serde(skip)]
    pub bar: Option<[f64; 2]>,
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::toned(text, Tone::Neutral)
    }

    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, bar: None }
    }
}

/// A drawing with what it shows, for those who see it and for those who do not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    pub caption: String,
    /// What can be read from it, in words.
    pub alternative: String,
    /// Serialized as an SVG file.
    #[serde(rename = "svg", serialize_with = "html::serialize_svg")]
    pub drawing: Drawing,
    /// It takes the whole width.
    pub is_wide: bool,
    /// The same in plain characters, line by line; empty where those cannot show it.
    #[serde(skip)]
    pub plain: String,
}

impl Table {
    /// Whether a column of words follows one of figures, which then stand too near.
    fn is_after_figures(&self, column: usize) -> bool {
        let side = |column: usize| self.columns.get(column).map(|column| column.side);
        side(column) == Some(Side::Left)
            && column.checked_sub(1).and_then(side) == Some(Side::Right)
    }
}

/// Columns by their heads; those whose head begins with `>` hold figures.
pub(crate) fn columns(heads: &[&str]) -> Vec<Column> {
    let column = |head: &&str| match head.strip_prefix('>') {
        Some(head) => Column { head: head.to_owned(), side: Side::Right },
        None => Column { head: (*head).to_owned(), side: Side::Left },
    };
    heads.iter().map(column).collect()
}

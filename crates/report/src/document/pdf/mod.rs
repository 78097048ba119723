//! A document as PDF: our own page layout, fonts inside, tagged so that it can be read aloud.

mod blocks;
mod figure;
mod file;
mod font;
mod press;
mod table;
mod tree;
mod wrap;

use super::{Block, Document};
use press::Press;

/// What a document is printed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paper {
    #[default]
    A4,
    Letter,
}

impl Paper {
    /// In points, a 72nd of an inch.
    const fn size(self) -> (f64, f64) {
        match self {
            Self::A4 => (595.28, 841.89),
            Self::Letter => (612.0, 792.0),
        }
    }
}

const LETTERS_LACK: &str = "The font of this file has Latin, Greek and Cyrillic letters. Where a \
                            question mark stands for another one, the same document as HTML shows it.";

/// Why a document could not be made: a fault of this program, not of the document.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error("cannot read the built-in font: {0}")]
    Font(#[from] ttf_parser::FaceParsingError),
    #[error("cannot take the letters out of the built-in font: {0}")]
    Letters(#[from] subsetter::Error),
}

/// The whole file; the same document gives the same bytes.
///
/// # Errors
/// A fault of the program.
pub fn pdf(document: &Document, paper: Paper) -> Result<Vec<u8>, PdfError> {
    let mut press = Press::new(paper)?;
    blocks::title(&mut press, &document.title);
    for (place, block) in document.blocks.iter().enumerate() {
        print(&mut press, block, &document.blocks[place + 1..]);
    }
    if press.fonts.lack_letters() {
        blocks::text(&mut press, LETTERS_LACK);
    }
    file::write(press, document)
}

fn print(press: &mut Press, block: &Block, rest: &[Block]) {
    match block {
        Block::Heading(text) => blocks::heading(press, text, least_height(rest)),
        Block::Text(text) => blocks::text(press, text),
        Block::List(items) => blocks::list(press, items),
        Block::Verdict(banner) => blocks::verdict(press, banner),
        Block::Facts(facts) => blocks::facts(press, facts),
        Block::Table(table) => table::table(press, table),
        Block::Figures(figures) => figure::figures(press, figures),
        Block::Signatures(names) => blocks::signatures(press, names),
    }
}

/// How much of what follows a heading needs on its page.
const fn least_height(rest: &[Block]) -> f64 {
    match rest {
        // Nobody signs an empty page.
        [Block::Facts(_), Block::Signatures(_), ..] => 170.0,
        [Block::Figures(_), ..] => 220.0,
        [Block::Table(_), ..] => 70.0,
        [_, ..] => 40.0,
        [] => 0.0,
    }
}

//! A document as PDF: our own page layout, fonts inside, tagged so that it can be read aloud.
//!
//! Characters that no built-in font has are named at the end of the document.

mod blocks;
mod figure;
mod file;
mod font;
mod press;
mod table;
mod tree;
mod wrap;

use std::collections::BTreeSet;

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

/// More letters are counted, not named.
const LACKING_MAX: usize = 12;

/// A document as a file.
#[derive(Clone, Debug)]
pub struct PdfFile {
    pub bytes: Vec<u8>,
    /// A sentence on what stands in it as a question mark, if anything does.
    pub lacks: Option<String>,
}

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
pub fn pdf(document: &Document, paper: Paper) -> Result<PdfFile, PdfError> {
    let mut press = Press::new(paper)?;
    blocks::title(&mut press, &document.title);
    for (place, block) in document.blocks.iter().enumerate() {
        print(&mut press, block, &document.blocks[place + 1..]);
    }
    let lacks = lacks(press.fonts.lacking());
    if let Some(sentence) = &lacks {
        blocks::text(&mut press, sentence);
    }
    Ok(PdfFile { bytes: file::write(press, document)?, lacks })
}

/// By their numbers: whatever reads this may lack the letters as well.
fn lacks(letters: &BTreeSet<char>) -> Option<String> {
    if letters.is_empty() {
        return None;
    }
    let named = letters.iter().take(LACKING_MAX).map(|letter| format!("U+{:04X}", *letter as u32));
    let named = named.collect::<Vec<_>>().join(", ");
    let more = match letters.len().saturating_sub(LACKING_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "The fonts of this file have no letter for {named}{more}: a question mark stands for each of \
         them. The same document as HTML shows them."
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> PdfFile {
        let blocks = vec![Block::Text(text.to_owned())];
        let document = Document {
            title: String::from("Test"),
            band: String::new(),
            foot: String::from("1"),
            blocks,
        };
        pdf(&document, Paper::A4).unwrap()
    }

    #[test]
    fn letters_that_no_font_has_are_named_by_their_numbers() {
        assert_eq!(made("Zürich → Łódź, Київ?").lacks, None);
        // U+4EAC and U+6771, each as often as it comes.
        let sentence = "The fonts of this file have no letter for U+4EAC, U+6771: a question mark \
                        stands for each of them. The same document as HTML shows them.";
        assert_eq!(made("東京, 京").lacks.as_deref(), Some(sentence));
    }

    #[test]
    fn of_very_many_letters_the_first_are_named_and_the_others_counted() {
        let sentence = |count: u32| {
            let letters: BTreeSet<char> =
                (0x4e00..0x4e00 + count).flat_map(char::from_u32).collect();
            lacks(&letters).unwrap()
        };
        assert!(sentence(12).contains("U+4E0A, U+4E0B: a question mark"), "{}", sentence(12));
        assert!(sentence(13).contains("U+4E0B and 1 more: a question mark"), "{}", sentence(13));
    }
}

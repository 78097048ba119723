//! The two faces of the built-in font: how wide words are, and which of their letters a document uses.

use std::collections::BTreeMap;

use subsetter::GlyphRemapper;
use ttf_parser::Face;

use super::PdfError;

const REGULAR: &[u8] = include_bytes!("../../../fonts/Roboto-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../../fonts/Roboto-Bold.ttf");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

pub(super) struct Fonts {
    pub(super) regular: Font,
    pub(super) bold: Font,
}

impl Fonts {
    pub(super) fn new() -> Result<Self, PdfError> {
        Ok(Self {
            regular: Font::new("Roboto-Regular", REGULAR)?,
            bold: Font::new("Roboto-Bold", BOLD)?,
        })
    }

    pub(super) const fn of(&self, weight: Weight) -> &Font {
        match weight {
            Weight::Regular => &self.regular,
            Weight::Bold => &self.bold,
        }
    }

    pub(super) const fn of_mut(&mut self, weight: Weight) -> &mut Font {
        match weight {
            Weight::Regular => &mut self.regular,
            Weight::Bold => &mut self.bold,
        }
    }

    /// Whether the document has letters that neither face shows as they are.
    pub(super) const fn lack_letters(&self) -> bool {
        self.regular.lacks_letters || self.bold.lacks_letters
    }
}

pub(super) struct Font {
    pub(super) name: &'static str,
    pub(super) data: &'static [u8],
    pub(super) face: Face<'static>,
    pub(super) letters: GlyphRemapper,
    /// By the letter's number in the document: what it stands for, and its width.
    pub(super) used: BTreeMap<u16, (char, f32)>,
    /// A question mark stood for another letter.
    lacks_letters: bool,
}

/// A letter in the font.
#[derive(Clone, Copy)]
struct Letter {
    glyph: u16,
    shown: char,
    /// In thousandths of the size.
    width: f64,
}

impl Font {
    fn new(name: &'static str, data: &'static [u8]) -> Result<Self, PdfError> {
        let face = Face::parse(data, 0)?;
        let (letters, used) = (GlyphRemapper::new(), BTreeMap::new());
        Ok(Self { name, data, face, letters, used, lacks_letters: false })
    }

    /// What the font has no letter for is shown as a question mark.
    fn letter(&self, c: char) -> Letter {
        let shown = match c {
            // A blank that does not end a line is as wide as one that does.
            '\u{a0}' | '\u{202f}' => ' ',
            c => c,
        };
        let (shown, id) = match self.face.glyph_index(shown) {
            Some(id) => (shown, id),
            None => ('?', self.face.glyph_index('?').unwrap_or_default()),
        };
        let advance = self.face.glyph_hor_advance(id).unwrap_or_default();
        let width = f64::from(advance) * 1000.0 / f64::from(self.face.units_per_em());
        Letter { glyph: id.0, shown, width }
    }

    /// In points.
    pub(super) fn width(&self, text: &str, size: f64) -> f64 {
        text.chars().map(|c| self.letter(c).width).sum::<f64>() * size / 1000.0
    }

    /// As the document has it: two bytes for each letter, which is then known to be used.
    pub(super) fn encoded(&mut self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * text.len());
        for c in text.chars() {
            let letter = self.letter(c);
            self.lacks_letters |= letter.shown == '?' && c != '?';
            let number = self.letters.remap(letter.glyph);
            self.used.entry(number).or_insert((letter.shown, letter.width as f32));
            bytes.extend(number.to_be_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_all_as_wide_as_each_other() {
        let fonts = Fonts::new().unwrap();
        for weight in [Weight::Regular, Weight::Bold] {
            let width = |digit: char| fonts.of(weight).width(&digit.to_string(), 10.0);
            assert!(('0'..='9').all(|digit| (width(digit) - width('0')).abs() < 1e-9));
        }
    }

    #[test]
    fn a_letter_that_is_not_there_is_noticed_and_a_question_mark_is_not() {
        let mut fonts = Fonts::new().unwrap();
        fonts.bold.encoded("who? Zürich, Ελλάδα");
        assert!(!fonts.lack_letters());
        fonts.bold.encoded("東京");
        assert!(fonts.lack_letters());
    }

    #[test]
    fn the_font_has_every_letter_that_documents_use_of_themselves() {
        let font = Fonts::new().unwrap().regular;
        for c in "×±µ–…%≥≤·°äößÉŁЖΩ€".chars() {
            assert_eq!(font.letter(c).shown, c);
        }
        assert_eq!(font.letter('漢').shown, '?');
    }
}

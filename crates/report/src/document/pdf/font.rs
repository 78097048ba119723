//! The built-in fonts: how wide words are, and which of their letters a document uses.

use std::collections::{BTreeMap, BTreeSet};

use subsetter::GlyphRemapper;
use ttf_parser::Face;

use super::PdfError;

const REGULAR: &[u8] = include_bytes!("../../../fonts/Roboto-Regular.ttf");
const BOLD: &[u8] = include_bytes!("../../../fonts/Roboto-Bold.ttf");
const SYMBOLS: &[u8] = include_bytes!("../../../fonts/DejaVuSans-Symbols.ttf");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Regular,
    Bold,
}

/// A font of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Regular,
    Bold,
    /// For what the others have no letter for; of one weight.
    Symbols,
}

impl Style {
    pub(super) const ALL: [Self; 3] = [Self::Regular, Self::Bold, Self::Symbols];
}

pub(super) struct Fonts {
    regular: Font,
    bold: Font,
    symbols: Font,
    /// What no font has a letter for: a question mark stands for it.
    lacking: BTreeSet<char>,
}

/// A part of a text that one font has, as the document has it: two bytes for each letter.
pub(super) struct Run {
    pub(super) style: Style,
    pub(super) bytes: Vec<u8>,
}

impl Fonts {
    pub(super) fn new() -> Result<Self, PdfError> {
        Ok(Self {
            regular: Font::new("Roboto-Regular", REGULAR)?,
            bold: Font::new("Roboto-Bold", BOLD)?,
            symbols: Font::new("DejaVuSans-Symbols", SYMBOLS)?,
            lacking: BTreeSet::new(),
        })
    }

    pub(super) const fn of(&self, style: Style) -> &Font {
        match style {
            Style::Regular => &self.regular,
            Style::Bold => &self.bold,
            Style::Symbols => &self.symbols,
        }
    }

    const fn of_mut(&mut self, style: Style) -> &mut Font {
        match style {
            Style::Regular => &mut self.regular,
            Style::Bold => &mut self.bold,
            Style::Symbols => &mut self.symbols,
        }
    }

    pub(super) const fn face(&self, weight: Weight) -> TypeFace<'_> {
        TypeFace { fonts: self, weight }
    }

    pub(super) const fn lacking(&self) -> &BTreeSet<char> {
        &self.lacking
    }

    /// The letters are then known to be used, and those that there are none for.
    pub(super) fn encoded(&mut self, text: &str, weight: Weight) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for c in text.chars() {
            let (style, letter) = self.letter(c, weight);
            if letter.shown == '?' && c != '?' {
                self.lacking.insert(c);
            }
            let number = self.of_mut(style).used(letter).to_be_bytes();
            match runs.last_mut() {
                Some(run) if run.style == style => run.bytes.extend(number),
                _ => runs.push(Run { style, bytes: number.to_vec() }),
            }
        }
        runs
    }

    /// Of the first font that has it; a question mark where none has.
    fn letter(&self, c: char, weight: Weight) -> (Style, Letter) {
        let shown = match c {
            // A blank that does not end a line is as wide as one that does.
            '\u{a0}' | '\u{202f}' => ' ',
            c => c,
        };
        let own = match weight {
            Weight::Regular => Style::Regular,
            Weight::Bold => Style::Bold,
        };
        let of = |style: Style| Some((style, self.of(style).letter(shown)?));
        of(own).or_else(|| of(Style::Symbols)).unwrap_or_else(|| {
            let none = Letter { glyph: 0, shown: '?', width: 0.0 };
            (own, self.of(own).letter('?').unwrap_or(none))
        })
    }
}

/// Letters of a weight, whichever fonts they are of.
#[derive(Clone, Copy)]
pub(super) struct TypeFace<'a> {
    fonts: &'a Fonts,
    weight: Weight,
}

impl TypeFace<'_> {
    /// In points.
    pub(super) fn width(self, text: &str, size: f64) -> f64 {
        let widths = text.chars().map(|c| self.fonts.letter(c, self.weight).1.width);
        widths.sum::<f64>() * size / 1000.0
    }
}

pub(super) struct Font {
    pub(super) name: &'static str,
    pub(super) data: &'static [u8],
    pub(super) face: Face<'static>,
    pub(super) letters: GlyphRemapper,
    /// By the letter's number in the document: what it stands for, and its width.
    pub(super) used: BTreeMap<u16, (char, f32)>,
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
        Ok(Self { name, data, face, letters: GlyphRemapper::new(), used: BTreeMap::new() })
    }

    fn letter(&self, shown: char) -> Option<Letter> {
        let id = self.face.glyph_index(shown)?;
        let advance = self.face.glyph_hor_advance(id).unwrap_or_default();
        let width = f64::from(advance) * 1000.0 / f64::from(self.face.units_per_em());
        Some(Letter { glyph: id.0, shown, width })
    }

    /// Its number in the document.
    fn used(&mut self, letter: Letter) -> u16 {
        let number = self.letters.remap(letter.glyph);
        self.used.entry(number).or_insert((letter.shown, letter.width as f32));
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_all_as_wide_as_each_other() {
        let fonts = Fonts::new().unwrap();
        for weight in [Weight::Regular, Weight::Bold] {
            let width = |digit: char| fonts.face(weight).width(&digit.to_string(), 10.0);
            assert!(('0'..='9').all(|digit| (width(digit) - width('0')).abs() < 1e-9));
        }
    }

    #[test]
    fn a_letter_that_is_not_there_is_noticed_and_a_question_mark_is_not() {
        let mut fonts = Fonts::new().unwrap();
        fonts.encoded("who? Zürich, Ελλάδα, Łódź, Київ, Hà Nội, Ἀθῆναι", Weight::Bold);
        assert!(fonts.lacking().is_empty());
        fonts.encoded("東京 and 京都", Weight::Regular);
        assert_eq!(fonts.lacking().iter().collect::<String>(), "京東都");
    }

    #[test]
    fn a_sign_that_one_font_lacks_is_of_another() {
        let mut fonts = Fonts::new().unwrap();
        let runs = fonts.encoded("a → b ∞", Weight::Bold);
        let styles: Vec<Style> = runs.iter().map(|run| run.style).collect();
        assert_eq!(styles, [Style::Bold, Style::Symbols, Style::Bold]);
        // Roboto has the sign of infinity itself.
        assert_eq!(runs.iter().map(|run| run.bytes.len()).collect::<Vec<_>>(), [4, 2, 8]);
        fonts.encoded("Երևան, თბილისი, ✓", Weight::Regular);
        assert!(fonts.lacking().is_empty());
    }

    #[test]
    fn the_font_has_every_letter_that_documents_use_of_themselves() {
        let font = Fonts::new().unwrap().regular;
        for c in "×±µ–…%≥≤·°äößÉŁЖΩ€".chars() {
            assert!(font.letter(c).is_some(), "{c}");
        }
        assert!(font.letter('漢').is_none());
    }
}

//! What a chart is drawn of: a short list of strokes, areas and words, written as SVG and as PDF.

/// A drawing; lengths are points, a 72nd of an inch, from its upper left corner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    pub width: f64,
    pub height: f64,
    pub marks: Vec<Mark>,
}

/// Right and down.
pub(crate) type Point = (f64, f64);

#[derive(Clone, Debug, PartialEq)]
pub enum Mark {
    /// From point to point.
    Line { points: Vec<Point>, pen: Pen },
    /// The area that the points enclose.
    Area { points: Vec<Point>, fill: Ink },
    /// `at` is at the foot of the letters.
    Word { at: Point, text: String, size: f64, anchor: Anchor, ink: Ink },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pen {
    pub ink: Ink,
    pub width: f64,
    pub dash: Dash,
}

/// Lines that cross stay apart without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dash {
    Solid,
    Dashed,
    Dotted,
}

impl Dash {
    /// Lengths of ink and gap.
    pub(crate) const fn lengths(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[4.0, 2.5],
            Self::Dotted => &[1.0, 2.0],
        }
    }
}

/// Colours that differ in lightness too, so that they do on paper without colour. What carries
/// words or thin lines has a contrast to white of 4.5 and more (WCAG 2.2, 1.4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Black,
    /// Axes and their words.
    Grey,
    /// Grids.
    Pale,
    /// What was measured.
    Blue,
    /// What it was to be: lighter, beside the measured.
    Sky,
    /// What went wrong.
    Red,
    /// What was measured besides.
    Green,
    /// What is doubtful.
    Brown,
}

impl Ink {
    /// Red, green, blue.
    pub(crate) const fn rgb(self) -> [u8; 3] {
        match self {
            Self::Black => [0x1a, 0x1d, 0x21],
            Self::Grey => [0x52, 0x5a, 0x63],
            Self::Pale => [0xd9, 0xdd, 0xe1],
            Self::Blue => [0x0b, 0x4f, 0x8a],
            Self::Sky => [0xb9, 0xd3, 0xea],
            Self::Red => [0xb3, 0x26, 0x1e],
            Self::Green => [0x2f, 0x6f, 0x3e],
            Self::Brown => [0x8a, 0x4b, 0x00],
        }
    }
}

/// Which part of a word is at its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

impl Pen {
    pub(crate) const fn new(ink: Ink, width: f64) -> Self {
        Self { ink, width, dash: Dash::Solid }
    }

    pub(crate) const fn dashed(self, dash: Dash) -> Self {
        Self { dash, ..self }
    }
}

impl Drawing {
    pub(crate) const fn new(width: f64, height: f64) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    pub(crate) fn line(&mut self, points: Vec<Point>, pen: Pen) {
        if points.len() > 1 {
            self.marks.push(Mark::Line { points, pen });
        }
    }

    /// From `(left, top)` to `(right, bottom)`.
    pub(crate) fn rectangle(&mut self, (left, top): Point, (right, bottom): Point, fill: Ink) {
        let points = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.marks.push(Mark::Area { points, fill });
    }

    pub(crate) fn word(
        &mut self,
        at: Point,
        text: impl Into<String>,
        size: f64,
        anchor: Anchor,
        ink: Ink,
    ) {
        self.marks.push(Mark::Word { at, text: text.into(), size, anchor, ink });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2's relative luminance.
    fn luminance(ink: Ink) -> f64 {
        let linear = |part: u8| {
            let share = f64::from(part) / 255.0;
            if share <= 0.04045 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        let [red, green, blue] = ink.rgb().map(linear);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn what_carries_words_and_lines_stands_out_from_the_paper() {
        for ink in [Ink::Black, Ink::Grey, Ink::Blue, Ink::Red, Ink::Green, Ink::Brown] {
            let contrast = 1.05 / (luminance(ink) + 0.05);
            assert!(contrast >= 4.5, "{ink:?}: {contrast:.2}");
        }
    }

    #[test]
    fn measured_and_wanted_differ_in_lightness_by_more_than_three_to_one() {
        let contrast = (luminance(Ink::Sky) + 0.05) / (luminance(Ink::Blue) + 0.05);
        assert!(contrast >= 3.0, "{contrast:.2}");
    }
}

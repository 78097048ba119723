//! Charts of figures that results have in series: scales, axes and legends that all of them share.

mod active;
mod course;
mod estimates;
mod followed;
pub(crate) mod overlay;
mod pairs;
mod plain;
mod rates;
pub(crate) mod scale;
pub(crate) mod slots;

use fp_model::figure::{Chart, Row};

use crate::build::ReadStep;
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Ink, Pen, Point};
use crate::stored::fields::Fields;
use scale::Scale;

/// Two charts stand beside each other on a page, one takes all of its width; in points.
pub(crate) const HALF: f64 = 250.0;
pub(crate) const WHOLE: f64 = 515.0;

/// Of the words in a chart.
pub(crate) const WORDS: f64 = 7.5;
/// What a letter of that size is wide, on average.
const LETTER: f64 = WORDS * 0.54;

/// The run whose steps are drawn.
pub(crate) struct Run<'a> {
    pub(crate) rows: &'a [Row],
    pub(crate) plan: Fields<'a>,
}

/// The drawings of the steps of a kind.
pub(crate) fn figures(chart: &Chart, steps: &[ReadStep<'_>], run: &Run<'_>) -> Vec<Figure> {
    let rows = || steps.iter().map(|(_, row)| *row);
    let by_direction = |figure: &dyn Fn(&str, &[&Row]) -> Option<Figure>| {
        let of = |direction| {
            let mine: Vec<&Row> = rows().filter(|row| row.direction() == direction).collect();
            figure(direction, &mine)
        };
        ["download", "upload", "bidirectional"].into_iter().filter_map(of).collect()
    };
    match chart {
        Chart::Pairs(chart) => by_direction(&|way, rows| pairs::figure(chart, way, rows)),
        Chart::Reached(chart) => by_direction(&|way, rows| rates::reached(chart, way, rows)),
        Chart::Curves(chart) => by_direction(&|way, rows| rates::curves(chart, way, rows)),
        Chart::Estimates(chart) => {
            let percent = run.plan.number(chart.tolerance).unwrap_or(0.0);
            by_direction(&|way, rows| estimates::figure(chart, way, rows, percent))
        }
        Chart::Course(chart) => course::figures(chart, steps, run.rows),
        Chart::Followed(chart) => rows().filter_map(|row| followed::figure(chart, row)).collect(),
        Chart::Active(chart) => {
            steps.iter().filter_map(|step| active::figure(chart, *step)).collect()
        }
    }
}

/// A drawing that plain characters do not show.
fn drawn(caption: String, alternative: String, drawing: Drawing) -> Figure {
    let is_wide = drawing.width >= WHOLE;
    Figure { caption, alternative, drawing, is_wide, plain: String::new() }
}

/// The part of a drawing in which a figure is drawn over another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panel {
    pub(crate) across: Scale,
    /// Upwards.
    pub(crate) up: Scale,
}

impl Panel {
    pub(crate) fn point(&self, across: f64, up: f64) -> Point {
        (self.across.at(across), self.up.at(up))
    }

    const fn left(&self) -> f64 {
        self.across.edges().0
    }

    const fn right(&self) -> f64 {
        self.across.edges().1
    }

    const fn foot(&self) -> f64 {
        self.up.edges().0
    }

    const fn top(&self) -> f64 {
        self.up.edges().1
    }

    /// A line of the grid for each tick, its value beside it, and what is drawn above the corner.
    pub(crate) fn up_axis(&self, drawing: &mut Drawing, name: &str, ticks: usize) {
        for tick in self.up.ticks(ticks) {
            let at = self.up.at(tick);
            drawing.line(vec![(self.left(), at), (self.right(), at)], Pen::new(Ink::Pale, 0.5));
            let text = self.up.label(tick, ticks);
            let place = (self.left() - 4.0, at + WORDS * 0.35);
            drawing.word(place, text, WORDS, Anchor::End, Ink::Grey);
        }
        let place = (self.left() - 4.0, self.top() - 6.0);
        drawing.word(place, name, WORDS, Anchor::Start, Ink::Black);
    }

    /// The line at the foot, with or without values, and the name below.
    pub(crate) fn foot_line(&self, drawing: &mut Drawing) {
        let (from, to) = ((self.left(), self.foot()), (self.right(), self.foot()));
        drawing.line(vec![from, to], Pen::new(Ink::Grey, 0.8));
    }

    pub(crate) fn across_axis(&self, drawing: &mut Drawing, name: &str, ticks: usize) {
        self.foot_line(drawing);
        for tick in self.across.ticks(ticks) {
            let at = self.across.at(tick);
            let foot = self.foot();
            drawing.line(vec![(at, foot), (at, foot + 2.5)], Pen::new(Ink::Grey, 0.8));
            let text = self.across.label(tick, ticks);
            drawing.word((at, foot + 11.0), text, WORDS, Anchor::Middle, Ink::Grey);
        }
        let place = (f64::midpoint(self.left(), self.right()), self.foot() + 21.5);
        drawing.word(place, name, WORDS, Anchor::Middle, Ink::Black);
    }
}

/// How a line or an area of a legend looks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Line(Pen),
    Area(Ink),
}

/// Keys with their words, in one line that ends at `(right, foot)`.
pub(crate) fn legend(drawing: &mut Drawing, (right, foot): Point, keys: &[(Key, &str)]) {
    const KEY: f64 = 14.0;
    const GAP: f64 = 10.0;
    let widths = keys.iter().map(|(_, text)| KEY + 3.0 + width(text) + GAP);
    let mut at = right - widths.sum::<f64>() + GAP;
    for (key, text) in keys {
        let middle = foot - WORDS * 0.32;
        match key {
            Key::Line(pen) => drawing.line(vec![(at, middle), (at + KEY, middle)], *pen),
            Key::Area(ink) => {
                drawing.rectangle((at + 4.0, middle - 3.0), (at + KEY, middle + 3.0), *ink);
            }
        }
        drawing.word((at + KEY + 3.0, foot), *text, WORDS, Anchor::Start, Ink::Black);
        at += KEY + 3.0 + width(text) + GAP;
    }
}

/// About as wide as this is, drawn in the size of a chart's words.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// The unit in which rates up to this are shown: its name and bits per second.
pub(crate) fn rate_unit(most_bps: f64) -> (&'static str, f64) {
    match most_bps {
        bps if bps >= 10e9 => ("Gbit/s", 1e9),
        bps if bps >= 1e6 => ("Mbit/s", 1e6),
        bps if bps >= 1e3 => ("kbit/s", 1e3),
        _ => ("bit/s", 1.0),
    }
}

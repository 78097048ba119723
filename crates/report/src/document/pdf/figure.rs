//! Charts, two beside each other where they are not wide.

use pdf_writer::types::StructRole;

use super::press::{MARGIN, Press, Type};
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Mark, Point};

const CAPTION: Type = Type::bold(9.0);
const ABOVE: f64 = 13.0;

pub(super) fn figures(press: &mut Press, figures: &[Figure]) {
    let is_pair = |one: &Figure, other: &Figure| !one.is_wide && !other.is_wide;
    let mut left = figures;
    while let [first, rest @ ..] = left {
        let count = match rest.first() {
            Some(second) if is_pair(first, second) => 2,
            _ => 1,
        };
        row(press, &left[..count]);
        left = &left[count..];
    }
}

fn row(press: &mut Press, figures: &[Figure]) {
    let height = figures.iter().map(|figure| figure.drawing.height).fold(0.0, f64::max) + ABOVE;
    press.space(10.0);
    press.need(height);
    let top = press.at;
    for (place, figure) in figures.iter().enumerate() {
        // The second ends at the margin.
        let from = if place == 0 { 0.0 } else { press.width() - figure.drawing.width };
        let left = MARGIN + from;
        let caption = press.node(StructRole::P);
        press.print(caption, |press| press.words((left, top + 9.0), &figure.caption, CAPTION));
        let node = press.node(StructRole::Figure);
        press.tree.describe(node, &figure.alternative);
        press.print(node, |press| drawing(press, (left, top + ABOVE), &figure.drawing));
    }
    press.at = top + height;
}

fn drawing(press: &mut Press, (left, top): Point, drawing: &Drawing) {
    let moved = |points: &[Point]| -> Vec<Point> {
        points.iter().map(|(x, y)| (left + x, top + y)).collect()
    };
    for mark in &drawing.marks {
        match mark {
            Mark::Line { points, pen } => press.line(&moved(points), *pen),
            Mark::Area { points, fill } => press.area(&moved(points), *fill),
            Mark::Word { at: (x, y), text, size, anchor, ink } => {
                let letters = Type::regular(*size).in_ink(*ink);
                let width = press.width_of(text, letters);
                let back = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => width / 2.0,
                    Anchor::End => width,
                };
                press.words((left + x - back, top + y), text, letters);
            }
        }
    }
}

//! The course of a transfer in two runs, over each other.

use fp_model::figure::{Block, Chart};

use super::scale::Scale;
use super::slots::{self, Slot};
use super::{HALF, Key, Panel, drawn, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen};
use crate::read;
use crate::stored::fields::Fields;

const HEIGHT: f64 = 134.0;
const FIRST: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };
const SECOND: Pen = Pen::new(Ink::Blue, 1.3);
const FIGURES_MAX: usize = 6;

/// Of the trials and sums that both results have.
pub(crate) fn figures(first: Fields<'_>, second: Fields<'_>) -> Vec<Figure> {
    let before = courses(first);
    let mut figures = Vec::new();
    for (name, layer, step) in courses(second) {
        let Some((.., other)) = before.iter().find(|(known, ..)| *known == name) else { continue };
        figures.extend(figure(&name, layer, &slots::of(*other), &slots::of(step)));
        if figures.len() == FIGURES_MAX {
            break;
        }
    }
    figures
}

/// The steps whose kinds have their courses drawn, each with its name and the layer of its rates.
fn courses(result: Fields<'_>) -> Vec<(String, &'static str, Fields<'_>)> {
    let of = |step| {
        let row = read::row(step)?;
        let course = |block: &Block| match block {
            Block::Chart(Chart::Course(course)) => Some(*course),
            _ => None,
        };
        let course = row.kind.blocks.iter().find_map(course)?;
        Some(((course.name)(&row)?, (course.layer)(&row), step))
    };
    result.each("steps").filter_map(of).collect()
}

fn figure(name: &str, layer: &str, first: &[Slot], second: &[Slot]) -> Option<Figure> {
    let until_s = first.last()?.until_s().max(second.last()?.until_s());
    let most = first.iter().chain(second).map(|slot| slot.bps).fold(0.0, f64::max);
    let (unit, each) = rate_unit(most);
    let panel = Panel {
        across: Scale::new((0.0, until_s), (34.0, HALF - 6.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 26.0, 22.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit} ({layer})"), 4);
    panel.across_axis(&mut drawing, "seconds", 6);
    for (slots, pen) in [(first, FIRST), (second, SECOND)] {
        let points = slots.iter().flat_map(|slot| {
            let at = slot.bps / each;
            [panel.point(slot.from_s, at), panel.point(slot.until_s(), at)]
        });
        drawing.line(points.collect(), pen);
    }
    let keys = [(Key::Line(FIRST), "first"), (Key::Line(SECOND), "second")];
    legend(&mut drawing, (HALF - 6.0, 16.0), &keys);
    let mean = |slots: &[Slot]| {
        let seconds: f64 = slots.iter().map(|slot| slot.lasts_s).sum();
        slots.iter().map(|slot| slot.bps * slot.lasts_s).sum::<f64>() / seconds.max(1e-9) / each
    };
    let alternative = format!(
        "{name}: rate over {until_s:.1} s, {:.2} {unit} on average in the first run, {:.2} {unit} \
         in the second.",
        mean(first),
        mean(second)
    );
    Some(drawn(name.to_owned(), alternative, drawing))
}

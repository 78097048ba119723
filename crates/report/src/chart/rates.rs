//! What was reached at each frame length beside what was possible, and a curve for each frame length: the graphs of
//! RFC 2544.

use fp_model::figure::{Curves, Drawn, Part, Reached, Row};

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, drawn, legend};
use crate::document::Figure;
use crate::document::draw::{Anchor, Dash, Drawing, Ink, Pen, Point};
use crate::text::{grouped, unknown};

const HEIGHT: f64 = 170.0;
const MEASURED: Pen = Pen::new(Ink::Blue, 1.4);
const THEORETICAL: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };

/// `None` of a single point, and where nothing was possible.
pub(super) fn reached(chart: &Reached, way: &str, steps: &[&Row]) -> Option<Figure> {
    let Reached { across, possible, reached, .. } = chart;
    let highest = |drawn: &Drawn| {
        steps.iter().filter_map(|step| step.estimate(drawn.field)).fold(0.0, f64::max)
    };
    let (longest, most) = (highest(across), highest(possible).max(highest(reached)));
    if most <= 0.0 || steps.len() < 2 {
        return None;
    }
    let (unit, each) = if most >= 10_000.0 { ("1000 ", 1e3) } else { ("", 1.0) };
    let panel = Panel {
        across: Scale::new((0.0, longest * 1.02), (38.0, HALF - 8.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 32.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit}{}", chart.unit), 4);
    panel.across_axis(&mut drawing, across.words, 6);
    let mut line = |drawn: &Drawn, pen: Pen, has_marks: bool| {
        let point = |step: &&Row| {
            Some(panel.point(step.estimate(across.field)?, step.estimate(drawn.field)? / each))
        };
        let points: Vec<Point> = steps.iter().filter_map(point).collect();
        if has_marks {
            points.iter().for_each(|point| mark(&mut drawing, *point));
        }
        drawing.line(points, pen);
    };
    line(possible, THEORETICAL, false);
    line(reached, MEASURED, true);
    let keys = [(Key::Line(THEORETICAL), possible.words), (Key::Line(MEASURED), reached.words)];
    legend(&mut drawing, (HALF - 8.0, 20.0), &keys);
    let told = steps.iter().map(|step| {
        let rate =
            step.estimate(reached.field).map_or_else(unknown, |rate| grouped(rate.max(0.0) as u64));
        format!("{} bytes: {rate} {}", step.grouped(across.field), chart.unit)
    });
    let caption = format!("{}, {way}", chart.caption);
    let alternative = format!("{caption}: {}.", told.collect::<Vec<_>>().join("; "));
    Some(drawn(caption, alternative, drawing))
}

fn mark(drawing: &mut Drawing, (across, up): Point) {
    drawing.rectangle((across - 2.0, up - 2.0), (across + 2.0, up + 2.0), Ink::Blue);
}

/// `None` where every point is at the foot: the table says so.
pub(super) fn curves(chart: &Curves, way: &str, steps: &[&Row]) -> Option<Figure> {
    let Curves { across, up, .. } = chart;
    let points = |step: &Row| -> Vec<Point> {
        let point = |part: &Part| Some((part.estimate(across.field)?, part.estimate(up.field)?));
        step.parts(chart.points).iter().filter_map(point).collect()
    };
    let most = steps.iter().flat_map(|step| points(step)).map(|(_, up)| up).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let panel = Panel {
        across: Scale::new((0.0, 100.0), (38.0, HALF - 34.0)),
        up: Scale::from_zero(most, 4, (HEIGHT - 32.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, up.words, 4);
    panel.across_axis(&mut drawing, across.words, 5);
    let pens = [Dash::Solid, Dash::Dashed, Dash::Dotted];
    let mut told = Vec::new();
    let mut labels = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let (points, name) = (points(step), step.grouped(chart.name));
        let Some((_, highest)) = points.first().copied() else { continue };
        if points.iter().all(|(_, up)| *up <= 0.0) {
            continue;
        }
        let pen = Pen::new(Ink::Blue, 1.1).dashed(pens[place % pens.len()]);
        drawing.line(points.iter().map(|(at, up)| panel.point(*at, *up)).collect(), pen);
        told.push(format!("{name} bytes: {highest:.3} %"));
        labels.push((panel.point(100.0, highest).1, name));
    }
    for (at, text) in apart(labels) {
        let place = (HALF - 31.0, at + WORDS * 0.35);
        drawing.word(place, text, WORDS, Anchor::Start, Ink::Grey);
    }
    let caption = format!("{}, {way}", chart.caption);
    let alternative = format!("{caption}; at the highest rate {}.", told.join("; "));
    Some(drawn(caption, alternative, drawing))
}

/// Labels at these heights, moved so that none covers another.
fn apart(mut labels: Vec<(f64, String)>) -> Vec<(f64, String)> {
    labels.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let mut lowest = f64::NEG_INFINITY;
    for (at, _) in &mut labels {
        *at = at.max(lowest + WORDS);
        lowest = *at;
    }
    labels
}

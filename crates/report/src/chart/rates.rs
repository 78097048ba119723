//! The graphs of RFC 2544: frame rate over frame length beside the theoretical maximum, frame loss
//! over the offered rate.

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, legend};
use crate::document::Figure;
use crate::document::draw::{Anchor, Dash, Drawing, Ink, Pen, Point};
use crate::stored::fields::Fields;
use crate::text::grouped;

const HEIGHT: f64 = 170.0;
const MEASURED: Pen = Pen::new(Ink::Blue, 1.4);
const THEORETICAL: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };
const WAYS: [&str; 3] = ["download", "upload", "bidirectional"];

fn of_way<'a>(steps: &[Fields<'a>], way: &str) -> Vec<Fields<'a>> {
    steps.iter().copied().filter(|step| step.word("direction") == way).collect()
}

//= rfc2544 26.1
/// Frames a second over the frame length, one figure for each way.
pub(crate) fn throughput(steps: &[Fields<'_>]) -> Vec<Figure> {
    WAYS.into_iter().filter_map(|way| throughput_of(way, &of_way(steps, way))).collect()
}

fn throughput_of(way: &str, steps: &[Fields<'_>]) -> Option<Figure> {
    let lengths = steps.iter().filter_map(|step| step.number("frame_bytes"));
    let longest = lengths.fold(0.0, f64::max);
    let rates = |field: &'static str| steps.iter().filter_map(move |step| step.number(field));
    let most = rates("theoretical_fps").chain(rates("rate_fps")).fold(0.0, f64::max);
    if most <= 0.0 || steps.len() < 2 {
        return None;
    }
    let (unit, each) = if most >= 10_000.0 { ("1000 frames/s", 1e3) } else { ("frames/s", 1.0) };
    let panel = Panel {
        across: Scale::new((0.0, longest * 1.02), (38.0, HALF - 8.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 32.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, unit, 4);
    panel.across_axis(&mut drawing, "frame (bytes)", 6);
    let mut line = |field: &str, pen: Pen, has_marks: bool| {
        let points: Vec<Point> = steps
            .iter()
            .filter_map(|step| {
                Some(panel.point(step.number("frame_bytes")?, step.number(field)? / each))
            })
            .collect();
        if has_marks {
            points.iter().for_each(|point| mark(&mut drawing, *point));
        }
        drawing.line(points, pen);
    };
    line("theoretical_fps", THEORETICAL, false);
    line("rate_fps", MEASURED, true);
    let keys = [(Key::Line(THEORETICAL), "theoretical"), (Key::Line(MEASURED), "throughput")];
    legend(&mut drawing, (HALF - 8.0, 20.0), &keys);
    let told: Vec<String> = steps
        .iter()
        .map(|step| {
            format!(
                "{} bytes: {} frames/s",
                step.grouped("frame_bytes"),
                whole(step.number("rate_fps"))
            )
        })
        .collect();
    Some(Figure {
        caption: format!("Throughput by frame length, {way}"),
        alternative: format!("Throughput by frame length, {way}: {}.", told.join("; ")),
        drawing,
        is_wide: false,
        plain: String::new(),
    })
}

fn whole(value: Option<f64>) -> String {
    value.map_or_else(crate::text::unknown, |value| grouped(value.max(0.0) as u64))
}

fn mark(drawing: &mut Drawing, (across, up): Point) {
    drawing.rectangle((across - 2.0, up - 2.0), (across + 2.0, up + 2.0), Ink::Blue);
}

//= rfc2544 26.3
/// Loss over the offered rate, each frame length a line with its length at the end.
pub(crate) fn loss(steps: &[Fields<'_>]) -> Vec<Figure> {
    WAYS.into_iter().filter_map(|way| loss_of(way, &of_way(steps, way))).collect()
}

fn loss_of(way: &str, steps: &[Fields<'_>]) -> Option<Figure> {
    let losses = steps.iter().flat_map(|step| step.each("trials"));
    let most = losses.filter_map(|trial| trial.number("loss_percent")).fold(0.0, f64::max);
    // Where nothing was lost the table says so.
    if most <= 0.0 {
        return None;
    }
    let panel = Panel {
        across: Scale::new((0.0, 100.0), (38.0, HALF - 34.0)),
        up: Scale::from_zero(most, 4, (HEIGHT - 32.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, "lost (%)", 4);
    panel.across_axis(&mut drawing, "offered (% of the highest rate)", 5);
    let pens = [Dash::Solid, Dash::Dashed, Dash::Dotted];
    let mut told = Vec::new();
    let mut labels = Vec::new();
    for (place, step) in steps.iter().enumerate() {
        let points: Vec<(f64, f64)> = step
            .each("trials")
            .filter_map(|trial| {
                Some((trial.number("percent_of_highest")?, trial.number("loss_percent")?))
            })
            .collect();
        let Some((_, highest)) = points.first().copied() else { continue };
        if points.iter().all(|(_, lost)| *lost <= 0.0) {
            continue;
        }
        let pen = Pen::new(Ink::Blue, 1.1).dashed(pens[place % pens.len()]);
        drawing.line(points.iter().map(|(at, lost)| panel.point(*at, *lost)).collect(), pen);
        labels.push((panel.point(100.0, highest).1, step.grouped("frame_bytes")));
        told.push(format!("{} bytes: {highest:.3} %", step.grouped("frame_bytes")));
    }
    for (at, text) in apart(labels) {
        let place = (HALF - 31.0, at + WORDS * 0.35);
        drawing.word(place, text, WORDS, Anchor::Start, Ink::Grey);
    }
    Some(Figure {
        caption: format!("Frame loss by offered rate, {way}"),
        alternative: format!(
            "Frame loss by offered rate, {way}; at the highest rate {}.",
            told.join("; ")
        ),
        drawing,
        is_wide: false,
        plain: String::new(),
    })
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

//! A rate profile: what was asked for, what was sent and what came through.

use fp_model::figure::series::{DT, T};
use fp_model::figure::{Followed, Part, Row};

use super::plain::{Axes, Bar, COLUMNS, bars};
use super::scale::Scale;
use super::{Key, Panel, WHOLE, drawn, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen, Point};

const HEIGHT: f64 = 190.0;
const RECEIVED: Pen = Pen::new(Ink::Blue, 1.4);
const SENT: Pen = Pen { ink: Ink::Green, width: 1.0, dash: Dash::Dotted };
const TARGET: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };
/// More cannot be told apart in print.
const POINTS_MAX: usize = 400;

/// `None` of a profile without intervals.
pub(super) fn figure(chart: &Followed, step: &Row) -> Option<Figure> {
    let all = step.parts(chart.intervals);
    let until_s = until_s(all.last()?)?;
    let each = all.len().div_ceil(POINTS_MAX).max(1);
    let of = |interval: &Part| {
        chart.rates.iter().filter_map(|rate| interval.estimate(rate.field)).fold(0.0, f64::max)
    };
    let most = all.iter().map(of).fold(0.0, f64::max);
    let (unit, bps) = rate_unit(most);
    let panel = Panel {
        across: Scale::new((0.0, until_s), (38.0, WHOLE - 8.0)),
        up: Scale::from_zero(most / bps, 5, (HEIGHT - 32.0, 26.0)),
    };
    let mut drawing = Drawing::new(WHOLE, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit} of payload (l4)"), 5);
    panel.across_axis(&mut drawing, "seconds", 10);
    let pens = [TARGET, SENT, RECEIVED];
    for (rate, pen) in chart.rates.iter().zip(pens) {
        let points = all.chunks(each).filter_map(|chunk| point(&panel, chunk, rate.field, bps));
        drawing.line(points.collect(), pen);
    }
    let keys: Vec<(Key, &str)> =
        pens.into_iter().zip(chart.rates).map(|(pen, rate)| (Key::Line(pen), rate.words)).collect();
    legend(&mut drawing, (WHOLE - 8.0, 20.0), &keys);
    let name = (chart.name)(step);
    let [target, sent, received] = chart.rates.map(|rate| rate.words);
    let error = format!("{} {}", chart.error.words, step.shown(chart.error.field));
    let alternative = format!(
        "{name}: {target}, {sent} and {received} rate over {until_s:.1} s, up to {:.2} {unit}; {error}.",
        most / bps
    );
    let plain = plain(all, chart.rates.map(|rate| rate.field), until_s);
    Some(Figure { plain, ..drawn(name, alternative, drawing) })
}

/// As many bars as there are intervals, or as fit; a few are wide.
fn plain(intervals: &[Part], [target, _, received]: [&str; 3], until_s: f64) -> String {
    let count = intervals.len().min(COLUMNS);
    let wide = if count * 2 <= COLUMNS { COLUMNS / count } else { 1 };
    let bar = |place: usize| {
        let from = place * intervals.len() / count;
        let until = ((place + 1) * intervals.len() / count).max(from + 1);
        let part = &intervals[from..until];
        let mean = |field| {
            let mbps =
                part.iter().filter_map(|interval| interval.estimate(field)).map(|bps| bps / 1e6);
            mbps.sum::<f64>() / part.len() as f64
        };
        Bar { reached: mean(received), wanted: mean(target) }
    };
    let all: Vec<Bar> = (0..count).flat_map(|place| vec![bar(place); wide]).collect();
    let axes = Axes {
        unit: "Mbit/s",
        shown: |mbps| format!("{mbps:.1}"),
        top: 1e-9,
        from_s: intervals[0].estimate(T.field).unwrap_or_default(),
        until_s,
        key: "# received   . asked for and not received   (l4)",
    };
    bars(&all, &axes)
}

/// In the middle of its time.
fn point(panel: &Panel, chunk: &[Part], field: &str, bps: f64) -> Option<Point> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    let middle = f64::midpoint(first.estimate(T.field)?, until_s(last)?);
    let values: Vec<f64> = chunk.iter().filter_map(|interval| interval.estimate(field)).collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    (!values.is_empty()).then(|| panel.point(middle, mean / bps))
}

fn until_s(interval: &Part) -> Option<f64> {
    Some(interval.estimate(T.field)? + interval.estimate(DT.field)?)
}

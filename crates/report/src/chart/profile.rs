//! A rate profile: what was asked for, what was sent and what came through.

use super::plain::{Axes, Bar, COLUMNS, bars};
use super::scale::Scale;
use super::{Key, Panel, WHOLE, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen, Point};
use crate::stored::fields::Fields;

const HEIGHT: f64 = 190.0;
const RECEIVED: Pen = Pen::new(Ink::Blue, 1.4);
const SENT: Pen = Pen { ink: Ink::Green, width: 1.0, dash: Dash::Dotted };
const TARGET: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };
/// More cannot be told apart in print.
const POINTS_MAX: usize = 400;

/// `None` of a profile without intervals.
pub(crate) fn figure(step: Fields<'_>) -> Option<Figure> {
    let all: Vec<Fields<'_>> = step.each("intervals").collect();
    let last = all.last()?;
    let until_s = last.number("t_s")? + last.number("dt_s")?;
    let each = all.len().div_ceil(POINTS_MAX).max(1);
    let intervals: Vec<&[Fields<'_>]> = all.chunks(each).collect();
    let fields = ["target_bps", "sent_bps", "received_bps"];
    let of = |interval: &Fields<'_>| {
        fields.iter().filter_map(|field| interval.number(field)).fold(0.0, f64::max)
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
    for (field, pen) in fields.into_iter().zip([TARGET, SENT, RECEIVED]) {
        let points = intervals.iter().filter_map(|chunk| point(&panel, chunk, field, bps));
        drawing.line(points.collect(), pen);
    }
    let keys = [
        (Key::Line(TARGET), "target"),
        (Key::Line(SENT), "sent"),
        (Key::Line(RECEIVED), "received"),
    ];
    legend(&mut drawing, (WHOLE - 8.0, 20.0), &keys);
    let name = format!("{}, {}", step.word("profile"), step.word("direction"));
    let error = step.decimals("tracking_error_percent", 2, "%");
    Some(Figure {
        alternative: format!(
            "{name}: target, sent and received rate over {until_s:.1} s, up to {:.2} {unit}; \
             tracking error {error}.",
            most / bps
        ),
        caption: name,
        drawing,
        is_wide: true,
        plain: plain(&all, until_s),
    })
}

/// As many bars as there are intervals, or as fit; a few are wide.
fn plain(intervals: &[Fields<'_>], until_s: f64) -> String {
    let count = intervals.len().min(COLUMNS);
    let wide = if count * 2 <= COLUMNS { COLUMNS / count } else { 1 };
    let bar = |place: usize| {
        let from = place * intervals.len() / count;
        let until = ((place + 1) * intervals.len() / count).max(from + 1);
        let part = &intervals[from..until];
        let mean = |field| {
            let mbps =
                part.iter().filter_map(|interval| interval.number(field)).map(|bps| bps / 1e6);
            mbps.sum::<f64>() / part.len() as f64
        };
        Bar { reached: mean("received_bps"), wanted: mean("target_bps") }
    };
    let all: Vec<Bar> = (0..count).flat_map(|place| vec![bar(place); wide]).collect();
    let axes = Axes {
        unit: "Mbit/s",
        shown: |mbps| format!("{mbps:.1}"),
        top: 1e-9,
        from_s: intervals[0].number("t_s").unwrap_or_default(),
        until_s,
        key: "# received   . asked for and not received   (l4)",
    };
    bars(&all, &axes)
}

/// In the middle of its time.
fn point(panel: &Panel, chunk: &[Fields<'_>], field: &str, bps: f64) -> Option<Point> {
    let (first, last) = (chunk.first()?, chunk.last()?);
    let middle = f64::midpoint(first.number("t_s")?, last.number("t_s")? + last.number("dt_s")?);
    let values: Vec<f64> = chunk.iter().filter_map(|interval| interval.number(field)).collect();
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    (!values.is_empty()).then(|| panel.point(middle, mean / bps))
}

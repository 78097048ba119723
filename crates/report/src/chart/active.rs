//! How many connections were active over time, against the number that was asked for.

use fp_model::figure::Active;
use fp_model::figure::series::{self, DT, T};

use super::plain::{Axes, Bar, COLUMNS, bars};
use super::scale::Scale;
use super::{Key, Panel, WHOLE, drawn, legend};
use crate::build::ReadStep;
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen};
use crate::stored::fields::Fields;
use crate::text::grouped;

const LEFT: f64 = 40.0;
const HEIGHT: f64 = 150.0;
const ACTIVE: Pen = Pen::new(Ink::Blue, 1.2);
const TARGET: Pen = Pen { ink: Ink::Grey, width: 0.9, dash: Dash::Dashed };
/// More cannot be told apart in print.
const POINTS_MAX: usize = 320;

/// `None` of a step without a series, and where no connection was ever active.
pub(super) fn figure(chart: &Active, (step, row): ReadStep<'_>) -> Option<Figure> {
    let points = points(step);
    let until_s = points.last()?.0;
    let highest = points.iter().map(|(_, active)| *active).fold(0.0, f64::max);
    let target = row.estimate(chart.target).unwrap_or_default();
    let (unit, each) = unit(highest.max(target));
    let mut drawing = Drawing::new(WHOLE, HEIGHT);
    let up = Scale::from_zero(highest.max(target) / each, 4, (HEIGHT - 30.0, 22.0));
    let across = Scale::new((0.0, until_s), (LEFT, WHOLE - 6.0));
    let panel = Panel { across, up };
    panel.up_axis(&mut drawing, unit, 4);
    let at = panel.up.at(target / each);
    let ends = [0.0, until_s].map(|seconds| (panel.across.at(seconds), at));
    drawing.line(ends.to_vec(), TARGET);
    let line = points.iter().map(|(at_s, active)| panel.point(*at_s, active / each)).collect();
    drawing.line(line, ACTIVE);
    let keys = [(Key::Line(ACTIVE), "active"), (Key::Line(TARGET), "asked for")];
    legend(&mut drawing, (panel.right(), panel.top() - 6.0), &keys);
    panel.across_axis(&mut drawing, "seconds", 8);
    let plain = plain(&points, highest.max(target));
    let [highest, target] = [highest, target].map(|count| grouped(count as u64));
    let alternative =
        format!("{} over {until_s:.1} s: {highest} at most, {target} asked for.", chart.caption);
    Some(Figure { plain, ..drawn(chart.caption.to_owned(), alternative, drawing) })
}

/// How many there were at the end of each bar's share of the time, as long as there were any.
fn plain(points: &[(f64, f64)], top: f64) -> String {
    let until_s = points.iter().rfind(|(_, active)| *active > 0.0).map_or(0.0, |(at_s, _)| *at_s);
    let bar = |place: usize| {
        let at_s = until_s * (place + 1) as f64 / COLUMNS as f64;
        let point = points.iter().find(|(end_s, _)| *end_s >= at_s);
        Bar { reached: point.map_or(0.0, |(_, active)| *active), wanted: 0.0 }
    };
    let axes = Axes {
        unit: "active",
        shown: |count| grouped(count.round() as u64),
        top,
        from_s: 0.0,
        until_s,
        key: "",
    };
    bars(&(0..COLUMNS).map(bar).collect::<Vec<_>>(), &axes)
}

/// Seconds and connections at the end of slots, from none at first; what comes after the last
/// connection is left out.
fn points(step: Fields<'_>) -> Vec<(f64, f64)> {
    let slots: Vec<(f64, f64)> = step
        .each("series")
        .filter_map(|slot| {
            let until_s = slot.number(T.field)? + slot.number(DT.field)?;
            Some((until_s, slot.number(series::ACTIVE.field)?))
        })
        .collect();
    let shown = slots.iter().rposition(|(_, active)| *active > 0.0).map_or(0, |last| last + 2);
    let slots = &slots[..shown.min(slots.len())];
    let each = slots.len().div_ceil(POINTS_MAX).max(1);
    let drawn = slots.chunks(each).filter_map(|chunk| chunk.last().copied());
    if slots.is_empty() { Vec::new() } else { [(0.0, 0.0)].into_iter().chain(drawn).collect() }
}

/// In which so many are counted, and how many one of it is.
fn unit(most: f64) -> (&'static str, f64) {
    match most {
        most if most >= 2e6 => ("million connections", 1e6),
        most if most >= 1e4 => ("thousand connections", 1e3),
        _ => ("connections", 1.0),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::read;

    fn step(active: &[u64]) -> Value {
        let slot = |(place, active): (usize, &u64)| json!({"t_s": place as f64, "dt_s": 1.0, "active": active});
        let series: Vec<Value> = active.iter().enumerate().map(slot).collect();
        json!({"name": "stress", "connections_target": 1000, "series": series})
    }

    fn drawn(step: &Value) -> Option<Figure> {
        let chart = Active { caption: "Active connections", target: "connections_target" };
        figure(&chart, (Fields(step), &read::row(Fields(step)).unwrap()))
    }

    #[test]
    fn the_line_goes_from_none_to_what_was_left_when_the_last_closed() {
        let step = step(&[500, 1000, 400, 0, 0, 0]);
        let found = points(Fields(&step));
        assert_eq!(found, [(0.0, 0.0), (1.0, 500.0), (2.0, 1000.0), (3.0, 400.0), (4.0, 0.0)]);
        let figure = drawn(&step).unwrap();
        assert!(figure.alternative.contains("1,000 at most, 1,000 asked for"));
        assert!(figure.alternative.contains("4.0 s"));
    }

    #[test]
    fn a_long_series_is_thinned_to_its_end() {
        let found = points(Fields(&step(&[7; 2401])));
        assert!(found.len() <= POINTS_MAX + 1);
        assert_eq!(found.last(), Some(&(2401.0, 7.0)));
    }

    #[test]
    fn where_nothing_was_active_there_is_no_line() {
        assert!(drawn(&json!({"name": "stress"})).is_none());
        assert!(drawn(&step(&[0, 0])).is_none());
    }
}

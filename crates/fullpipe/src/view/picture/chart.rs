//! One quantity of both directions over time.

use fp_model::Rate;
use fp_report::{duration, rate};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::symbols::Marker;
use ratatui::text::Line;
use ratatui::widgets::{Axis, Chart, Dataset, GraphType, Paragraph};

use super::super::curve::Quantity;
use super::super::state::View;
use super::{BOLD, FAINT, Palette};

/// Less than this has no room for axes.
const LEAST: (u16, u16) = (24, 5);

pub(super) fn has_points(view: &View, quantity: Quantity) -> bool {
    let (from, _) = view.window();
    view.curves.iter().any(|curve| !curve.lines(quantity, from).is_empty())
}

/// Draws the curves of `quantity`; download as a fine line, upload as dots.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    view: &View,
    quantity: Quantity,
    area: Rect,
    palette: Palette,
) {
    let [heading, below] =
        ratatui::layout::Layout::vertical([1, area.height.saturating_sub(1)]).areas(area);
    frame.render_widget(Paragraph::new(Line::styled(title(quantity), BOLD)), heading);
    let (from, until) = view.window();
    let lines = view.curves.each_ref().map(|curve| curve.lines(quantity, from));
    if below.width < LEAST.0 || below.height < LEAST.1 {
        return;
    }
    if lines.iter().all(Vec::is_empty) {
        let text = Paragraph::new(Line::styled(nothing(quantity), FAINT));
        return frame.render_widget(text, below);
    }
    let points = lines.iter().flatten().flatten();
    let top = round_up(points.map(|(_, value)| *value).fold(least(quantity), f64::max));
    let markers = [Marker::Braille, Marker::Dot];
    let datasets = lines.iter().enumerate().flat_map(|(place, lines)| {
        lines.iter().map(move |line| {
            Dataset::default()
                .data(line)
                .graph_type(GraphType::Line)
                .marker(markers[place])
                .style(palette.direction(place))
        })
    });
    let seconds = [from.as_secs_f64(), until.as_secs_f64()];
    let middle = (seconds[0] + seconds[1]) / 2.0;
    let times = [seconds[0], middle, seconds[1]].map(|at| format!("{at:.1} s"));
    let mut values = vec![shown(quantity, 0.0), shown(quantity, top)];
    if below.height > 6 {
        values.insert(1, shown(quantity, top / 2.0));
    }
    let axis = Axis::default().style(FAINT);
    let chart = Chart::new(datasets.collect())
        .style(Style::new())
        .legend_position(None)
        .x_axis(axis.clone().bounds(seconds).labels(times))
        .y_axis(axis.bounds([0.0, top]).labels(values));
    frame.render_widget(chart, below);
}

const fn title(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Throughput => "Throughput received   (download: line, upload: dots)",
        Quantity::Retransmitted => "Retransmitted, share of what was sent",
        Quantity::RoundTrip => "Round trip, as the senders measure it",
        Quantity::Missing => "Frames missing, share of those sent in the trial",
        Quantity::Active => "Active TCP connections",
    }
}

const fn nothing(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Throughput => "nothing was received yet",
        Quantity::Retransmitted | Quantity::RoundTrip | Quantity::Active => {
            "no TCP connection has told anything yet"
        }
        Quantity::Missing => "no frames were sent at a rate yet",
    }
}

/// A curve of nothing is drawn in a scale of its own.
const fn least(quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Throughput => 1000.0,
        Quantity::Retransmitted | Quantity::Missing => 0.1,
        Quantity::RoundTrip => 0.0001,
        Quantity::Active => 1.0,
    }
}

/// The next of 1, 1.5, 2, 3, 4, 5, 6 and 8 times a power of ten.
fn round_up(value: f64) -> f64 {
    const STEPS: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let power = 10_f64.powf(value.log10().floor());
    let step = STEPS.iter().find(|step| **step * power >= value * (1.0 - 1e-9));
    step.unwrap_or(&10.0) * power
}

fn shown(quantity: Quantity, value: f64) -> String {
    match quantity {
        _ if value == 0.0 => String::from("0"),
        Quantity::Throughput => rate(Rate::bps(value as u64)),
        Quantity::Retransmitted | Quantity::Missing => format!("{value:.2} %"),
        Quantity::RoundTrip => duration(std::time::Duration::from_secs_f64(value)),
        // Half of an odd axis is no whole number.
        Quantity::Active if value.fract() > 0.0 => format!("{value:.1}"),
        Quantity::Active => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number_not_far_above_its_curve() {
        let ends = [37.9e6, 40e6, 0.1, 0.054, 8.1e6].map(round_up);
        let expected = [40e6, 40e6, 0.1, 0.06, 10e6];
        let is_near = |(end, expected): (&f64, &f64)| (end / expected - 1.0).abs() < 1e-9;
        assert!(ends.iter().zip(&expected).all(is_near), "{ends:?}");
    }
}

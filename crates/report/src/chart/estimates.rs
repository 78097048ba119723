//! An estimate of bytes for each step with its interval, beside what was configured.

use fp_model::figure::{Estimates, Known, Row};

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, drawn, legend};
use crate::document::Figure;
use crate::document::draw::{Anchor, Dash, Drawing, Ink, Pen};
use crate::text::grouped;

const HEIGHT: f64 = 160.0;
const CONFIGURED: Pen = Pen { ink: Ink::Grey, width: 1.0, dash: Dash::Dashed };
const ESTIMATED: Pen = Pen::new(Ink::Blue, 1.2);

/// In bytes.
struct Bucket {
    frame: String,
    configured: f64,
    estimate: f64,
    least: f64,
    most: f64,
}

/// `None` where nothing was estimated. An estimate may be `percent` off.
pub(super) fn figure(
    chart: &Estimates,
    direction: &str,
    steps: &[&Row],
    percent: f64,
) -> Option<Figure> {
    let bucket = |step: &&Row| {
        let Known { value, at_least, at_most } = step.number(chart.estimate)?;
        Some(Bucket {
            frame: step.grouped(chart.name.field),
            configured: step.estimate(chart.configured)?,
            estimate: value,
            least: at_least?,
            most: at_most?,
        })
    };
    let buckets: Vec<Bucket> = steps.iter().filter_map(bucket).collect();
    let configured = buckets.first()?.configured;
    let margin = configured * percent / 100.0;
    let least = buckets.iter().map(|bucket| bucket.least).fold(configured - margin, f64::min);
    let most = buckets.iter().map(|bucket| bucket.most).fold(configured + margin, f64::max);
    // Room above and below, so that no mark touches the edges of the chart.
    let air = (most - least).max(configured * 0.01) * 0.15;
    let range = ((least - air) / 1e3, (most + air) / 1e3);
    let panel = Panel {
        across: Scale::new((0.0, buckets.len() as f64), (40.0, HALF - 6.0)),
        up: Scale::new(range, (HEIGHT - 34.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    if margin > 0.0 {
        let (head, foot) = ((configured + margin) / 1e3, (configured - margin) / 1e3);
        let corner = (panel.right(), panel.up.at(foot));
        drawing.rectangle((panel.left(), panel.up.at(head)), corner, Ink::Pale);
    }
    panel.up_axis(&mut drawing, "kB", 5);
    let at = panel.up.at(configured / 1e3);
    drawing.line(vec![(panel.left(), at), (panel.right(), at)], CONFIGURED);
    for (place, bucket) in buckets.iter().enumerate() {
        draw(&mut drawing, &panel, place as f64 + 0.5, bucket);
    }
    panel.foot_line(&mut drawing);
    let middle = f64::midpoint(panel.left(), panel.right());
    drawing.word((middle, HEIGHT - 10.0), chart.name.words, WORDS, Anchor::Middle, Ink::Black);
    let keys = [
        (Key::Line(CONFIGURED), "configured"),
        (Key::Area(Ink::Pale), "tolerance"),
        (Key::Line(ESTIMATED), "estimated"),
    ];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let told: Vec<String> = buckets
        .iter()
        .map(|bucket| {
            format!("{} bytes: {}", bucket.frame, grouped(bucket.estimate.max(0.0).round() as u64))
        })
        .collect();
    let caption = format!("{}, {direction}", chart.caption);
    let configured = grouped(configured.max(0.0) as u64);
    let alternative = format!("{caption}, configured {configured} bytes: {}.", told.join("; "));
    Some(drawn(caption, alternative, drawing))
}

/// The interval as a line with ends, the estimate as a square on it.
fn draw(drawing: &mut Drawing, panel: &Panel, place: f64, bucket: &Bucket) {
    let (middle, head) = panel.point(place, bucket.most / 1e3);
    let (_, foot) = panel.point(place, bucket.least / 1e3);
    let (_, at) = panel.point(place, bucket.estimate / 1e3);
    drawing.line(vec![(middle, head), (middle, foot)], ESTIMATED);
    for end in [head, foot] {
        drawing.line(vec![(middle - 4.0, end), (middle + 4.0, end)], ESTIMATED);
    }
    drawing.rectangle((middle - 2.2, at - 2.2), (middle + 2.2, at + 2.2), Ink::Blue);
    let below = (middle, panel.foot() + 10.0);
    drawing.word(below, bucket.frame.clone(), WORDS, Anchor::Middle, Ink::Grey);
}

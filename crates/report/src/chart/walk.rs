//! The window walk of a direction: what was reached beside what is ideal, as bars.

use super::pairs::{self, Pair};
use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Ink};
use crate::stored::fields::Fields;

const HEIGHT: f64 = 160.0;

/// `None` without steps.
pub(crate) fn figure(direction: &str, steps: &[Fields<'_>]) -> Option<Figure> {
    let windows: Vec<Pair> = steps.iter().filter_map(|step| pair(*step)).collect();
    if windows.is_empty() {
        return None;
    }
    let most = pairs::most(&windows);
    let (unit, each) = rate_unit(most);
    let mut drawing = Drawing::new(HALF, HEIGHT);
    let panel = Panel {
        across: Scale::new((0.0, windows.len() as f64), (34.0, HALF - 6.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 34.0, 26.0)),
    };
    panel.up_axis(&mut drawing, &format!("{unit} (l4)"), 4);
    pairs::draw(&mut drawing, &panel, &windows, each, 0.14);
    for (place, window) in windows.iter().enumerate() {
        let reached = window.reached / each;
        let (middle, head) = panel.point(place as f64 + 0.69, reached);
        let text = format!("{reached:.1}");
        drawing.word((middle, head - 2.5), text, WORDS, Anchor::Middle, Ink::Black);
    }
    panel.foot_line(&mut drawing);
    let middle = f64::midpoint(panel.left(), panel.right());
    let name = "connections × window (bytes)";
    drawing.word((middle, HEIGHT - 10.0), name, WORDS, Anchor::Middle, Ink::Black);
    let keys = [(Key::Area(Ink::Sky), "ideal"), (Key::Area(Ink::Blue), "measured")];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let told = pairs::told(&windows, unit, each);
    Some(Figure {
        caption: format!("Window walk, {direction}"),
        alternative: format!("Window walk, {direction}: {told}."),
        drawing,
        is_wide: false,
        plain: String::new(),
    })
}

fn pair(step: Fields<'_>) -> Option<Pair> {
    Some(Pair {
        name: format!("{} × {}", step.grouped("connections"), step.grouped("window_bytes")),
        possible: step.number("ideal_windows_bps").or(step.number("ideal_bps"))?,
        reached: step.number("throughput_bps")?,
    })
}

//! The window walk of a direction: what was reached beside what is ideal, as bars.

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Ink};
use crate::stored::fields::Fields;

const HEIGHT: f64 = 160.0;

/// `None` without steps.
pub(crate) fn figure(direction: &str, steps: &[Fields<'_>]) -> Option<Figure> {
    let bars: Vec<Bar> = steps.iter().filter_map(|step| Bar::of(*step)).collect();
    let most = bars.iter().map(|bar| bar.ideal.max(bar.reached)).fold(0.0, f64::max);
    if bars.is_empty() {
        return None;
    }
    let (unit, each) = rate_unit(most);
    let mut drawing = Drawing::new(HALF, HEIGHT);
    let panel = Panel {
        across: Scale::new((0.0, bars.len() as f64), (34.0, HALF - 6.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 34.0, 26.0)),
    };
    panel.up_axis(&mut drawing, unit, 4);
    for (place, bar) in bars.iter().enumerate() {
        let place = place as f64;
        let mut draw = |from: f64, to: f64, bps: f64, ink: Ink| {
            let (head, foot) =
                (panel.point(place + from, bps / each), panel.point(place + to, 0.0));
            drawing.rectangle(head, foot, ink);
        };
        draw(0.14, 0.48, bar.ideal, Ink::Sky);
        draw(0.52, 0.86, bar.reached, Ink::Blue);
        let (middle, head) = panel.point(place + 0.69, bar.reached / each);
        let text = format!("{:.1}", bar.reached / each);
        drawing.word((middle, head - 2.5), text, WORDS, Anchor::Middle, Ink::Black);
        let (middle, foot) = panel.point(place + 0.5, 0.0);
        drawing.word((middle, foot + 10.0), bar.name.clone(), WORDS, Anchor::Middle, Ink::Grey);
    }
    panel.foot_line(&mut drawing);
    let middle = f64::midpoint(panel.left(), panel.right());
    let name = "connections × window (bytes)";
    drawing.word((middle, HEIGHT - 10.0), name, WORDS, Anchor::Middle, Ink::Black);
    let keys = [(Key::Area(Ink::Sky), "ideal"), (Key::Area(Ink::Blue), "measured")];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let told: Vec<String> = bars
        .iter()
        .map(|bar| {
            format!("{}: {:.2} of {:.2} {unit}", bar.name, bar.reached / each, bar.ideal / each)
        })
        .collect();
    Some(Figure {
        caption: format!("Window walk, {direction}"),
        alternative: format!("Window walk, {direction}: {}.", told.join("; ")),
        drawing,
        is_wide: false,
    })
}

/// One step of the walk, in bits per second.
struct Bar {
    name: String,
    reached: f64,
    ideal: f64,
}

impl Bar {
    fn of(step: Fields<'_>) -> Option<Self> {
        Some(Self {
            name: format!("{} × {}", step.grouped("connections"), step.grouped("window_bytes")),
            reached: step.number("throughput_bps")?,
            ideal: step.number("ideal_bps")?,
        })
    }
}

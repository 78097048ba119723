//! All services at once: what each was offered and what came through, as bars.

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Ink};
use crate::stored::fields::Fields;

const HEIGHT: f64 = 150.0;
/// More bars would be too narrow for their names.
const SERVICES_MAX: usize = 8;
const NAME_MAX: usize = 12;

/// One for each direction.
pub(crate) fn figures(steps: &[Fields<'_>]) -> Vec<Figure> {
    let of = |direction| {
        let mine = steps.iter().filter(|step| step.word("direction") == direction);
        let bars: Vec<Bar> = mine.filter_map(|step| Bar::of(*step)).take(SERVICES_MAX).collect();
        figure(direction, &bars)
    };
    ["download", "upload"].into_iter().filter_map(of).collect()
}

/// A service, in bits per second.
struct Bar {
    name: String,
    offered: f64,
    received: f64,
}

impl Bar {
    fn of(step: Fields<'_>) -> Option<Self> {
        let name = step.word("service");
        let short = name.chars().count() <= NAME_MAX;
        let cut = || name.chars().take(NAME_MAX - 1).chain(['…']).collect();
        Some(Self {
            name: if short { name.to_owned() } else { cut() },
            offered: step.number("offered_l2_bps")?,
            received: step.number("ir_bps")?,
        })
    }
}

fn figure(direction: &str, bars: &[Bar]) -> Option<Figure> {
    let most = bars.iter().map(|bar| bar.offered.max(bar.received)).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let (unit, each) = rate_unit(most);
    let panel = Panel {
        across: Scale::new((0.0, bars.len() as f64), (34.0, HALF - 6.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 24.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit} (l2)"), 4);
    for (place, bar) in bars.iter().enumerate() {
        let place = place as f64;
        let mut draw = |from: f64, to: f64, bps: f64, ink: Ink| {
            let (head, foot) =
                (panel.point(place + from, bps / each), panel.point(place + to, 0.0));
            drawing.rectangle(head, foot, ink);
        };
        draw(0.18, 0.48, bar.offered, Ink::Sky);
        draw(0.52, 0.82, bar.received, Ink::Blue);
        let (middle, foot) = panel.point(place + 0.5, 0.0);
        drawing.word((middle, foot + 10.0), bar.name.clone(), WORDS, Anchor::Middle, Ink::Grey);
    }
    panel.foot_line(&mut drawing);
    let keys = [(Key::Area(Ink::Sky), "offered"), (Key::Area(Ink::Blue), "received")];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let told: Vec<String> = bars
        .iter()
        .map(|bar| {
            format!("{}: {:.2} of {:.2} {unit}", bar.name, bar.received / each, bar.offered / each)
        })
        .collect();
    Some(Figure {
        caption: format!("Information rate of all services at once, {direction}"),
        alternative: format!("Information rate, {direction}: {}.", told.join("; ")),
        drawing,
        is_wide: false,
    })
}

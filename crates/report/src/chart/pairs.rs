//! Pairs of bars: of each name what was possible, lighter, and beside it what was reached.

use fp_model::figure::{Pair, Pairs, Row};

use super::scale::Scale;
use super::{HALF, Key, Panel, WORDS, drawn, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Anchor, Drawing, Ink};
use crate::text::shortened;

const HEIGHT: f64 = 160.0;
/// More bars would be too narrow for their names.
const PAIRS_MAX: usize = 8;
const NAME_MAX: usize = 18;
/// The share of the width of a pair that stays free at each side of it.
const ASIDE: f64 = 0.14;

/// The axis reaches this multiple of every rate that was reached, so that the word above its bar has room.
const HEADROOM: f64 = 1.1;

/// `None` where nothing was possible.
pub(super) fn figure(chart: &Pairs, direction: &str, steps: &[&Row]) -> Option<Figure> {
    let pairs = steps.iter().filter_map(|step| (chart.of)(step)).take(PAIRS_MAX);
    let pairs: Vec<Pair> = pairs.collect();
    let highest = |room: f64| {
        pairs.iter().map(|pair| pair.possible.max(room * pair.reached)).fold(0.0, f64::max)
    };
    let most = highest(1.0);
    if most <= 0.0 {
        return None;
    }
    let (unit, each) = rate_unit(most);
    let panel = Panel {
        across: Scale::new((0.0, pairs.len() as f64), (34.0, HALF - 6.0)),
        up: Scale::from_zero(highest(HEADROOM) / each, 4, (HEIGHT - 34.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit} ({})", chart.layer), 4);
    let mut told = Vec::new();
    for (place, Pair { name, possible, reached }) in pairs.iter().enumerate() {
        let [possible, reached] = [possible / each, reached / each];
        let place = place as f64;
        let mut bar = |from: f64, to: f64, value: f64, ink: Ink| {
            let (head, foot) = (panel.point(place + from, value), panel.point(place + to, 0.0));
            drawing.rectangle(head, foot, ink);
        };
        bar(ASIDE, 0.48, possible, Ink::Sky);
        bar(0.52, 1.0 - ASIDE, reached, Ink::Blue);
        let (middle, head) = panel.point(place + 0.76 - ASIDE / 2.0, reached);
        let text = format!("{reached:.1}");
        drawing.word((middle, head - 2.5), text, WORDS, Anchor::Middle, Ink::Black);
        let (middle, foot) = panel.point(place + 0.5, 0.0);
        let below = shortened(name, NAME_MAX);
        drawing.word((middle, foot + 10.0), below, WORDS, Anchor::Middle, Ink::Grey);
        told.push(format!("{name}: {reached:.2} of {possible:.2} {unit}"));
    }
    panel.foot_line(&mut drawing);
    let middle = f64::midpoint(panel.left(), panel.right());
    drawing.word((middle, HEIGHT - 10.0), chart.names, WORDS, Anchor::Middle, Ink::Black);
    let keys = [(Key::Area(Ink::Sky), chart.possible), (Key::Area(Ink::Blue), chart.reached)];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let caption = format!("{}, {direction}", chart.caption);
    let alternative = format!("{caption}: {}.", told.join("; "));
    Some(drawn(caption, alternative, drawing))
}

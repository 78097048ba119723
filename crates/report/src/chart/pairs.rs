//! Pairs of bars: of each name what was possible, lighter, and beside it what was reached.

use super::{Panel, WORDS};
use crate::document::draw::{Anchor, Drawing, Ink};

/// In bits per second.
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) possible: f64,
    pub(super) reached: f64,
}

pub(super) fn most(pairs: &[Pair]) -> f64 {
    pairs.iter().map(|pair| pair.possible.max(pair.reached)).fold(0.0, f64::max)
}

/// Draws the bars, in units of `each`, with their names below; of the room for a pair `aside` stays
/// free at each side.
pub(super) fn draw(drawing: &mut Drawing, panel: &Panel, pairs: &[Pair], each: f64, aside: f64) {
    for (place, pair) in pairs.iter().enumerate() {
        let place = place as f64;
        let mut bar = |from: f64, to: f64, bps: f64, ink: Ink| {
            let (head, foot) =
                (panel.point(place + from, bps / each), panel.point(place + to, 0.0));
            drawing.rectangle(head, foot, ink);
        };
        bar(aside, 0.48, pair.possible, Ink::Sky);
        bar(0.52, 1.0 - aside, pair.reached, Ink::Blue);
        let (middle, foot) = panel.point(place + 0.5, 0.0);
        drawing.word((middle, foot + 10.0), pair.name.clone(), WORDS, Anchor::Middle, Ink::Grey);
    }
}

/// The same in words.
pub(super) fn told(pairs: &[Pair], unit: &str, each: f64) -> String {
    let told = |pair: &Pair| {
        let [reached, possible] = [pair.reached, pair.possible].map(|bps| bps / each);
        format!("{}: {reached:.2} of {possible:.2} {unit}", pair.name)
    };
    pairs.iter().map(told).collect::<Vec<_>>().join("; ")
}

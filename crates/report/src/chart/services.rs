//! All services at once: what each was offered and what came through, as bars.

use super::pairs::{self, Pair};
use super::scale::Scale;
use super::{HALF, Key, Panel, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Drawing, Ink};
use crate::stored::fields::Fields;

const HEIGHT: f64 = 150.0;
/// More bars would be too narrow for their names.
const SERVICES_MAX: usize = 8;
const NAME_MAX: usize = 12;

/// One for each direction.
pub(crate) fn figures(steps: &[Fields<'_>]) -> Vec<Figure> {
    let of = |direction| {
        let mine = steps.iter().filter(|step| step.word("direction") == direction);
        let services: Vec<Pair> = mine.filter_map(|step| pair(*step)).take(SERVICES_MAX).collect();
        figure(direction, &services)
    };
    ["download", "upload"].into_iter().filter_map(of).collect()
}

fn pair(step: Fields<'_>) -> Option<Pair> {
    let name = step.word("service");
    Some(Pair {
        name: crate::text::shortened(name, NAME_MAX),
        possible: step.number("offered_l2_bps")?,
        reached: step.number("ir_bps")?,
    })
}

fn figure(direction: &str, services: &[Pair]) -> Option<Figure> {
    let most = pairs::most(services);
    if most <= 0.0 {
        return None;
    }
    let (unit, each) = rate_unit(most);
    let panel = Panel {
        across: Scale::new((0.0, services.len() as f64), (34.0, HALF - 6.0)),
        up: Scale::from_zero(most / each, 4, (HEIGHT - 24.0, 26.0)),
    };
    let mut drawing = Drawing::new(HALF, HEIGHT);
    panel.up_axis(&mut drawing, &format!("{unit} (l2)"), 4);
    pairs::draw(&mut drawing, &panel, services, each, 0.18);
    panel.foot_line(&mut drawing);
    let keys = [(Key::Area(Ink::Sky), "offered"), (Key::Area(Ink::Blue), "received")];
    legend(&mut drawing, (HALF - 6.0, 20.0), &keys);
    let told = pairs::told(services, unit, each);
    Some(Figure {
        caption: format!("Information rate of all services at once, {direction}"),
        alternative: format!("Information rate, {direction}: {told}."),
        drawing,
        is_wide: false,
        plain: String::new(),
    })
}

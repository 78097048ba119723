//! The course of a transfer: throughput, what was sent again and the RTT, below each other over one
//! axis of time.

use super::scale::Scale;
use super::slots::{self, Slot};
use super::{Key, Panel, WHOLE, legend, rate_unit};
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen, Point};
use crate::stored::fields::Fields;

const LEFT: f64 = 34.0;
const MEASURED: Pen = Pen::new(Ink::Blue, 1.2);
const WANTED: Pen = Pen { ink: Ink::Grey, width: 0.9, dash: Dash::Dashed };

/// What the figures are compared with, where that is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) ideal_bps: Option<f64>,
    pub(crate) baseline_us: Option<f64>,
}

/// `None` of a step without a series.
pub(crate) fn figure(name: &str, step: Fields<'_>, asked: &Asked, width: f64) -> Option<Figure> {
    let slots = slots::of(step);
    let until_s = slots.last()?.until_s();
    let has_rtt = slots.iter().any(|slot| slot.rtt_us.is_some());
    let is_tcp = step.word("transport") != "udp" && has_rtt;
    let height = if is_tcp { 202.0 } else { 124.0 };
    let mut drawing = Drawing::new(width, height);
    let across = Scale::new((0.0, until_s), (LEFT, width - 6.0));
    let upper = Panel { across, up: throughput_scale(&slots, asked, (98.0, 22.0)) };
    throughput(&mut drawing, &upper, &slots, asked);
    let last = if is_tcp {
        again(&mut drawing, across, &slots);
        round_trip(&mut drawing, across, &slots, asked)
    } else {
        upper
    };
    last.across_axis(&mut drawing, "seconds", 6);
    Some(Figure {
        caption: name.to_owned(),
        alternative: alternative(name, &slots, is_tcp),
        drawing,
        is_wide: width >= WHOLE,
    })
}

fn most(slots: &[Slot], of: impl Fn(&Slot) -> f64) -> f64 {
    slots.iter().map(of).fold(0.0, f64::max)
}

fn throughput_scale(slots: &[Slot], asked: &Asked, places: (f64, f64)) -> Scale {
    let most = most(slots, |slot| slot.bps).max(asked.ideal_bps.unwrap_or_default());
    let (_, each) = rate_unit(most);
    Scale::from_zero(most / each, 4, places)
}

fn throughput(drawing: &mut Drawing, panel: &Panel, slots: &[Slot], asked: &Asked) {
    let highest = most(slots, |slot| slot.bps).max(asked.ideal_bps.unwrap_or_default());
    let (unit, each) = rate_unit(highest);
    panel.up_axis(drawing, unit, 4);
    panel.foot_line(drawing);
    let mut keys = vec![(Key::Line(MEASURED), "throughput")];
    if let Some(ideal) = asked.ideal_bps {
        let ends = [panel.left(), panel.right()].map(|across| (across, panel.up.at(ideal / each)));
        drawing.line(ends.to_vec(), WANTED);
        keys.push((Key::Line(WANTED), "ideal"));
    }
    drawing.line(stairs(panel, slots, |slot| Some(slot.bps / each)).concat(), MEASURED);
    legend(drawing, (panel.right(), panel.top() - 6.0), &keys);
}

fn again(drawing: &mut Drawing, across: Scale, slots: &[Slot]) {
    let highest = most(slots, |slot| slot.sent_again_bps);
    let (unit, each) = rate_unit(highest.max(1e6));
    let up = Scale::from_zero(highest / each, 2, (137.0, 115.0));
    let panel = Panel { across, up };
    panel.up_axis(drawing, &format!("sent again ({unit})"), 2);
    panel.foot_line(drawing);
    for slot in slots.iter().filter(|slot| slot.sent_again_bps > 0.0) {
        let head = panel.point(slot.from_s, slot.sent_again_bps / each);
        let foot = panel.point(slot.until_s(), 0.0);
        drawing.rectangle(head, foot, Ink::Red);
    }
}

fn round_trip(drawing: &mut Drawing, across: Scale, slots: &[Slot], asked: &Asked) -> Panel {
    let known = || slots.iter().filter_map(|slot| slot.rtt_us).chain(asked.baseline_us);
    let highest = known().fold(0.0, f64::max);
    let (unit, each) = if highest >= 1e3 { ("ms", 1e3) } else { ("µs", 1.0) };
    let panel = Panel { across, up: Scale::from_zero(highest / each, 2, (178.0, 155.0)) };
    panel.up_axis(drawing, &format!("RTT ({unit})"), 2);
    let pen = Pen::new(Ink::Green, 1.1);
    for line in stairs(&panel, slots, |slot| slot.rtt_us.map(|rtt| rtt / each)) {
        drawing.line(line, pen);
    }
    if let Some(baseline) = asked.baseline_us {
        let at = panel.up.at(baseline / each);
        let pen = Pen::new(Ink::Grey, 0.8).dashed(Dash::Dotted);
        drawing.line(vec![(panel.left(), at), (panel.right(), at)], pen);
        let keys = [(Key::Line(pen), "baseline")];
        legend(drawing, (panel.right(), panel.top() - 6.0), &keys);
    }
    panel
}

/// Each slot as level as it was counted; a line ends where a slot knows nothing.
fn stairs(panel: &Panel, slots: &[Slot], of: impl Fn(&Slot) -> Option<f64>) -> Vec<Vec<Point>> {
    let mut lines: Vec<Vec<Point>> = vec![Vec::new()];
    for slot in slots {
        match (of(slot), lines.last_mut()) {
            (Some(value), Some(line)) => {
                line.push(panel.point(slot.from_s, value));
                line.push(panel.point(slot.until_s(), value));
            }
            (None, Some(line)) if !line.is_empty() => lines.push(Vec::new()),
            _ => {}
        }
    }
    lines
}

fn alternative(name: &str, slots: &[Slot], is_tcp: bool) -> String {
    let seconds: f64 = slots.iter().map(|slot| slot.lasts_s).sum();
    let weighed = |of: &dyn Fn(&Slot) -> f64| -> f64 {
        slots.iter().map(|slot| of(slot) * slot.lasts_s).sum::<f64>() / seconds.max(1e-9)
    };
    let highest = most(slots, |slot| slot.bps);
    let least = slots.iter().map(|slot| slot.bps).fold(f64::INFINITY, f64::min);
    let (unit, each) = rate_unit(highest);
    let mut text = format!(
        "{name}: throughput over {seconds:.1} s, from {:.2} to {:.2} {unit}, {:.2} {unit} on average",
        least / each,
        highest / each,
        weighed(&|slot| slot.bps) / each
    );
    if is_tcp {
        let again = weighed(&|slot| slot.sent_again_bps) / each;
        let rtts = || slots.iter().filter_map(|slot| slot.rtt_us).map(|rtt| rtt / 1e3);
        text += &format!(
            "; {again:.2} {unit} were sent again; RTT from {:.2} to {:.2} ms",
            rtts().fold(f64::INFINITY, f64::min),
            rtts().fold(0.0, f64::max)
        );
    }
    text + "."
}

//! The course of a transfer: throughput, what was retransmitted, the RTT and the connections in use,
//! below each other over one axis of time.

use fp_model::figure::{Course, Drawn, Row};

use super::scale::Scale;
use super::slots::{self, Slot};
use super::{HALF, Key, Panel, WHOLE, drawn, legend, rate_unit};
use crate::build::ReadStep;
use crate::document::Figure;
use crate::document::draw::{Dash, Drawing, Ink, Pen, Point};
use crate::stored::fields::Fields;

const LEFT: f64 = 34.0;
const MEASURED: Pen = Pen::new(Ink::Blue, 1.2);
const WANTED: Pen = Pen { ink: Ink::Grey, width: 0.9, dash: Dash::Dashed };

/// What the figures are compared with, where that is known.
struct Asked {
    /// In bits per second, with the words for it.
    ideal: Option<(f64, &'static str)>,
    baseline_us: Option<f64>,
    layer: &'static str,
}

impl Asked {
    /// The highest rate that is drawn.
    fn highest(&self, slots: &[Slot]) -> f64 {
        most(slots, |slot| slot.bps).max(self.ideal.map_or(0.0, |(ideal, _)| ideal))
    }
}

/// One for each step whose course is drawn; one alone has the whole width.
pub(super) fn figures(chart: &Course, steps: &[ReadStep<'_>], run: &[Row]) -> Vec<Figure> {
    let drawn: Vec<(String, &ReadStep<'_>)> =
        steps.iter().filter_map(|step| Some(((chart.name)(step.1)?, step))).collect();
    let width = if drawn.len() == 1 { WHOLE } else { HALF };
    let baseline_us = (chart.baseline_us)(run);
    let figure = |(name, (fields, row)): (String, &ReadStep<'_>)| {
        let ideal = |ideal: Drawn| Some((row.estimate(ideal.field)?, ideal.words));
        let ideal = (chart.ideal)(row).and_then(ideal);
        let asked = Asked { ideal, baseline_us, layer: (chart.layer)(row) };
        figure(&name, *fields, &asked, width)
    };
    drawn.into_iter().filter_map(figure).take(chart.most).collect()
}

/// `None` of a step without a series.
fn figure(name: &str, step: Fields<'_>, asked: &Asked, width: f64) -> Option<Figure> {
    let slots = slots::of(step);
    let until_s = slots.last()?.until_s();
    let is_tcp = slots.iter().any(|slot| slot.rtt_us.is_some());
    // A single one is in use from beginning to end.
    let has_several = most(&slots, |slot| slot.active.unwrap_or_default()) > 1.0;
    let height = match (is_tcp, has_several) {
        (true, true) => 211.0,
        (true, false) => 179.0,
        (false, true) => 136.0,
        (false, false) => 104.0,
    };
    let mut drawing = Drawing::new(width, height);
    let across = Scale::new((0.0, until_s), (LEFT, width - 6.0));
    let upper = Panel { across, up: throughput_scale(&slots, asked, (80.0, 22.0)) };
    throughput(&mut drawing, &upper, &slots, asked);
    let mut last = upper;
    if is_tcp {
        again(&mut drawing, across, &slots);
        last = round_trip(&mut drawing, across, &slots, asked);
    }
    if has_several {
        last = active(&mut drawing, across, &slots, last.foot() + 17.0);
    }
    last.across_axis(&mut drawing, "seconds", 6);
    Some(drawn(name.to_owned(), alternative(name, &slots, is_tcp), drawing))
}

fn most(slots: &[Slot], of: impl Fn(&Slot) -> f64) -> f64 {
    slots.iter().map(of).fold(0.0, f64::max)
}

fn throughput_scale(slots: &[Slot], asked: &Asked, places: (f64, f64)) -> Scale {
    let most = asked.highest(slots);
    let (_, each) = rate_unit(most);
    Scale::from_zero(most / each, 4, places)
}

fn throughput(drawing: &mut Drawing, panel: &Panel, slots: &[Slot], asked: &Asked) {
    let (unit, each) = rate_unit(asked.highest(slots));
    panel.up_axis(drawing, &format!("{unit} ({})", asked.layer), 4);
    panel.foot_line(drawing);
    let mut keys = vec![(Key::Line(MEASURED), "throughput")];
    if let Some((ideal, words)) = asked.ideal {
        let ends = [panel.left(), panel.right()].map(|across| (across, panel.up.at(ideal / each)));
        drawing.line(ends.to_vec(), WANTED);
        keys.push((Key::Line(WANTED), words));
    }
    drawing.line(stairs(panel, slots, |slot| Some(slot.bps / each)).concat(), MEASURED);
    legend(drawing, (panel.right(), panel.top() - 6.0), &keys);
}

fn again(drawing: &mut Drawing, across: Scale, slots: &[Slot]) {
    let highest = most(slots, |slot| slot.retransmitted_bps);
    let (unit, each) = rate_unit(highest.max(1e6));
    let up = Scale::from_zero(highest / each, 2, (117.0, 97.0));
    let panel = Panel { across, up };
    panel.up_axis(drawing, &format!("retransmitted ({unit})"), 2);
    panel.foot_line(drawing);
    for slot in slots.iter().filter(|slot| slot.retransmitted_bps > 0.0) {
        let head = panel.point(slot.from_s, slot.retransmitted_bps / each);
        let foot = panel.point(slot.until_s(), 0.0);
        drawing.rectangle(head, foot, Ink::Red);
    }
}

fn round_trip(drawing: &mut Drawing, across: Scale, slots: &[Slot], asked: &Asked) -> Panel {
    let known = || slots.iter().filter_map(|slot| slot.rtt_us).chain(asked.baseline_us);
    let highest = known().fold(0.0, f64::max);
    let (unit, each) = if highest >= 1e3 { ("ms", 1e3) } else { ("µs", 1.0) };
    let panel = Panel { across, up: Scale::from_zero(highest / each, 2, (155.0, 135.0)) };
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

/// Below what ends at `top`.
fn active(drawing: &mut Drawing, across: Scale, slots: &[Slot], top: f64) -> Panel {
    let highest = most(slots, |slot| slot.active.unwrap_or_default());
    // No mark stands at half a connection.
    let ticks = if highest < 3.0 { 1 } else { 2 };
    let up = Scale::from_zero(highest, ticks, (top + 15.0, top));
    let panel = Panel { across, up };
    panel.up_axis(drawing, "active connections", ticks);
    panel.foot_line(drawing);
    let pen = Pen::new(Ink::Brown, 1.1);
    for line in stairs(&panel, slots, |slot| slot.active) {
        drawing.line(line, pen);
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
        let again = weighed(&|slot| slot.retransmitted_bps) / each;
        let rtts = || slots.iter().filter_map(|slot| slot.rtt_us).map(|rtt| rtt / 1e3);
        text += &format!(
            "; {again:.2} {unit} were retransmitted; RTT from {:.2} to {:.2} ms",
            rtts().fold(f64::INFINITY, f64::min),
            rtts().fold(0.0, f64::max)
        );
    }
    let active = || slots.iter().filter_map(|slot| slot.active);
    let highest = active().fold(0.0, f64::max);
    if highest > 1.0 {
        let least = active().fold(f64::INFINITY, f64::min);
        text += &format!("; {least:.0} to {highest:.0} active connections");
    }
    text + "."
}

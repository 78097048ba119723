//! Which classes of traffic were served, and which starved.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use fp_model::Direction;

use super::steps::{FlowStep, Part, Report, Step};
use crate::reason::Code;
use crate::verdict::Reason;

/// A class that keeps less of what it sent, or less than this share of an even part, starves.
const STARVED_PERCENT_MAX: f64 = 10.0;

/// A sentence for each direction with classes: who got how much.
pub(super) fn remarks(report: &Report) -> Vec<Reason> {
    let directions = [Direction::Download, Direction::Upload].into_iter();
    directions.filter_map(|direction| remark(report, direction)).collect()
}

fn remark(report: &Report, direction: Direction) -> Option<Reason> {
    let mut classes: Vec<&FlowStep> = report
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Flow(flow) if flow.part == Part::Class && flow.direction == direction => {
                Some(flow)
            }
            Step::Path(_) | Step::Flow(_) | Step::Profile(_) => None,
        })
        .collect();
    if classes.len() < 2 {
        return None;
    }
    // A stable sort: classes that got the same stay in the order of the plan.
    classes.sort_by_key(|class| core::cmp::Reverse(class.received.payload_bytes));
    let mbps = |class: &FlowStep| class.received.rates.l4.as_bps() as f64 / 1e6;
    let order: Vec<String> =
        classes.iter().map(|class| format!("{} {:.2}", class.name, mbps(class))).collect();
    let starved: Vec<&str> = classes
        .iter()
        .filter(|class| is_starved(class, &classes))
        .map(|class| class.name.as_str())
        .collect();
    let mut text = format!("{direction}: goodput by class in Mbit/s (l4): {}", order.join(", "));
    if !starved.is_empty() {
        text.push_str("; starved: ");
        text.push_str(&starved.join(", "));
    }
    let code = if starved.is_empty() { Code::ClassOrder } else { Code::ClassStarved };
    Some(Reason { code, text, step: None })
}

fn is_starved(class: &FlowStep, all: &[&FlowStep]) -> bool {
    let got = class.received.payload_bytes as f64;
    let wanted = match class.sent.filter(|_| class.lost.is_some()) {
        Some(sent) => sent.payload_bytes as f64,
        // TCP takes what it is given: an even part is what it might have had.
        None => {
            let total: u64 = all.iter().map(|each| each.received.payload_bytes).sum();
            total as f64 / all.len() as f64
        }
    };
    wanted > 0.0 && 100.0 * got <= STARVED_PERCENT_MAX * wanted
}

//! What was asked of a method, in its own words where it has some, otherwise input by input.

mod flow;
mod inputs;
mod rfc6349;
mod stress;
mod y1564;

use crate::document::Fact;
use crate::stored::fields::Fields;

/// What says nothing to a reader: how the program keeps it, not what was asked.
const LEFT_OUT: [&str; 3] = ["interface_mtu_bytes", "period_guard", "remarks"];

pub(super) fn facts(method: &str, plan: Fields<'_>) -> Vec<Fact> {
    let (mut facts, told): (Vec<Fact>, &[&str]) = match method {
        "rfc6349" => (rfc6349::facts(plan), &rfc6349::TOLD),
        "flow" => (flow::facts(plan), &flow::TOLD),
        "y1564" => (y1564::facts(plan), &y1564::TOLD),
        "stress" => (stress::facts(plan), &stress::TOLD),
        _ => (Vec::new(), &[]),
    };
    let is_told = |name: &str| LEFT_OUT.contains(&name) || told.contains(&name);
    facts.extend(inputs::facts(plan, is_told));
    facts
}

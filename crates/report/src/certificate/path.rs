//! What is known of the path before anything loads it.

use fp_method::figures;
use fp_model::Rate;

use super::{capital, named};
use crate::document::Fact;
use crate::read;
use crate::stored::fields::Fields;
use crate::text::{base_loss, passes, rate};

/// Path MTU, round trip, bottleneck, line: whichever the run has looked for.
pub(super) fn facts(steps: &[Fields<'_>]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = described(steps).collect();
    facts.extend(named(steps, "bottleneck").into_iter().map(bottleneck));
    facts.extend(named(steps, "line").into_iter().map(|step| {
        let text = format!("{} at layer 1", step.rate("rate_l1_bps"));
        Fact { name: format!("Line, {}", step.word("direction")), text }
    }));
    facts.extend(named(steps, "line_rate").into_iter().map(line_rate));
    facts
}

/// The steps that are a sentence, kind by kind.
fn described<'a>(steps: &'a [Fields<'a>]) -> impl Iterator<Item = Fact> + 'a {
    figures::kinds().flat_map(|kind| named(steps, kind.name)).filter_map(|step| {
        let row = read::row(step)?;
        let of =
            [row.direction(), step.word("service")].into_iter().filter(|word| !word.is_empty());
        let name: Vec<String> =
            [capital(row.kind.title)].into_iter().chain(of.map(String::from)).collect();
        Some(Fact { name: name.join(", "), text: (row.kind.fact)(&row) })
    })
}

fn bottleneck(step: Fields<'_>) -> Fact {
    let layer = step.word("layer");
    let found = match (step.word("source"), step.word("kind")) {
        ("given", _) => String::from("given, not measured"),
        (_, "policer") => String::from("a policer: what exceeds it is dropped at once"),
        (_, "queue") => {
            let waits = step.milliseconds("overload_delay_ms");
            match step.flag("overload_drops") {
                Some(false) => format!("a queue: what exceeds it waits, {waits} and longer"),
                _ => format!("a queue: what exceeds it waits up to {waits}"),
            }
        }
        (_, "not_reached") => {
            String::from("the most that the tester could send: the path carries it")
        }
        _ => String::from("measured"),
    };
    let (other, field) = if layer == "l1" { ("l2", "rate_l2_bps") } else { ("l1", "rate_l1_bps") };
    let carried_bytes = step.number("carried_bytes").map(|bytes| bytes as u64);
    let passes = passes(step.bounds("burst_bytes").as_ref(), carried_bytes);
    let within = step.bounds("base_loss_percent");
    let loss = base_loss(step.number("base_loss_percent").unwrap_or_default(), within);
    let loss = if loss.is_empty() { loss } else { format!("; {loss}") };
    let text = format!(
        "{} {layer} ({} {other}); {found}{passes}{loss}",
        step.rate_within("rate_bps"),
        at_other_layer(step, field)
    );
    Fact { name: format!("Bottleneck, {}", step.word("direction")), text }
}

/// The rate of another layer; of a limit without an upper end, its lower end there.
fn at_other_layer(step: Fields<'_>, field: &str) -> String {
    let bounds = [step.number("rate_bps_at_least"), step.number("rate_bps_at_most")];
    let (Some(there), Some(here), [Some(least), None]) =
        (step.number(field), step.number("rate_bps"), bounds)
    else {
        return step.rate(field);
    };
    rate(Rate::bps((there / here.max(1.0) * least).round() as u64))
}

fn line_rate(step: Fields<'_>) -> Fact {
    let reached = step.rate("reached_l1_bps");
    let text = match (step.word("source"), step.number("rate_l1_bps")) {
        ("given", _) => format!("{} l1, given", step.rate("rate_l1_bps")),
        ("found", Some(_)) => {
            format!("{} l1, found: {reached} came through", step.rate("rate_l1_bps"))
        }
        ("found", None) => format!("no Ethernet's: {reached} l1 came through"),
        ("tester_limit", _) => {
            format!("not known: the tester could send no more than {reached} l1")
        }
        _ => format!("not known: the cap of {reached} l1 came through"),
    };
    Fact { name: format!("Line rate, {}", step.word("direction")), text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_part_of_a_bottleneck_is_set_apart() {
        let step = json!({
            "direction": "upload", "layer": "l2", "rate_bps": 2e7, "rate_l1_bps": 2.1e7,
            "source": "fitted", "kind": "unknown", "carried_bytes": 3000, "base_loss_percent": 0.19,
        });
        let fact = bottleneck(Fields(&step));
        assert_eq!(
            fact.text,
            "20.00 Mbit/s l2 (21.00 Mbit/s l1); measured; seen to carry 3000 B; 0.19 % lost at any rate"
        );
    }
}

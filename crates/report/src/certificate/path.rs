//! What is known of the path before anything loads it.

use fp_method::figures;

use super::{capital, named};
use crate::document::Fact;
use crate::read;
use crate::stored::fields::Fields;

/// Path MTU, round trip, bottleneck, line: whichever the run has looked for.
pub(super) fn facts(steps: &[Fields<'_>]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = described(steps).collect();
    facts.extend(named(steps, "line").into_iter().map(|step| {
        let text = format!("{} at layer 1", step.rate("rate_l1_bps"));
        Fact { name: format!("Line, {}", step.word("direction")), text }
    }));
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
        Some(Fact { name: name.join(", "), text: row.kind.fact?(&row) })
    })
}

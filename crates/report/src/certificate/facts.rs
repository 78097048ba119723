//! What steps say in words: of the path before anything loads it, and of what was found without a table.

use fp_method::methods;
use fp_model::figure::{Row, capital};

use crate::document::Fact;

/// Kind by kind, each with its direction or its service.
pub(super) fn of(steps: &[Row]) -> Vec<Fact> {
    let of_step = |row: &Row| {
        let service = if row.has("service") { row.word("service") } else { "" };
        let of = [row.direction(), service].map(String::from);
        let fact = |(name, text)| {
            let name = [capital(name)].into_iter().chain(of.clone());
            let name: Vec<String> = name.filter(|word| !word.is_empty()).collect();
            Fact { name: name.join(", "), text }
        };
        (row.kind.facts)(row).into_iter().map(fact).collect::<Vec<_>>()
    };
    methods::kinds().flat_map(|kind| kind.among(steps)).flat_map(of_step).collect()
}

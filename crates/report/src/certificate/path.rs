//! What steps say in words: of the path before anything loads it, and of what was found without a table.

use fp_method::methods;
use fp_model::figure::capital;

use super::named;
use crate::document::Fact;
use crate::read;
use crate::stored::fields::Fields;

/// Kind by kind, each with its direction or its service.
pub(super) fn facts(steps: &[Fields<'_>]) -> Vec<Fact> {
    let of_step = |step: Fields<'_>| {
        let Some(row) = read::row(step) else { return Vec::new() };
        let of = [row.direction(), step.word("service")].map(String::from);
        let fact = |(name, text)| {
            let name: Vec<String> = [capital(name)].into_iter().chain(of.clone()).collect();
            let name: Vec<String> = name.into_iter().filter(|word| !word.is_empty()).collect();
            Fact { name: name.join(", "), text }
        };
        (row.kind.facts)(&row).into_iter().map(fact).collect()
    };
    methods::kinds().flat_map(|kind| named(steps, kind.name)).flat_map(of_step).collect()
}

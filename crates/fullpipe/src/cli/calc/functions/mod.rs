//! Every function of `fullpipe calc`, by subject.

mod burst;
mod ethernet;
mod meters;
mod path;
mod search;
mod tcp;

use super::function::Function;

/// All of them in the order in which they are listed.
pub(super) fn all() -> impl Iterator<Item = &'static Function> {
    let subjects: [&[Function]; 6] = [
        tcp::FUNCTIONS,
        ethernet::FUNCTIONS,
        burst::FUNCTIONS,
        meters::FUNCTIONS,
        search::FUNCTIONS,
        path::FUNCTIONS,
    ];
    subjects.into_iter().flatten()
}

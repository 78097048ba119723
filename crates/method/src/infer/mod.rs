//! What a path is, from what became of the frames that were offered to it: models of few parameters,
//! each figure with the interval that holds the truth in 95 of 100 cases.

pub(crate) mod bucket;
pub(crate) mod departures;
pub(crate) mod offers;
pub(crate) mod rate;
pub(crate) mod search;
pub(crate) mod train;

/// Odds of 199 to 1 decide between two explanations: the logarithm of that.
pub(crate) const DECIDES: f64 = 5.3;

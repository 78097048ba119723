//! Several measurements of one rate.

use std::fmt;

use fp_model::Rate;

/// The median of some rates, and all of them.
pub(super) struct Spread(pub(super) Vec<Rate>);

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rates = self.0.clone();
        rates.sort_unstable();
        let gbps = |rate: &Rate| rate.as_bps() as f64 / 1e9;
        let all: Vec<String> = rates.iter().map(|rate| format!("{:.1}", gbps(rate))).collect();
        write!(f, "{:.1} Gbit/s ({})", gbps(&rates[rates.len() / 2]), all.join(" "))
    }
}

//! Bars over time in plain characters.

use std::fmt::Write as _;

const ROWS: usize = 12;
pub(super) const COLUMNS: usize = 64;
/// Beside these rows stands what their upper edge is.
const MARKED: [usize; 4] = [0, 3, 7, 11];

/// What was reached in a part of the time, and what was wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    pub(super) reached: f64,
    pub(super) wanted: f64,
}

/// What stands beside the bars.
pub(super) struct Axes<'a> {
    pub(super) unit: &'a str,
    pub(super) shown: fn(f64) -> String,
    /// The least that the upper edge stands for.
    pub(super) top: f64,
    /// In seconds.
    pub(super) from_s: f64,
    pub(super) until_s: f64,
    /// What the characters mean; empty where that is clear.
    pub(super) key: &'a str,
}

/// A line for each row, then the axis of time and the key.
pub(super) fn bars(bars: &[Bar], axes: &Axes<'_>) -> String {
    let top = bars.iter().map(|bar| bar.reached.max(bar.wanted)).fold(axes.top, f64::max);
    let mut out = String::new();
    // Writing to a string cannot fail.
    for row in (0..ROWS).rev() {
        let drawn: String = bars.iter().map(|bar| bar.at(row, top)).collect();
        let label = match MARKED.contains(&row) {
            true => (axes.shown)(top * (row + 1) as f64 / ROWS as f64),
            false => String::new(),
        };
        let _ = writeln!(out, "{}", format!("{label:>11} |{drawn}").trim_end());
    }
    let [from, until] = [axes.from_s, axes.until_s].map(|at| format!("{at:.1} s"));
    let gap = bars.len().saturating_sub(from.len()).max(until.len() + 1);
    let _ = writeln!(out, "{:>11} +{}", axes.unit, "-".repeat(bars.len()));
    let _ = writeln!(out, "{:>12} {from}{until:>gap$}", "");
    if !axes.key.is_empty() {
        let _ = writeln!(out, "{:>12} {}", "", axes.key);
    }
    out
}

impl Bar {
    fn at(&self, row: usize, top: f64) -> char {
        // Half of a row counts as a whole one.
        let is_filled = |value: f64| (value / top * ROWS as f64 + 0.5) as usize > row;
        match (is_filled(self.reached), is_filled(self.wanted)) {
            (true, _) => '#',
            (false, true) => '.',
            (false, false) => ' ',
        }
    }
}

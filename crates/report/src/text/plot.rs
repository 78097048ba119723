//! A rate over time drawn with plain characters: what was asked for and what came through.

use fp_method::flow::Interval;

use super::line;

const ROWS: usize = 12;
const COLUMNS: usize = 64;

/// Draws target and received rate of a profile's intervals, Mbit/s of payload over seconds.
pub(super) fn profile(out: &mut String, intervals: &[Interval]) {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return };
    let columns = columns(intervals);
    let highest = columns.iter().map(|column| column.target.max(column.received));
    let top = highest.fold(0.0, f64::max).max(1e-9);
    for row in (0..ROWS).rev() {
        let drawn: String = columns.iter().map(|column| column.at(row, top)).collect();
        // The rate at the upper edge of a row stands beside it, every fourth of them and on top.
        let label = match row {
            0 | 3 | 7 | 11 => format!("{:>9.1}", top * (row + 1) as f64 / ROWS as f64),
            _ => String::from("         "),
        };
        line(out, &format!("{label} |{drawn}"));
    }
    line(out, &format!("   Mbit/s +{}", "-".repeat(columns.len())));
    let until = format!("{:.1} s", (last.at + last.lasts).as_secs_f64());
    let from = format!("{:.1} s", first.at.as_secs_f64());
    let gap = columns.len().saturating_sub(from.len() + until.len()).max(1);
    line(out, &format!("{:>10} {from}{}{until}", "", " ".repeat(gap)));
    line(out, &format!("{:>10} # received   . asked for and not received   (l4)", ""));
}

/// The mean rates of some intervals.
struct Column {
    target: f64,
    received: f64,
}

impl Column {
    fn at(&self, row: usize, top: f64) -> char {
        // Half of a row counts as a whole one.
        let filled = |mbps: f64| (mbps / top * ROWS as f64 + 0.5) as usize > row;
        match (filled(self.received), filled(self.target)) {
            (true, _) => '#',
            (false, true) => '.',
            (false, false) => ' ',
        }
    }
}

/// As many columns as there are intervals, or as fit.
fn columns(intervals: &[Interval]) -> Vec<Column> {
    let count = intervals.len().min(COLUMNS);
    let wide = if count * 2 <= COLUMNS { COLUMNS / count } else { 1 };
    let column = |place: usize| {
        let from = place * intervals.len() / count;
        let until = ((place + 1) * intervals.len() / count).max(from + 1);
        let part = &intervals[from..until];
        let mean = |of: fn(&Interval) -> u64| {
            part.iter().map(|each| of(each) as f64 / 1e6).sum::<f64>() / part.len() as f64
        };
        Column {
            target: mean(|each| each.target_l4.as_bps()),
            received: mean(|each| each.received_l4.as_bps()),
        }
    };
    (0..count).flat_map(|place| (0..wide).map(move |_| column(place))).collect()
}

//! Figures over time drawn with plain characters: what was asked for and what came through.

use fp_method::flow::Interval;
use fp_model::ConnectionsSample;

use super::{grouped, line};

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

/// Draws how many connections were open, against the most that were asked for.
pub(super) fn connections(out: &mut String, series: &[ConnectionsSample], target: u32) {
    let Some(last) = series.iter().rfind(|slot| slot.active > 0) else { return };
    let until = last.at + last.lasts;
    let shown: Vec<&ConnectionsSample> = series.iter().filter(|slot| slot.at < until).collect();
    let most = shown.iter().map(|slot| slot.active).max().unwrap_or_default();
    let top = f64::from(most.max(target).max(1));
    let heights: Vec<f64> = (0..COLUMNS)
        .map(|place| {
            // What there was at the end of a column's share of the time.
            let at = until.mul_f64((place + 1) as f64 / COLUMNS as f64);
            let slot = shown.iter().rfind(|slot| slot.at < at);
            slot.map_or(0.0, |slot| f64::from(slot.active))
        })
        .collect();
    for row in (0..ROWS).rev() {
        let filled = |height: &f64| (height / top * ROWS as f64 + 0.5) as usize > row;
        let drawn: String =
            heights.iter().map(|each| if filled(each) { '#' } else { ' ' }).collect();
        let label = match row {
            0 | 3 | 7 | 11 => grouped((top * (row + 1) as f64 / ROWS as f64).round() as u64),
            _ => String::new(),
        };
        line(out, &format!("{label:>11} |{drawn}"));
    }
    line(out, &format!("     active +{}", "-".repeat(COLUMNS)));
    let until = format!("{:.1} s", until.as_secs_f64());
    line(out, &format!("{:>12} 0.0 s{until:>width$}", "", width = COLUMNS - "0.0 s".len()));
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

//! Figures over time drawn with plain characters.

use fp_model::ConnectionsSample;

use super::{grouped, line};

const ROWS: usize = 12;
const COLUMNS: usize = 64;

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

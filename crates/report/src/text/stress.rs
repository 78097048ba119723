//! The line of a run of very many connections while it runs.

use fp_model::{ConnectionsSample, Rate};

use super::{grouped, rate};

/// What an interval of many connections came to, in one line.
pub fn connections(slots: &[ConnectionsSample]) -> String {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return String::new() };
    let until = last.at + last.lasts;
    let seconds = until.saturating_sub(first.at).as_secs_f64().max(1e-9);
    let sum = |of: fn(&ConnectionsSample) -> u64| slots.iter().map(of).sum::<u64>();
    let each_second = |count: u64| grouped((count as f64 / seconds).round() as u64);
    let good_bytes = sum(|slot| slot.upload_good_bytes + slot.download_good_bytes);
    let figures = [
        (grouped(u64::from(last.active)), 12, "active"),
        (grouped(u64::from(last.pending)), 10, "unanswered"),
        (each_second(sum(|slot| slot.established)), 10, "set up/s"),
        (each_second(sum(|slot| slot.closed)), 10, "closed/s"),
        (grouped(sum(|slot| slot.failed)), 8, "failed"),
        (each_second(sum(|slot| slot.transactions)), 10, "transactions/s"),
        (rate(Rate::over(good_bytes, until.saturating_sub(first.at))), 14, "(l4)"),
    ];
    let figures: String = figures
        .into_iter()
        .map(|(figure, wide, name)| format!(" {figure:>wide$} {name}"))
        .collect();
    format!("{:>9}{figures}", format!("{:.1} s", until.as_secs_f64()))
}

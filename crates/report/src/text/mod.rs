//! Words and lines of text, and what is shown while a run goes on.

mod live;
mod sparkline;
mod stress;

use std::fmt::Write as _;
use std::time::Duration;

pub(crate) use fp_method::grouped;
pub(crate) use fp_model::figure::{amount, unknown};
pub use fp_model::figure::{duration, rate};
use fp_model::{Direction, FlowSpec, Load, Rate, Sample, Trial};

pub use live::Progress;
pub use sparkline::sparkline;
pub use stress::connections;

/// Adds a line, without the blanks that a table leaves at its end.
pub(crate) fn line(out: &mut String, text: &str) {
    out.push_str(text.trim_end());
    out.push('\n');
}

/// Adds `text` after `label`, wrapped at `columns`; what follows the first line is indented.
pub(crate) fn indented(
    out: &mut String,
    label: &str,
    text: &str,
    indentation: usize,
    columns: Option<usize>,
) {
    let Some(columns) = columns else { return line(out, &format!("{label}{text}")) };
    let blanks = " ".repeat(indentation);
    // A word is never broken: it may be something to copy.
    let layout = textwrap::Options::new(columns)
        .initial_indent(label)
        .subsequent_indent(&blanks)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    for row in textwrap::wrap(text, layout) {
        line(out, &row);
    }
}

/// Folds the lines that are longer than `columns` at blanks, if that is known; what follows stands below the last column
/// of the table that begins in the first third of the line, or is indented by four more blanks.
pub fn folded(text: String, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return text };
    let mut out = String::new();
    for row in text.lines() {
        if row.chars().count() <= columns {
            line(&mut out, row);
            continue;
        }
        let begins = |(at, pair): (usize, &[char])| (pair == [' ', ' ']).then_some(at + 2);
        let chars: Vec<char> = row.chars().collect();
        let of_column = chars
            .windows(2)
            .enumerate()
            .take(columns / 3)
            .filter_map(begins)
            .rfind(|at| chars.get(*at).is_some_and(|next| *next != ' '));
        let lead = chars.iter().take_while(|next| **next == ' ').count();
        let indentation = of_column.filter(|at| *at > lead).unwrap_or(lead + 4);
        indented(&mut out, "", row, indentation.min(columns / 2), Some(columns));
    }
    out
}

/// Whether what was asked of a row is met, in four columns; `unknown` where that is not known.
pub(crate) const fn mark(is_met: Option<bool>, unknown: &'static str) -> &'static str {
    match is_met {
        Some(true) => "pass",
        Some(false) => "FAIL",
        None => unknown,
    }
}

/// What happened to a trial, by the code of the event.
pub(crate) fn happened(code: &str) -> &str {
    match code {
        "contact_lost" => "no contact between the ends",
        "far_end_shared" => "other near ends tested with the far end",
        "outage" => "nothing arrived",
        "trial_broken_off" => "broken off",
        "trial_repeated" => "interrupted and repeated",
        other => other,
    }
}

/// The beginning of `text`, if it has more characters than fit.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(['…']).take(columns).collect()
}

/// The start of a trial in one line.
pub fn trial_line(trial: &Trial) -> String {
    let lasts = trial.timing.active();
    let transfer = |flow: &FlowSpec| match &flow.load {
        Load::Tcp(load) => load.transfer_bytes(),
        Load::Probes(_) | Load::Frames(_) | Load::Bursts(_) | Load::Connections(_) => None,
    };
    // Nobody knows how long it takes to deliver them.
    let extent = match trial.flows.iter().map(transfer).sum::<Option<u64>>() {
        Some(bytes) if bytes > 0 => amount(bytes),
        Some(_) | None => format!("{:.1} s", lasts.as_secs_f64()),
    };
    format!("{} ({extent})", trial.name)
}

/// What one second of a flow carried, in one line.
pub fn progress(direction: Direction, slots: &[Sample]) -> String {
    let lasts: Duration = slots.iter().map(|slot| slot.lasts).sum();
    // Of a far end that tells nothing before the end, what was sent to it.
    let bytes = |slot: &Sample| slot.received_bytes.or(slot.sent_bytes);
    let received = slots.iter().filter_map(bytes).sum();
    let resent: u64 = slots.iter().filter_map(|slot| slot.retransmitted_bytes).sum();
    let mut text = format!("{direction:<9} {:>13}", rate(Rate::over(received, lasts)));
    if let Some(rtt) = slots.iter().rev().find_map(|slot| slot.rtt) {
        // Writing to a string cannot fail.
        let _ = write!(text, "  RTT {}", duration(rtt));
    }
    if resent > 0 {
        let _ = write!(text, "  {} bytes retransmitted", grouped(resent));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_wrapped_at_the_width_of_a_terminal_and_left_alone_in_a_pipe() {
        let said = |columns| {
            let mut out = String::new();
            let text = "upload, both ways at once: 64 % of 20 Mbit/s";
            indented(&mut out, "  - ", text, 4, columns);
            out
        };
        assert_eq!(said(None), "  - upload, both ways at once: 64 % of 20 Mbit/s\n");
        // 4 + 26 characters fill the first line.
        let wrapped = "  - upload, both ways at once:\n    64 % of 20 Mbit/s\n";
        assert_eq!(said(Some(30)), wrapped);
        assert_eq!(said(Some(1)).lines().count(), 10, "a word is never broken");
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_below_its_last_column_or_indented() {
        let folded = |text: &str, columns| folded(text.to_owned(), Some(columns));
        assert_eq!(folded("short\n", 10), "short\n");
        let prose = "  - one two three four five six seven";
        assert_eq!(folded(prose, 20), "  - one two three\n      four five six\n      seven\n");
        let row = "excess    download  none that would have shown";
        let indented = "excess    download  none\n    that would have\n    shown\n";
        assert_eq!(folded(row, 30), "excess    download  none that\n          would have shown\n");
        assert_eq!(folded(row, 24), indented);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(31_910), "31,910");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }
}

//! What became of a plan, for a person.

use std::time::Duration;

use super::{Round, Status, Summary, Tested};
use crate::text::{indented, line, shortened};

/// What stands beside the names of tests.
const OTHER_COLUMNS: usize = "   1    NOT RUN   12345.6 s  100 runs".len();
const LEAST_NAME_COLUMNS: usize = 12;

/// The whole summary; ends with a line feed.
pub fn text(summary: &Summary, columns: Option<usize>) -> String {
    let mut out = String::new();
    line(&mut out, &summary.name);
    for round in &summary.rounds {
        if summary.rounds_planned > 1 {
            line(&mut out, &format!("\nround {}, {}", round.round, round.started));
        }
        rows(&mut out, summary, round, columns);
    }
    out.push('\n');
    line(&mut out, &format!("verdict: {}", summary.status.word()));
    indented(&mut out, "  ", &counts(summary), 4, columns);
    out
}

/// A table, then what there is to say of tests.
fn rows(out: &mut String, summary: &Summary, round: &Round, columns: Option<usize>) {
    let width = name_columns(summary, columns);
    for (place, planned) in summary.planned.iter().enumerate() {
        let name = shortened(&planned.name, width);
        let outcome = summary.tested(round, planned).map_or_else(|| String::from("–"), outcome);
        line(out, &format!("{:>4}  {name:width$}  {outcome}", place + 1));
    }
    for tested in round.tests.iter().filter(|tested| !tested.reasons.is_empty()) {
        out.push('\n');
        indented(out, "", &format!("{}:", tested.name), 0, columns);
        for reason in &tested.reasons {
            indented(out, "  - ", reason, 4, columns);
        }
    }
}

/// One test, as soon as it has ended: `[2/5] windows: PASS in 4.1 s`.
pub fn test_line(summary: &Summary, place: usize, tested: &Tested) -> String {
    let (tests, seconds) = (summary.planned.len(), tested.duration_s);
    let Tested { name, status, .. } = tested;
    format!("[{place}/{tests}] {name}: {} in {seconds:.1} s", status.word())
}

fn outcome(tested: &Tested) -> String {
    let runs = match tested.runs.len() {
        0 | 1 => String::new(),
        runs => format!("  {runs} runs"),
    };
    format!("{:8}  {:>8.1} s{runs}", tested.status.word(), tested.duration_s)
}

fn name_columns(summary: &Summary, columns: Option<usize>) -> usize {
    let names = summary.planned.iter().map(|planned| planned.name.chars().count());
    let longest = names.max().unwrap_or(0);
    let most = columns.map_or(longest, |columns| columns.saturating_sub(OTHER_COLUMNS));
    longest.min(most.max(LEAST_NAME_COLUMNS))
}

/// A time for whoever has to wait: `45 s`, `12 min`, `3.5 h`.
pub fn whole_time(time: Duration) -> String {
    match time.as_secs_f64().ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

fn counts(summary: &Summary) -> String {
    let all = summary.planned.len() * summary.rounds_planned as usize;
    let mut parts = Vec::new();
    let mut counted = 0;
    for (status, words) in [
        (Status::Passed, "passed"),
        (Status::Failed, "failed"),
        (Status::Inconclusive, "inconclusive"),
        (Status::NotValid, "not valid: the tester was measured, not the network"),
        (Status::NotRun, "could not be run"),
        (Status::Aborted, "stopped"),
    ] {
        let count = summary.count(status);
        counted += count;
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    if counted < all {
        parts.push(format!("{} left out", all - counted));
    }
    let tests = if all == 1 { "test" } else { "tests" };
    format!("{all} {tests} in {:.1} s: {}", summary.duration_s, parts.join(", "))
}

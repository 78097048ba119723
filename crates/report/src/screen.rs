//! The screen: the verdict in one sentence, what a run found, then the reasons and the self-checks.

use fp_method::rounded;
use fp_method::verdict::Event;

use crate::document::plain_blocks;
use crate::sentence;
use crate::text::{folded, happened, line, mark};
use crate::{Outcome, Run, Work, certificate, directions, json, reasons};

/// How much of what is said beside figures and reasons is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Self-checks and deviations are counted.
    Brief,
    /// They are listed.
    Full,
}

/// The whole result for a person; ends with a line feed. Lines are folded at `columns`, if that is
/// known.
pub fn text(run: &Run, detail: Detail, columns: Option<usize>) -> String {
    let mut out = String::new();
    let brief = json::brief(&run.work);
    line(&mut out, &sentence::of(&brief));
    let seconds = run.lasted.as_secs_f64();
    let title = run.work.method().title;
    line(&mut out, &format!("{title} · {} · {} · {seconds:.0} s", run.across, run.started));
    let directions = directions::of(&brief);
    if !directions.is_empty() {
        line(&mut out, "");
    }
    for judged in &directions {
        let status = mark(judged.is_met, "?").to_uppercase();
        let (count, figure) = (judged.count(), &judged.figure);
        line(&mut out, &format!("{:<15} {status:<4} {count:<12} {figure}", judged.direction));
    }
    line(&mut out, "");
    let blocks = certificate::of_method(run.work.method().name, &brief);
    plain_blocks(&mut out, &blocks, columns);
    line(&mut out, "");
    line(&mut out, &format!("verdict: {}", run.work.outcome().verdict.status.title()));
    for reason in reasons::of(&brief) {
        line(&mut out, &format!("  - {reason}"));
    }
    checks(&mut out, &run.work, detail);
    folded(out, columns)
}

fn checks(out: &mut String, work: &Work, detail: Detail) {
    let Outcome { checks, deviations, events: happened, verdict: _ } = work.outcome();
    let broken = checks.iter().filter(|check| !check.ok).count();
    let passed = checks.len() - broken;
    let departs = match deviations.len() {
        0 => String::new(),
        1 => String::from("; departs from the standard in 1 point"),
        points => format!("; departs from the standard in {points} points"),
    };
    let listed = if detail == Detail::Full { "" } else { " (-v lists them)" };
    line(out, &format!("self-checks: {passed} passed, {broken} failed{departs}{listed}"));
    if detail == Detail::Full {
        for check in checks {
            let outcome = if check.ok { "passed" } else { "failed" };
            let [value, limit] = [check.value, check.limit].map(|figure| rounded(figure, 2));
            let name = check.name.word().replace('_', " ");
            line(out, &format!("  - {name}: {value} {}, limit {limit}: {outcome}", check.unit));
        }
        for deviation in deviations {
            line(out, &format!("  - departs from the standard: {deviation}"));
        }
        events(out, happened);
    }
}

fn events(out: &mut String, events: &[Event]) {
    if !events.is_empty() {
        line(out, "events:");
    }
    for event in events {
        let at = event.at.map(|at| format!("at {:.1} s, ", at.as_secs_f64())).unwrap_or_default();
        let lasts = event.lasts.map(|lasts| format!(" for {:.1} s", lasts.as_secs_f64()));
        let (trial, what) = (&event.trial, happened(event.code.word()));
        line(out, &format!("  - {at}trial '{trial}': {what}{}", lasts.unwrap_or_default()));
    }
}

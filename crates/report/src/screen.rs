//! The screen: the verdict in one sentence, what a run found, then the reasons and the self-checks.

use fp_method::rounded;

use crate::sentence::{self, word};
use crate::text::{body, line, sentence as wrapped};
use crate::{Run, Work, json};

/// How much of what is said beside figures and reasons is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Self-checks and deviations are counted.
    Brief,
    /// They are listed.
    Full,
}

/// The whole result for a person; ends with a line feed. Sentences are wrapped at `columns`, if that is
/// known; tables are not.
pub fn text(run: &Run, detail: Detail, columns: Option<usize>) -> String {
    let mut out = String::new();
    let verdict = sentence::of(&json::brief(&run.work));
    line(&mut out, &verdict);
    let seconds = run.lasted.as_secs_f64();
    let title = run.work.method().title();
    line(&mut out, &format!("{title} · {} · {} · {seconds:.0} s", run.across, run.started));
    line(&mut out, "");
    body(&mut out, &run.work);
    reasons(&mut out, &run.work, detail, columns);
    out
}

fn reasons(out: &mut String, work: &Work, detail: Detail, columns: Option<usize>) {
    let (verdict, checks, deviations) = work.outcome();
    line(out, "");
    line(out, &format!("verdict: {}", word(&verdict.status.to_string())));
    for reason in &verdict.reasons {
        wrapped(out, "  - ", &reason.text, columns);
    }
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
            let name = check.name.replace('_', " ");
            let text = format!("{name}: {value} {}, limit {limit}: {outcome}", check.unit);
            wrapped(out, "  - ", &text, columns);
        }
        for deviation in deviations {
            wrapped(out, "  - departs from the standard: ", deviation, columns);
        }
    }
}

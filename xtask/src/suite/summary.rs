//! What came out of the tests, for people and as JSON.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::Serialize;

use super::case::Outcome;

/// A tier of which more was disturbed proves too little.
const DISTURBED_PERCENT_MAX: u64 = 10;
/// How many of the slowest cases are named.
const SLOWEST: usize = 5;

/// All runs of all cases of a tier.
#[derive(Debug, Serialize)]
pub(super) struct Summary {
    schema: &'static str,
    tier: &'static str,
    pub(super) seconds: f64,
    passed: u64,
    failed: u64,
    disturbed: u64,
    /// Cases that take root, run by somebody else.
    pub(super) not_run: u64,
    /// Cases that have passed before and of which nothing has changed since.
    pub(super) unchanged: u64,
    cases: Vec<CaseRuns>,
}

/// What became of a case each time that it ran.
#[derive(Debug, Serialize)]
struct CaseRuns {
    case: String,
    user: &'static str,
    runs: u64,
    failed: u64,
    disturbed: u64,
    /// Of how many runs the host had become quiet before.
    quiet_before: u64,
    seconds_max: f64,
}

/// One run of a case.
pub(super) struct Run {
    pub(super) case: String,
    pub(super) user: &'static str,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
    pub(super) was_quiet_before: bool,
}

impl Summary {
    pub(super) fn new(tier: &'static str) -> Self {
        Self {
            schema: "fullpipe.tests/1",
            tier,
            seconds: 0.0,
            passed: 0,
            failed: 0,
            disturbed: 0,
            not_run: 0,
            unchanged: 0,
            cases: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, run: &Run) {
        let (failed, disturbed) = match run.outcome {
            Outcome::Passed => (0, 0),
            Outcome::Failed(_) => (1, 0),
            Outcome::Disturbed(_) => (0, 1),
        };
        self.passed += 1 - failed - disturbed;
        self.failed += failed;
        self.disturbed += disturbed;
        let case = self.case_of(run);
        case.runs += 1;
        case.failed += failed;
        case.disturbed += disturbed;
        case.quiet_before += u64::from(run.was_quiet_before);
        case.seconds_max = case.seconds_max.max(run.took.as_secs_f64());
    }

    fn case_of(&mut self, run: &Run) -> &mut CaseRuns {
        let known = self.cases.iter().position(|one| one.case == run.case && one.user == run.user);
        let at = known.unwrap_or_else(|| {
            self.cases.push(CaseRuns {
                case: run.case.clone(),
                user: run.user,
                runs: 0,
                failed: 0,
                disturbed: 0,
                quiet_before: 0,
                seconds_max: 0.0,
            });
            self.cases.len() - 1
        });
        &mut self.cases[at]
    }

    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let folder = file.parent().context("a file in a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let text = serde_json::to_string_pretty(self)?;
        fs::write(file, text + "\n").with_context(|| file.display().to_string())
    }

    /// A few lines, the last of them the counts.
    pub(super) fn text(&self) -> String {
        let mut slowest: Vec<&CaseRuns> = self.cases.iter().collect();
        slowest.sort_by(|a, b| b.seconds_max.total_cmp(&a.seconds_max));
        let mut text = String::new();
        for case in slowest.iter().take(SLOWEST) {
            text += &format!("  {:6.1} s  {} ({})\n", case.seconds_max, case.case, case.user);
        }
        for case in self.cases.iter().filter(|case| case.failed + case.disturbed > 0) {
            let CaseRuns { case, user, runs, failed, disturbed, .. } = case;
            text +=
                &format!("  {failed} failed, {disturbed} disturbed of {runs}: {case} ({user})\n");
        }
        let Self { tier, seconds, passed, failed, disturbed, not_run, unchanged, .. } = self;
        text += &format!("{tier}: {seconds:.0} s, {disturbed} disturbed");
        text += &format!(", {unchanged} unchanged since they passed, {not_run} take root\n");
        let skipped = unchanged + not_run;
        text + &format!("{tier}: {passed} passed, {failed} failed, {skipped} skipped\n")
    }

    /// An error where something failed, or too much was disturbed to prove anything.
    pub(super) fn verdict(&self) -> anyhow::Result<()> {
        let Self { tier, passed, failed, disturbed, unchanged, .. } = self;
        ensure!(*failed == 0, "{tier}: {failed} tests failed");
        ensure!(passed + disturbed + unchanged > 0, "{tier}: there is no such test");
        let runs = passed + disturbed + unchanged;
        ensure!(
            disturbed * 100 <= runs * DISTURBED_PERCENT_MAX,
            "{tier}: {disturbed} of {runs} tests were disturbed, more than {DISTURBED_PERCENT_MAX} %: \
             this host is too busy to prove anything; run it again when nothing else runs"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(outcomes: &[(Outcome, usize)]) -> Summary {
        let mut summary = Summary::new("real");
        for (outcome, count) in outcomes {
            for _ in 0..*count {
                let (case, outcome) = ("a".to_owned(), outcome.clone());
                let took = Duration::from_secs(1);
                summary.add(&Run { case, user: "nobody", outcome, took, was_quiet_before: true });
            }
        }
        summary
    }

    #[test]
    fn what_was_disturbed_neither_passed_nor_failed_and_a_tenth_of_it_is_too_much() {
        let disturbed = Outcome::Disturbed("so".into());
        let a_tenth = summary(&[(Outcome::Passed, 9), (disturbed.clone(), 1)]);
        assert!(a_tenth.verdict().is_ok());
        assert!(a_tenth.text().ends_with("real: 9 passed, 0 failed, 0 skipped\n"));
        let more = summary(&[(Outcome::Passed, 8), (disturbed.clone(), 1)]);
        assert!(more.verdict().unwrap_err().to_string().contains("1 of 9 tests were disturbed"));
        let failed = summary(&[(Outcome::Passed, 99), (Outcome::Failed("so".into()), 1)]);
        assert!(failed.verdict().unwrap_err().to_string().contains("1 tests failed"));
        assert!(summary(&[]).verdict().is_err());
        assert!(summary(&[(Outcome::Failed("so".into()), 1)]).verdict().is_err());
    }
}

//! The tests of a plan, round by round: run, judged and kept.

use std::time::Duration;

use anyhow::Context as _;
use fp_engine::StopFlag;
use fp_engine::os::clock;
use fp_report::summary::{self, Judged, Repetition, Round, Status, Summary, Tested};
use serde_json::{Value, json};

use super::super::measure::rfc3339;
use super::Jobs;
use super::child::{self, Ended};
use super::folder::Folder;
use super::job::Job;
use crate::exit::Failure;
use crate::plan::{Criterion, Figure};
use crate::stderr::tell;

/// Runs what has no result yet; after each test the summary is kept and `see` is told.
pub(super) fn run(
    jobs: &Jobs,
    mut summary: Summary,
    folder: &Folder,
    stop: &StopFlag,
    quiet: bool,
    see: &mut dyn FnMut(&Job, &Tested),
) -> Result<Summary, Failure> {
    let begun = clock::now();
    let before_s = summary.duration_s;
    let mut waited_for: u32 = 0;
    'rounds: for round in 1..=jobs.schedule.times {
        let due = begun + jobs.schedule.every * waited_for;
        if is_complete(&summary, round) {
            continue;
        }
        if !child::wait_until(due, stop).map_err(Failure::not_run)? {
            break;
        }
        waited_for += 1;
        begin(&mut summary, round);
        for (place, job) in jobs.jobs.iter().enumerate() {
            if has_run(&summary, round, job) {
                continue;
            }
            if stop.is_set() {
                break 'rounds;
            }
            let mut run = Run { jobs, folder, stop, quiet, round, place };
            let tested = run.test(job)?;
            see(job, &tested);
            if !quiet {
                tell(&summary::test_line(&summary, place + 1, &tested));
            }
            let ends_it = jobs.stop_on_fail && tested.status != Status::Passed;
            keep(&mut summary, round, tested);
            summary.duration_s = before_s + clock::now().since(begun).as_secs_f64();
            folder.save(&summary)?;
            if ends_it {
                break 'rounds;
            }
        }
    }
    summary.duration_s = before_s + clock::now().since(begun).as_secs_f64();
    summary.status = outcome(&summary, stop);
    folder.save(&summary)?;
    Ok(summary)
}

fn is_complete(summary: &Summary, round: u32) -> bool {
    let found = summary.rounds.iter().find(|other| other.round == round);
    found.is_some_and(|found| found.tests.len() == summary.planned.len())
}

fn has_run(summary: &Summary, round: u32, job: &Job) -> bool {
    let found = summary.rounds.iter().find(|other| other.round == round);
    found.is_some_and(|found| summary.tested(found, &job.planned).is_some())
}

fn begin(summary: &mut Summary, round: u32) {
    if !summary.rounds.iter().any(|other| other.round == round) {
        let started = rfc3339(clock::wall());
        summary.rounds.push(Round { round, started, tests: Vec::new() });
    }
}

/// Tests stand in the order of the plan, also where one was made up for.
fn keep(summary: &mut Summary, round: u32, tested: Tested) {
    let place = |name: &str| summary.planned.iter().position(|planned| planned.name == name);
    let here = place(&tested.name);
    let Some(index) = summary.rounds.iter().position(|other| other.round == round) else { return };
    let tests = &summary.rounds[index].tests;
    let after = tests.iter().position(|other| place(&other.name) > here).unwrap_or(tests.len());
    summary.rounds[index].tests.insert(after, tested);
}

/// The worst that became of a test.
fn outcome(summary: &Summary, stop: &StopFlag) -> Status {
    if stop.is_set() {
        return Status::Aborted;
    }
    let tested = summary.rounds.iter().flat_map(|round| &round.tests);
    tested.map(|tested| tested.status).max().unwrap_or(Status::Passed)
}

/// A test in its round.
struct Run<'a> {
    jobs: &'a Jobs,
    folder: &'a Folder,
    stop: &'a StopFlag,
    quiet: bool,
    round: u32,
    place: usize,
}

impl Run<'_> {
    fn test(&mut self, job: &Job) -> Result<Tested, Failure> {
        let started = rfc3339(clock::wall());
        let begun = clock::now();
        let (mut runs, mut documents) = (Vec::new(), Vec::new());
        for repetition in 1..=job.planned.repeat {
            let is_time = child::wait_until(clock::now() + job.pause, self.stop);
            if !is_time.map_err(Failure::not_run)? {
                break;
            }
            if !self.quiet {
                self.announce(job, repetition);
            }
            let (run, document) = self.once(job, repetition)?;
            runs.push(run);
            documents.extend(document);
        }
        let lasted = clock::now().since(begun);
        Ok(tested(job, started, lasted, runs, &documents))
    }

    fn announce(&self, job: &Job, repetition: u32) {
        let (place, tests) = (self.place + 1, self.jobs.jobs.len());
        let of = match job.planned.repeat {
            1 => String::new(),
            all => format!(", run {repetition} of {all}"),
        };
        let round = match self.jobs.schedule.times {
            1 => String::new(),
            all => format!(" of round {} of {all}", self.round),
        };
        tell(&format!("[{place}/{tests}] {}{of}{round}", job.planned.name));
    }

    /// One run, and its document if that counts.
    fn once(&self, job: &Job, repetition: u32) -> Result<(Repetition, Option<Value>), Failure> {
        let rounds = (self.round, self.jobs.schedule.times);
        let name = self.folder.file_of(rounds, self.place, &job.planned, repetition)?;
        let result = self.folder.path().join(format!("{name}.json"));
        let text = self.folder.path().join(format!("{name}.txt"));
        let begun = clock::now();
        let (stop, keeps) = (self.stop, self.jobs.keeps);
        let ended = child::run(job, repetition, &result, &text, stop, self.quiet, keeps)
            .context("cannot run fullpipe for a test")
            .map_err(Failure::not_run)?;
        let lasted = clock::now().since(begun);
        let document = std::fs::read_to_string(&result).ok();
        let document = document.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let status = self.status(job, &ended, document.is_some());
        let run = Repetition {
            status,
            duration_s: lasted.as_secs_f64(),
            result: document.as_ref().map(|_| format!("{name}.json")),
            reasons: reasons(job, &ended, status, document.as_ref()),
        };
        let counts = matches!(status, Status::Passed | Status::Failed | Status::Inconclusive);
        Ok((run, document.filter(|_| counts)))
    }

    fn status(&self, job: &Job, ended: &Ended, has_result: bool) -> Status {
        if self.stop.is_set() && !matches!(ended.code, Some(0 | 1 | 5)) {
            return Status::Aborted;
        }
        match (ended.code, has_result) {
            _ if ended.timed_out => Status::NotRun,
            (Some(0), true) => Status::Passed,
            (Some(1), true) if job.planned.counts_verdict => Status::Failed,
            (Some(5), true) if job.planned.counts_verdict => Status::Inconclusive,
            (Some(1 | 5), true) => Status::Passed,
            (Some(4), true) => Status::NotValid,
            (Some(_) | None, _) => Status::NotRun,
        }
    }
}

fn reasons(job: &Job, ended: &Ended, status: Status, document: Option<&Value>) -> Vec<String> {
    let said = || {
        let reasons = document.map(|document| &document["verdict"]["reasons"]);
        let reasons = reasons.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        reasons.iter().filter_map(|reason| reason["text"].as_str()).map(String::from).collect()
    };
    let speaks = document.is_some_and(|document| {
        ["info", "findings"].iter().any(|status| document["verdict"]["status"] == *status)
    });
    match (status, &ended.complaint) {
        // What judges nothing says what it has seen, and findings are to be known.
        (Status::Passed, _) if speaks => said(),
        (Status::Passed, _) => Vec::new(),
        (Status::Failed | Status::NotValid | Status::Inconclusive, _) => said(),
        (Status::Aborted, _) => vec![String::from("stopped by a signal")],
        (Status::NotRun, _) if ended.timed_out => {
            let timeout = job.timeout.unwrap_or_default().as_secs_f64();
            vec![format!("it took longer than its timeout of {timeout} s")]
        }
        (Status::NotRun, Some(complaint)) => vec![complaint.clone()],
        (Status::NotRun, None) => vec![match ended.code {
            Some(code) => format!("it ended with exit code {code} and without a result"),
            None => String::from("it was killed"),
        }],
    }
}

/// The test by its runs: the median of their verdicts, and of each criterion's figures.
fn tested(
    job: &Job,
    started: String,
    lasted: Duration,
    runs: Vec<Repetition>,
    documents: &[Value],
) -> Tested {
    let planned = &job.planned;
    let mut statuses: Vec<Status> = runs.iter().map(|run| run.status).collect();
    statuses.sort_unstable();
    let is_stopped = runs.len() < planned.repeat as usize || statuses.contains(&Status::Aborted);
    let median = statuses.get(statuses.len() / 2).copied();
    let median = if is_stopped { Status::Aborted } else { median.unwrap_or(Status::NotRun) };
    let mut reasons = runs
        .iter()
        .find(|run| run.status == median)
        .map_or_else(Vec::new, |run| run.reasons.clone());
    let has_figures = matches!(median, Status::Passed | Status::Failed | Status::Inconclusive);
    let judge = |criterion: &Criterion| judged(criterion, documents);
    let criteria: Vec<Judged> =
        if has_figures { job.criteria.iter().map(judge).collect() } else { Vec::new() };
    let not_met = criteria.iter().filter(|judged| judged.met != Some(true));
    reasons.extend(not_met.map(|judged| format!("{}, found {}", judged.criterion, judged.found)));
    // Without its figure a criterion is not decided: the network has not failed it.
    let worst = criteria.iter().map(|judged| match judged.met {
        Some(true) => Status::Passed,
        None => Status::NotValid,
        Some(false) => Status::Failed,
    });
    let status = worst.fold(median, Status::max);
    let name = planned.name.clone();
    Tested { name, status, started, duration_s: lasted.as_secs_f64(), reasons, criteria, runs }
}

fn judged(criterion: &Criterion, documents: &[Value]) -> Judged {
    let figures: Vec<Figure> =
        documents.iter().map(|document| criterion.look_up(document)).collect();
    let median = criterion.median(figures.clone());
    Judged {
        criterion: criterion.to_string(),
        met: criterion.is_met_by(&median),
        figures: figures.iter().map(value).collect(),
        median: value(&median),
        found: criterion.shown(&median),
    }
}

fn value(figure: &Figure) -> Value {
    match figure {
        Figure::Number(number) => json!(number),
        Figure::Word(word) => json!(word),
        Figure::Unknown(_) => Value::Null,
    }
}

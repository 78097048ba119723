//! The folder of a run: the document of every test, and a summary from which the run can go on.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use fp_engine::os::clock;
use fp_report::summary::{Planned, SCHEMA, Status, Summary, Tool};

use super::super::{document, measure};
use super::Jobs;
use crate::exit::Failure;

const SUMMARY: &str = "summary.json";
/// More than a thousand tests and their reasons take.
const MOST_SUMMARY_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// It goes when the run has ended.
    is_passing: bool,
}

impl Folder {
    /// A folder that is not there yet, or is empty.
    pub(super) fn new(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        fs::create_dir_all(path)
            .with_context(|| {
                format!("cannot make the folder {shown}: name one that can be made with --results")
            })
            .map_err(Failure::bad_input)?;
        let is_used = fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
        if is_used {
            return Err(Failure::bad_input(anyhow!(
                "the folder {shown} is not empty: name another with --results, or go on with the \
                 run in it with --resume {shown}"
            )));
        }
        Ok(Self { path: path.to_owned(), is_passing: false })
    }

    /// The folder of a run that has ended early.
    pub(super) fn again(path: &Path) -> Result<Self, Failure> {
        if path.join(SUMMARY).is_file() {
            return Ok(Self { path: path.to_owned(), is_passing: false });
        }
        Err(Failure::bad_input(anyhow!(
            "there is no {SUMMARY} in {}: name the folder of a run that has begun",
            path.display()
        )))
    }

    /// A folder that goes with this value.
    pub(super) fn passing() -> Result<Self, Failure> {
        let name = format!("fullpipe-run-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)
            .with_context(|| format!("cannot make the folder {}", path.display()))
            .map_err(Failure::not_run)?;
        Ok(Self { path, is_passing: true })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The summary of the run so far.
    ///
    /// # Errors
    /// Bad input: which test the plan has changed since.
    pub(super) fn begun(&self, jobs: &Jobs) -> Result<Summary, Failure> {
        let planned: Vec<Planned> = jobs.jobs.iter().map(|job| job.planned.clone()).collect();
        let file = self.path.join(SUMMARY);
        if !file.exists() {
            let summary = new(jobs, planned);
            self.save(&summary)?;
            return Ok(summary);
        }
        let summary = read(&file).map_err(Failure::bad_input)?;
        expect_same(&summary, &planned, jobs.schedule.times).map_err(Failure::bad_input)?;
        Ok(unfinished(summary))
    }

    pub(super) fn save(&self, summary: &Summary) -> Result<(), Failure> {
        let text = summary.json().map_err(Failure::not_run)?;
        let file = self.path.join(SUMMARY);
        document::save(&file, &format!("{text:#}\n")).map_err(Failure::not_run)
    }

    /// The name of a file for this repetition of a test, without its extension.
    pub(super) fn file_of(
        &self,
        (round, rounds): (u32, u32),
        place: usize,
        planned: &Planned,
        repetition: u32,
    ) -> Result<String, Failure> {
        let mut name = format!("{:03}-{}", place + 1, slug(&planned.name));
        if planned.repeat > 1 {
            name += &format!(".{repetition}");
        }
        if rounds == 1 {
            return Ok(name);
        }
        let folder = format!("round-{round:05}");
        let made = fs::create_dir_all(self.path.join(&folder));
        made.context("cannot make a folder for results").map_err(Failure::not_run)?;
        Ok(format!("{folder}/{name}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_passing {
            // What cannot be removed is in the system's folder for what may go.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// In the folder `here`, by name and time.
pub(super) fn default_path(here: &Path, name: &str) -> PathBuf {
    let started = measure::rfc3339(clock::wall());
    let started: String = started.chars().filter(|c| !matches!(c, '-' | ':')).collect();
    here.join(format!("fullpipe-run-{}-{started}", slug(name)))
}

/// Letters, digits and dashes.
fn slug(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let text: String = name.chars().map(plain).collect();
    let words: Vec<&str> = text.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}

fn new(jobs: &Jobs, planned: Vec<Planned>) -> Summary {
    Summary {
        schema: String::from(SCHEMA),
        name: jobs.name.clone(),
        started: measure::rfc3339(clock::wall()),
        duration_s: 0.0,
        tool: Tool {
            name: String::from("fullpipe"),
            version: String::from(env!("CARGO_PKG_VERSION")),
        },
        status: Status::Aborted,
        planned,
        rounds_planned: jobs.schedule.times,
        rounds: Vec::new(),
    }
}

fn read(file: &Path) -> anyhow::Result<Summary> {
    let shown = file.display();
    let unreadable = || format!("cannot read {shown}");
    let bytes = fs::metadata(file).with_context(unreadable)?.len();
    if bytes > MOST_SUMMARY_BYTES {
        return Err(anyhow!("{shown} has {bytes} bytes: it is no summary of a run"));
    }
    let text = fs::read_to_string(file).with_context(unreadable)?;
    let summary: Summary = serde_json::from_str(&text)
        .with_context(|| format!("{shown} is no summary of a run: name another folder"))?;
    if summary.schema != SCHEMA {
        let found = &summary.schema;
        return Err(anyhow!("{shown} is `{found}`: this program goes on with `{SCHEMA}`"));
    }
    Ok(summary)
}

/// A run goes on with the plan that it began with.
fn expect_same(summary: &Summary, planned: &[Planned], rounds: u32) -> anyhow::Result<()> {
    let remedy = "go on with the plan as it was, or begin a new run";
    if let Some((_, now)) = summary.planned.iter().zip(planned).find(|(before, now)| before != now)
    {
        return Err(anyhow!("the plan has changed: its test `{}` is another: {remedy}", now.name));
    }
    if summary.planned.len() != planned.len() || summary.rounds_planned != rounds {
        return Err(anyhow!(
            "the plan has changed: it had {} tests in {} rounds, now {} in {rounds}: {remedy}",
            summary.planned.len(),
            summary.rounds_planned,
            planned.len()
        ));
    }
    Ok(())
}

/// Tests without a result run again.
fn unfinished(mut summary: Summary) -> Summary {
    for round in &mut summary.rounds {
        round.tests.retain(|tested| !matches!(tested.status, Status::NotRun | Status::Aborted));
    }
    summary
}

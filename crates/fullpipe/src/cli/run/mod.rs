//! `fullpipe run`: the tests of a plan, one after the other.
//!
//! A test becomes the words of a command line, checked by that command's own parser, so that a new
//! option needs nothing here. It runs as a child process: a timeout or a signal ends it like any
//! command, and the lab's namespaces end with it. Criteria look at its result document alone. The
//! summary is written anew after each test, so that a run can be killed at any time and continues
//! after its last test.

mod child;
mod folder;
mod job;
mod rounds;
mod schema;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use fp_engine::os::signal;
use fp_model::{parse_duration, parse_size};
use fp_report::summary::{self, Status, Summary};

use super::cost::Cost;
use super::document;
use super::words;
use crate::exit::{Exit, Failure, stopped_by};
use crate::network;
use crate::plan::{self, Schedule, Target};
use crate::stderr::tell;
use folder::Folder;
use job::Job;
pub(crate) use schema::schema;
pub(crate) use watch::{WatchArgs, watch};

/// Runs the tests of a plan in order and judges them by its criteria
///
/// Each test is one command of fullpipe with its options; the plan has variables, matrices,
/// repetitions with medians, pauses, a schedule, tags. Everything in it is checked, with line and
/// column, before the first test runs.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A plan (more in examples/plans, every key in `fullpipe schema plan`):

  plan: fullpipe.plan/1
  name: A line of 40 Mbit/s
  lab: metro-40m-cbs64k             # or far: HOST[:PORT], or sim: NET
  variables: {cir: 40M}
  tests:
    - burst: {cir: $cir, cbs: 64K}  # a command, its options without dashes
    - name: windows
      test: {cir: $cir, window: $window}
      matrix: {window: [64K, 256K]} # one test for each value
      repeat: 3                     # the median of each figure decides
      pass:
        - {step: tcp, where: {direction: download}, field: throughput_bps, at_least: 35M}

Files are named as seen from the plan's folder, and lie in it.

Exit codes: 0 all tests passed; 3 a test could not be run; else 1 a test failed; else 4 a result is
not valid; else 5 one is inconclusive; 2 the plan is wrong; 130 or 143 stopped, go on with --resume.")]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// Refuse a plan that takes longer than this at least
    #[arg(long, value_name = "TIME", value_parser = time)]
    max_time: Option<Duration>,
    /// Refuse a plan that may send more than this, or of which that is not known
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_volume: Option<u64>,
    /// Check the plan and say what would be run
    #[arg(long)]
    dry_run: bool,
    /// Go on with the run whose results are in FOLDER
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["results", "dry_run", "no_save"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Which tests of which plan are run, and across what.
#[derive(Debug, clap::Args)]
struct Which {
    /// The plan: a file in YAML
    plan: PathBuf,
    /// Test to this far end, whatever the plan says: a pairing string or HOST[:PORT]
    #[arg(conflicts_with_all = ["lab", "sim"])]
    far: Option<String>,
    /// Test across this emulated network, whatever the plan says
    #[arg(long, value_name = "NET", conflicts_with = "sim")]
    lab: Option<String>,
    /// Simulate across this network, whatever the plan says
    #[arg(long, value_name = "NET")]
    sim: Option<String>,
    /// A file with the secret of the far end
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Give a variable of the plan this value; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Run only tests with one of these tags
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    tags: Vec<String>,
    /// Leave out tests with one of these tags
    #[arg(long, value_name = "TAG,…", value_delimiter = ',')]
    skip_tags: Vec<String>,
}

/// Where the results go.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
struct OutputArgs {
    /// Keep the results in FOLDER (default: fullpipe-run-NAME-TIME in the current one)
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
    /// Keep nothing but what -o and --junit ask for, and no run in the history
    #[arg(long, conflicts_with = "results")]
    no_save: bool,
    /// Write what became of the tests to FILE as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the summary as JSON to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The summary as one JSON document on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(mut args: Args) -> Result<Exit, Failure> {
    let here = std::env::current_dir().context("cannot tell the current folder");
    let here = here.map_err(Failure::not_run)?;
    args.which = seen_from(&here, args.which);
    let OutputArgs { results, junit, output, .. } = &mut args.output;
    for file in [&mut args.resume, results, junit, output].into_iter().flatten() {
        *file = here.join(&*file);
    }
    for file in args.output.output.iter().chain(&args.output.junit) {
        document::expect_writable(file)?;
    }
    let jobs = Jobs::of(&args.which, !args.output.no_save)?;
    jobs.expect_within(args.max_time, args.max_volume)?;
    if args.dry_run {
        return document::print(&jobs.listed()).map(|()| Exit::Passed);
    }
    let stop = signal::stop_flag().context("cannot watch for Ctrl-C").map_err(Failure::not_run)?;
    let folder = match (&args.resume, &args.output.results, args.output.no_save) {
        (Some(folder), ..) => Folder::again(folder)?,
        (None, Some(folder), _) => Folder::new(folder)?,
        (None, None, false) => Folder::new(&folder::default_path(&here, &jobs.name))?,
        (None, None, true) => Folder::passing()?,
    };
    let summary = folder.begun(&jobs)?;
    if !args.output.quiet {
        let done = summary.rounds.iter().map(|round| round.tests.len()).sum();
        tell(&jobs.announcement(done));
    }
    let summary = rounds::run(&jobs, summary, &folder, &stop, args.output.quiet, &mut |_, _| {})?;
    publish(&summary, &args.output)?;
    if !args.output.quiet && !args.output.no_save {
        tell(&format!("results are in {}", folder.path().display()));
    }
    Ok(exit(summary.status))
}

/// The tests that are to be run, and how.
#[derive(Debug)]
struct Jobs {
    name: String,
    jobs: Vec<Job>,
    schedule: Schedule,
    stop_on_fail: bool,
    /// Their runs go into the history as well.
    keeps: bool,
}

impl Jobs {
    fn of(args: &Which, keeps: bool) -> Result<Self, Failure> {
        let methods = words::methods();
        let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
        let plan = plan::load(&args.plan, &args.set, &methods)?;
        plan.expect_known_names()?;
        enter_the_folder_of(&args.plan)?;
        let target = match (&args.far, &args.lab, &args.sim) {
            (Some(far), ..) => Some(Target::Far(far.clone())),
            (_, Some(lab), _) => Some(Target::Lab(lab.clone())),
            (_, _, Some(sim)) => Some(Target::Sim(sim.clone())),
            (None, None, None) => None,
        };
        let has_one_of =
            |test: &plan::Test, tags: &[String]| test.tags.iter().any(|tag| tags.contains(tag));
        let chosen = plan.tests.iter().filter(|test| {
            let is_asked_for = args.tags.is_empty() || has_one_of(test, &args.tags);
            is_asked_for && !has_one_of(test, &args.skip_tags)
        });
        let jobs = chosen
            .map(|test| Job::of(test, &plan, target.as_ref(), args.key_file.as_deref()))
            .collect::<Result<Vec<_>, _>>()?;
        if jobs.is_empty() {
            return Err(Failure::bad_input(anyhow!("no test of the plan has tags as asked for")));
        }
        let (schedule, stop_on_fail) = (plan.schedule, plan.stop_on_fail);
        Ok(Self { name: plan.name, jobs, schedule, stop_on_fail, keeps })
    }

    /// Each test with its command line, and what all of them take.
    fn listed(&self) -> String {
        let job = |job: &Job| format!("{}\n  fullpipe {}\n", job.planned.name, job.command_line());
        let tests = self.jobs.iter().map(job).collect::<String>();
        format!("{tests}{}\n", self.announcement(0))
    }

    /// What is to come, where `done` tests have a result already.
    fn announcement(&self, done: usize) -> String {
        let times = self.schedule.times;
        let all = self.jobs.len() * times as usize;
        let left = match (done, all) {
            (0, 1) => String::from("1 test"),
            (0, all) => format!("{all} tests"),
            (done, all) => format!("{} of {all} tests are left; all of them", all - done),
        };
        let rounds = match times {
            1 => String::new(),
            times => format!(" in {times} rounds"),
        };
        let time = match summary::whole_time(self.at_least()) {
            time if self.cost() == Cost::NOTHING => format!("simulated, {time} of waiting"),
            time => format!("at least {time}"),
        };
        format!("{}: {left}{rounds}, {time}, {}", self.name, self.volume())
    }

    /// Of all rounds.
    fn cost(&self) -> Cost {
        self.jobs.iter().map(|job| job.cost.times(self.schedule.times)).sum()
    }

    fn at_least(&self) -> Duration {
        let Schedule { every, times } = self.schedule;
        let round: Cost = self.jobs.iter().map(|job| job.cost).sum();
        round.at_least.max(every) * (times - 1) + round.at_least
    }

    fn volume(&self) -> String {
        let known = || self.jobs.iter().filter(|job| job.cost.at_most_bytes.is_some());
        let open = self.jobs.len() - known().count();
        let cost = known().map(|job| job.cost.times(self.schedule.times)).sum::<Cost>();
        let megabytes = cost.at_most_bytes.unwrap_or_default() as f64 / 1e6;
        match (open, megabytes) {
            (0, 0.0) => String::from("nothing is sent"),
            (0, megabytes) => format!("at most {megabytes:.1} MB are sent"),
            (open, 0.0) if open == self.jobs.len() => {
                String::from("as much is sent as the network carries")
            }
            (open, megabytes) => format!(
                "at most {megabytes:.1} MB are sent, and by {open} of them as much as the network \
                 carries"
            ),
        }
    }

    /// # Errors
    /// Bad input: what the plan takes, and what was allowed.
    fn expect_within(&self, time: Option<Duration>, volume: Option<u64>) -> Result<(), Failure> {
        let at_least = self.at_least();
        if time.is_some_and(|time| at_least > time) {
            return Err(Failure::bad_input(anyhow!(
                "the plan takes at least {}, more than --max-time allows: run fewer tests (--tags) \
                 or shorter ones",
                summary::whole_time(at_least)
            )));
        }
        let sends = self.cost().at_most_bytes;
        if volume.is_some_and(|volume| sends.is_none_or(|sends| sends > volume)) {
            return Err(Failure::bad_input(anyhow!(
                "{}, which may be more than --max-volume allows: give rates and times, or run \
                 fewer tests (--tags)",
                self.volume()
            )));
        }
        Ok(())
    }
}

/// Files on the command line are named as seen from `here`, wherever the plan lies.
fn seen_from(here: &Path, mut which: Which) -> Which {
    if let Some(file) = &mut which.key_file {
        *file = here.join(&*file);
    }
    for net in [&mut which.lab, &mut which.sim].into_iter().flatten() {
        let file = here.join(&*net);
        if file.exists() && !network::list().any(|(name, _)| name == net) {
            *net = file.display().to_string();
        }
    }
    which
}

/// From here on files that the plan names are seen from its own folder.
fn enter_the_folder_of(plan: &Path) -> Result<(), Failure> {
    let folder = plan.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entered = std::env::set_current_dir(folder.unwrap_or(Path::new(".")));
    entered
        .with_context(|| format!("cannot enter the folder of {}", plan.display()))
        .map_err(Failure::bad_input)
}

fn publish(summary: &Summary, output: &OutputArgs) -> Result<(), Failure> {
    let document = || summary.json().map(|json| format!("{json:#}\n")).map_err(Failure::not_run);
    if let Some(file) = &output.output {
        document::save(file, &document()?).map_err(Failure::not_run)?;
    }
    if let Some(file) = &output.junit {
        let text = summary::junit(summary).map_err(Failure::not_run)?;
        document::save(file, &text).map_err(Failure::not_run)?;
    }
    let shown = if output.json { document()? } else { summary::text(summary, document::columns()) };
    document::print(&shown)
}

fn exit(status: Status) -> Exit {
    match status {
        Status::Passed => Exit::Passed,
        Status::Inconclusive => Exit::Inconclusive,
        Status::NotValid => Exit::NotValid,
        Status::Failed => Exit::Failed,
        Status::NotRun => Exit::NotRun,
        Status::Aborted => stopped_by(),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn size(text: &str) -> Result<u64, String> {
    parse_size(text).map_err(|error| error.to_string())
}

fn assignment(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in cir=40M")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

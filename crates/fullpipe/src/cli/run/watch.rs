//! `fullpipe watch`: a plan again and again, its figures told as metrics.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context as _;
use fp_engine::os::{clock, signal};
use fp_report::summary::Tested;
use serde_json::Value;

use super::child::wait_until;
use super::folder::Folder;
use super::job::Job;
use super::{Jobs, Which, rounds, seen_from, time};
use crate::exit::{Exit, Failure};
use crate::metrics::Exporter;
use crate::metrics::plan::{Ended, Watched};
use crate::plan::Schedule;
use crate::stderr::tell;

/// Of a plan without a schedule.
const EVERY: Duration = Duration::from_secs(300);
const EVERY_LEAST: Duration = Duration::from_secs(1);
const EVERY_MOST: Duration = Duration::from_secs(31 * 24 * 3600);

/// Runs a plan again and again until stopped, and tells its figures as metrics for Prometheus
///
/// The tests run as by `fullpipe run`, each round so long after the one before as the plan's schedule
/// or --every says, or at once where a round takes longer. Runs are kept in the history. A dashboard
/// for Grafana is in examples/grafana.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
  fullpipe watch plan.yaml --every 15m --metrics 127.0.0.1:9349
  curl http://127.0.0.1:9349/metrics")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    which: Which,
    /// From one beginning to the next [default: as the plan says, else 5m]
    #[arg(long, value_name = "TIME", value_parser = interval)]
    every: Option<Duration>,
    /// Tell metrics at this address; other hosts reach only one that is not of loopback
    #[arg(long, value_name = "ADDR:PORT", value_parser = crate::metrics::address,
          default_value = "127.0.0.1:9349")]
    metrics: SocketAddr,
    /// Keep no run in the history
    #[arg(long)]
    no_save: bool,
    /// No progress on stderr
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn watch(args: WatchArgs) -> Result<Exit, Failure> {
    let here = std::env::current_dir().context("cannot tell the current folder");
    let which = seen_from(&here.map_err(Failure::not_run)?, args.which);
    let mut jobs = Jobs::of(&which, !args.no_save)?;
    let planned = Some(jobs.schedule.every).filter(|every| !every.is_zero());
    let every = args.every.or(planned).unwrap_or(EVERY);
    jobs.schedule = Schedule::ONCE;
    let stop = signal::stop_flag().context("cannot watch for Ctrl-C").map_err(Failure::not_run)?;
    let watched = Watched::new(&jobs.name);
    let told = watched.clone();
    let exporter = Exporter::bind(args.metrics, args.quiet)?;
    let served = exporter.serve(stop.clone(), move || told.text());
    let served = served.context("cannot tell metrics").map_err(Failure::not_run)?;
    if !args.quiet {
        let seconds = every.as_secs_f64();
        tell(&format!("{}; again every {seconds} s until Ctrl-C", jobs.announcement(0)));
    }
    let mut due = clock::now();
    let outcome = loop {
        match wait_until(due, &stop) {
            Ok(true) => {}
            Ok(false) => break Ok(Exit::Passed),
            Err(error) => break Err(Failure::not_run(error)),
        }
        if let Err(failure) = round(&jobs, &watched, &stop, args.quiet) {
            break Err(failure);
        }
        due = (due + every).max(clock::now());
    };
    stop.set();
    // A panic of the exporter has been reported on stderr.
    let _ = served.join();
    outcome
}

fn interval(text: &str) -> Result<Duration, String> {
    let every = time(text)?;
    if (EVERY_LEAST..=EVERY_MOST).contains(&every) {
        return Ok(every);
    }
    Err(String::from("rounds begin from 1 s to 31 days apart, as with 15m"))
}

/// All tests once; their documents are looked at and go.
fn round(
    jobs: &Jobs,
    watched: &Watched,
    stop: &fp_engine::StopFlag,
    quiet: bool,
) -> Result<(), Failure> {
    let folder = Folder::passing()?;
    let summary = folder.begun(jobs)?;
    rounds::run(jobs, summary, &folder, stop, quiet, &mut |job, tested| {
        look_at(watched, &folder, job, tested);
    })?;
    if !stop.is_set() {
        watched.on_round();
    }
    Ok(())
}

/// The figures are those of the last repetition with a result.
fn look_at(watched: &Watched, folder: &Folder, job: &Job, tested: &Tested) {
    let name = tested.runs.iter().rev().find_map(|run| run.result.as_deref());
    let text = name.and_then(|name| std::fs::read_to_string(folder.path().join(name)).ok());
    let result = text.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    watched.on_test(&Ended {
        test: &tested.name,
        method: &job.planned.method,
        status: tested.status,
        ended_s: clock::wall().as_nanos() as f64 / 1e9,
        lasted_s: tested.duration_s,
        result: result.as_ref(),
    });
}

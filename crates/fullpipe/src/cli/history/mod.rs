//! `fullpipe history`: what was measured before.

mod files;
mod table;
mod wanted;

use std::path::PathBuf;

use anyhow::anyhow;
use fp_engine::os::clock;
use fp_history::{Filter, History, Retention};
use serde_json::{Value, json};

use super::measure::rfc3339;
use super::{document, keep};
use crate::exit::{Exit, Failure};
use wanted::Condition;

const SCHEMA: &str = "fullpipe.history/1";
/// Values in the line that draws the course of a figure.
const COURSE_MAX: usize = 12;

/// Lists what was measured before, newest first
///
/// Every run of a command that measures is kept when it ends, unless --no-save is given; simulated
/// runs are kept with --save. The history is in $FULLPIPE_DATA, or in the folder fullpipe of
/// $XDG_DATA_HOME or ~/.local/share. `fullpipe report ID` shows a run again, the beginning of its
/// id is enough, and `last` is the newest one.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Conditions for --where: method=…, far=…, verdict=…, since=…, until=…, site=…, circuit=…,
technician=…, order=…, label=…. Method and verdict are whole words, of the others a part is enough.
Times are dates (2026-11-22, UTC), RFC 3339, or how long ago: 90m, 24h, 7d, 2w.

  fullpipe history --where method=rfc6349,far=10.0.0.2 --where since=7d
  fullpipe history --where site=Hamburg --export results/")]
pub(crate) struct Args {
    /// Only runs that meet this; may be repeated
    #[arg(long = "where", value_name = "NAME=TEXT,…", value_delimiter = ',', value_parser = wanted::condition)]
    conditions: Vec<Condition>,
    /// Show at most so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// One JSON document on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// Write the result of every run that meets the conditions into FOLDER, as ID.json
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["json", "import"])]
    export: Option<PathBuf>,
    /// Take results into the history: files as -o writes them, or folders with such
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["json", "conditions"])]
    import: Vec<PathBuf>,
    /// From now on keep at most so many runs
    #[arg(long, value_name = "N")]
    keep_runs: Option<u64>,
    /// From now on keep no run for longer; 0 for however long
    #[arg(long, value_name = "DAYS")]
    keep_days: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    if args.keep_runs.is_some() || args.keep_days.is_some() {
        retain(args)?;
    } else if !args.import.is_empty() {
        files::import(&args.import)?;
    } else {
        let filter = wanted::filter(&args.conditions, clock::wall()).map_err(Failure::bad_input)?;
        let history = keep::history().map_err(Failure::not_run)?;
        match &args.export {
            Some(folder) => files::export(history.as_ref(), &filter, folder)?,
            None => list(history.as_ref(), &filter, args)?,
        }
    }
    Ok(Exit::Passed)
}

fn retain(args: &Args) -> Result<(), Failure> {
    if args.keep_runs == Some(0) {
        return Err(Failure::bad_input(anyhow!(
            "--keep-runs 0 would keep nothing: --no-save or FULLPIPE_DATA=/dev/null do that"
        )));
    }
    let mut history = keep::history_to_write().map_err(Failure::not_run)?;
    let before = history.retention().map_err(Failure::not_run)?;
    let retention = Retention {
        runs: args.keep_runs.unwrap_or(before.runs),
        days: args.keep_days.map_or(before.days, |days| Some(days).filter(|days| *days > 0)),
    };
    let now = rfc3339(clock::wall());
    let gone = history.retain(retention, &now).map_err(Failure::not_run)?;
    let age = retention
        .days
        .map_or_else(|| String::from("however old"), |days| format!("none older than {days} days"));
    let text = format!("keeps the last {} runs, {age}; {gone} went now\n", retention.runs);
    document::print(&text)
}

fn list(history: Option<&History>, filter: &Filter, args: &Args) -> Result<(), Failure> {
    let (rows, count) = match history {
        Some(history) => rows(history, filter, args.limit).map_err(Failure::not_run)?,
        None => (Vec::new(), 0),
    };
    if args.json {
        let document = json!({
            "schema": SCHEMA,
            "count": count,
            "runs": rows.iter().map(as_json).collect::<Vec<_>>(),
        });
        return document::print(&format!("{document:#}\n"));
    }
    let is_filtered = *filter != Filter::default();
    document::print(&table::text(&rows, count, is_filtered, document::columns()))
}

/// A run with the figures of those before it, itself the last.
#[derive(Debug)]
struct Row {
    entry: fp_history::Entry,
    course: Vec<f64>,
}

fn rows(
    history: &History,
    filter: &Filter,
    limit: usize,
) -> Result<(Vec<Row>, u64), fp_history::Error> {
    let entries = history.latest(filter, limit)?;
    let row = |entry| {
        let course = history.course(&entry, COURSE_MAX)?;
        Ok(Row { entry, course })
    };
    let rows = entries.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    Ok((rows, history.count(filter)?))
}

fn as_json(Row { entry, course }: &Row) -> Value {
    let figure = entry.figure.as_ref();
    let labels = fp_history::LABELS.iter().zip(&entry.labels);
    json!({
        "id": entry.id,
        "started": entry.started,
        "method": entry.method,
        "across": entry.far,
        "verdict": entry.verdict,
        "duration_s": entry.duration_s,
        "figure": figure.map(|figure| json!({
            "name": figure.name,
            "value": figure.value,
            "unit": figure.unit,
        })),
        "course": course,
        "labels": labels.map(|(name, text)| ((*name).to_owned(), json!(text)))
            .collect::<serde_json::Map<_, _>>(),
    })
}

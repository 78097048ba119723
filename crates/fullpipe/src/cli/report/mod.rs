//! `fullpipe report`: documents from a result that is stored.

mod judge;

use std::path::PathBuf;

use fp_report::Stored;

use super::labels::LabelArgs;
use super::{Exit, Failure, document, stored};
use judge::Change;

/// Shows a stored result again, or makes documents of it
///
/// RESULT is `last`, `last~1` for the one before, the id of a run in the history or as much of its
/// beginning as no other has, or a file that -o has written. Without options the result is shown as
/// it was after the test.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// last, last~N, an id of the history, or a file
    result: String,
    /// The stored document on stdout, to the byte
    #[arg(long)]
    json: bool,
    /// Write a certificate as HTML to FILE, with everything it needs inside
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Judge the evidence again with this field of the plan changed, such as
    /// thresholds.throughput_percent=80; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", value_parser = judge::change)]
    judge_with: Vec<Change>,
    /// Write the result, judged again if so, to FILE
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    labels: LabelArgs,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    for file in args.html.iter().chain(&args.output) {
        document::expect_writable(file)?;
    }
    let stored = stored::load(&args.result)?;
    let result = match args.judge_with.as_slice() {
        [] => stored,
        changes => judge::again(&stored, changes).map_err(Failure::bad_input)?,
    };
    let mut has_file = false;
    if let Some(file) = &args.output {
        document::save(file, result.text()).map_err(Failure::not_run)?;
        has_file = true;
    }
    if let Some(file) = &args.html {
        let certificate = fp_report::certificate(&result, &args.labels.labels());
        document::save(file, &fp_report::html(&certificate)).map_err(Failure::not_run)?;
        has_file = true;
    }
    if args.json {
        document::print(result.text())?;
    } else if !has_file {
        document::print(&screen(&result, args))?;
    }
    Ok(Exit::Passed)
}

/// As it was after the test, where that follows from the evidence; otherwise the certificate.
fn screen(result: &Stored, args: &Args) -> String {
    match judge::as_it_was(result) {
        Some(run) => fp_report::text(&run, document::columns()),
        None => fp_report::plain(&fp_report::certificate(result, &args.labels.labels())),
    }
}

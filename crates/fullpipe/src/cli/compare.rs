//! `fullpipe compare`: two results side by side.

use std::path::PathBuf;

use super::report::PaperOption;
use super::{document, keep, stored};
use crate::exit::{Exit, Failure};
use crate::stderr::tell;

/// Compares two results of one method: what changed, and whether beyond the noise
///
/// FIRST and SECOND are `last`, `last~1`, ids of the history or files, as `fullpipe report` takes
/// them. How much a figure differs without anything having changed is taken from other runs of the
/// same with the same wishes, where the history has at least three of them; else from the bounds that
/// the figure carries or from how it wavered in the course of the runs. What is beyond that, with 99 %
/// confidence, has changed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The result that came before
    first: String,
    /// The result that came after
    second: String,
    /// One JSON document on stdout, nothing else there
    #[arg(long)]
    json: bool,
    /// Write the comparison as HTML to FILE, with everything it needs inside
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the comparison as PDF to FILE
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// What the PDF is to be printed on
    #[arg(long, value_enum, default_value = "a4")]
    paper: PaperOption,
    /// Take the noise from at most so many other runs; 0 for what the two runs say themselves
    #[arg(long, value_name = "N", default_value_t = 10)]
    repeats: usize,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    for file in args.html.iter().chain(&args.pdf) {
        document::expect_writable(file)?;
    }
    let (first, second) = (stored::load(&args.first)?, stored::load(&args.second)?);
    let repeats = keep::repeats(&first, &second, args.repeats).unwrap_or_else(|error| {
        tell(&format!("history: no other runs were looked at: {error:#}"));
        Vec::new()
    });
    let comparison = fp_report::compare(&first, &second, &repeats).map_err(Failure::bad_input)?;
    let pages = comparison.document();
    if let Some(file) = &args.html {
        document::save(file, &fp_report::html(&pages)).map_err(Failure::not_run)?;
    }
    if let Some(file) = &args.pdf {
        document::save_pdf(file, &pages, args.paper.paper()).map_err(Failure::not_run)?;
    }
    if args.json {
        document::print(&format!("{:#}\n", comparison.json()))?;
    } else if args.html.is_none() && args.pdf.is_none() {
        document::print(&fp_report::plain(&pages, document::columns()))?;
    }
    Ok(Exit::Passed)
}

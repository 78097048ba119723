//! `fullpipe report`: documents from a result that is stored.

mod judge;

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use fp_report::{Document, Paper, Stored};

use super::labels::LabelArgs;
use super::{document, stored};
use crate::exit::{Exit, Failure};
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
    /// Judge the evidence again with this field of the plan changed, such as
    /// thresholds.throughput_percent=80; may be repeated
    #[arg(long, value_name = "FIELD=VALUE", value_parser = judge::change)]
    judge_with: Vec<Change>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    labels: LabelArgs,
}

/// The documents that are wanted.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Documents")]
struct Files {
    /// Write a certificate as HTML to FILE, with everything it needs inside
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a certificate as PDF to FILE
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// What the PDF is to be printed on
    #[arg(long, value_enum, default_value = "a4")]
    paper: PaperOption,
    /// Write every figure as tables (CSV) into FOLDER: one for each kind of step, and series.csv
    /// with a row for each interval and flow
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// Write what became of each step to FILE as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write the certificate as Markdown to FILE
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write the result, judged again if so, to FILE
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum PaperOption {
    A4,
    Letter,
}

impl PaperOption {
    pub(crate) const fn paper(self) -> Paper {
        match self {
            Self::A4 => Paper::A4,
            Self::Letter => Paper::Letter,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    args.files.expect_writable()?;
    let stored = stored::load(&args.result)?;
    let result = match args.judge_with.as_slice() {
        [] => stored,
        changes => judge::again(&stored, changes).map_err(Failure::bad_input)?,
    };
    let certificate = fp_report::certificate(&result, &args.labels.labels());
    let written = args.files.write(&result, &certificate).map_err(Failure::not_run)?;
    if args.json {
        document::print(result.text())?;
    } else if written == 0 {
        document::print(&screen(&result, &certificate))?;
    }
    Ok(Exit::Passed)
}

impl Files {
    fn expect_writable(&self) -> Result<(), Failure> {
        let files = [&self.html, &self.pdf, &self.junit, &self.markdown, &self.output];
        files.into_iter().flatten().try_for_each(|file| document::expect_writable(file))
    }

    /// How many documents were asked for.
    fn write(&self, result: &Stored, certificate: &Document) -> anyhow::Result<usize> {
        let mut written = 0;
        let mut save = |file: &Option<PathBuf>, make: &dyn Fn() -> anyhow::Result<Vec<u8>>| {
            let Some(file) = file else { return Ok(()) };
            written += 1;
            document::save(file, &make()?)
        };
        save(&self.output, &|| Ok(result.text().into()))?;
        save(&self.html, &|| Ok(fp_report::html(certificate).into()))?;
        save(&self.junit, &|| Ok(fp_report::junit(result)?.into()))?;
        save(&self.markdown, &|| Ok(fp_report::markdown(certificate).into()))?;
        if let Some(file) = &self.pdf {
            written += 1;
            document::save_pdf(file, certificate, self.paper.paper())?;
        }
        if let Some(folder) = &self.csv {
            written += 1;
            let unusable = || format!("cannot make the folder {}", folder.display());
            fs::create_dir_all(folder).with_context(unusable)?;
            for (name, text) in fp_report::csv(result) {
                document::save(&folder.join(name), &text)?;
            }
        }
        Ok(written)
    }
}

/// As it was after the test, where that follows from the evidence; otherwise the certificate.
fn screen(result: &Stored, certificate: &Document) -> String {
    match judge::as_it_was(result) {
        Some(run) => fp_report::text(&run, fp_report::Detail::Brief, document::columns()),
        None => fp_report::plain(certificate, document::columns()),
    }
}

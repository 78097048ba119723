//! `fullpipe schema`: the JSON Schema of each file format, for editors that check while one types.

use super::document;
use super::run::schema as of_plans;
use crate::exit::{Exit, Failure};
use crate::{flows, network, services};

/// Prints the JSON Schema of a file format
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The format
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    /// What every test writes
    Result,
    /// What `fullpipe lab`, `fullpipe sim` and --lab read
    Lab,
    /// What `fullpipe flow --flows` reads
    Flows,
    /// What `fullpipe run` reads
    Plan,
    /// What `fullpipe y1564` reads
    Services,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let schema = match args.kind {
        Kind::Result => format!("{:#}", fp_report::result_schema()),
        Kind::Lab => network::SCHEMA.trim_end().to_owned(),
        Kind::Flows => flows::SCHEMA.trim_end().to_owned(),
        Kind::Plan => format!("{:#}", of_plans()),
        Kind::Services => services::SCHEMA.trim_end().to_owned(),
    };
    document::print(&format!("{schema}\n")).map(|()| Exit::Passed)
}

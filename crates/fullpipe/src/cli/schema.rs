//! `fullpipe schema`: the JSON Schema of each file format, for editors that check while one types.

use super::document;
use super::run::schema as of_plans;
use crate::exit::{Exit, Failure};
use crate::services;

/// Prints the JSON Schema of a file format
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The format
    #[arg(value_enum)]
    kind: Kind,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Kind {
    /// What `fullpipe run` reads
    Plan,
    /// What `fullpipe y1564` reads
    Services,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let schema = match args.kind {
        Kind::Plan => format!("{:#}", of_plans()),
        Kind::Services => services::SCHEMA.trim_end().to_owned(),
    };
    document::print(&format!("{schema}\n")).map(|()| Exit::Passed)
}

//! Flows files: streams of different kinds, all to be sent at once.

mod file;
mod spec;
pub(crate) mod wanted;

use std::path::Path;

use anyhow::anyhow;

use crate::yaml::{Kind, Problem};
use wanted::Wanted;

/// The JSON Schema of flows files.
pub(crate) const SCHEMA: &str = include_str!("schema.json");

const KIND: Kind = Kind {
    key: "schema",
    schema: "fullpipe.flows/1",
    describes: "set of flows",
    name: "flows file",
};

/// Reads the flows file at `path`.
///
/// # Errors
/// No such file, or what in it is wrong, where, and what is allowed.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Wanted>> {
    let text = KIND.text_of(path)?;
    let shown = path.display().to_string();
    parse(&text, &shown).map_err(|problem| anyhow!("{shown}:{problem}"))
}

fn parse(text: &str, shown: &str) -> Result<Vec<Wanted>, Problem> {
    spec::flows(&KIND.read(text)?, shown)
}

#[cfg(test)]
mod tests;

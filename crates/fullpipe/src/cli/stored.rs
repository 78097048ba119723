//! A result that a command line names: the last run, one of the history, or a file.

use std::path::Path;

use anyhow::{Context as _, anyhow};
use fp_report::Stored;

use super::keep;
use crate::exit::Failure;

/// More than the evidence of a long run takes.
const DOCUMENT_BYTES_MAX: u64 = 1 << 30;

/// # Errors
/// Bad input: that there is no such result, or why it cannot be read.
pub(crate) fn load(name: &str) -> Result<Stored, Failure> {
    find(name).map_err(Failure::bad_input)
}

fn find(name: &str) -> anyhow::Result<Stored> {
    let is_of_history = name == "last" || name.starts_with("last~");
    if !is_of_history && (name.contains('/') || Path::new(name).exists()) {
        return of_file(Path::new(name));
    }
    keep::find(name)
}

/// # Errors
/// Why the file cannot be read, or is no result.
pub(crate) fn of_file(file: &Path) -> anyhow::Result<Stored> {
    let shown = file.display();
    let unreadable = || format!("cannot read {shown}");
    let meta = std::fs::metadata(file).with_context(unreadable)?;
    if meta.is_dir() {
        return Err(anyhow!("{shown} is a folder: name a file in it"));
    }
    if meta.len() > DOCUMENT_BYTES_MAX {
        return Err(anyhow!(
            "{shown} is larger than any result: name a file that `-o` has written"
        ));
    }
    let bytes = std::fs::read(file).with_context(unreadable)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| anyhow!("{shown} is no result of fullpipe: it is no text"))?;
    Stored::read(text).map_err(|error| anyhow!("{shown} {error}"))
}

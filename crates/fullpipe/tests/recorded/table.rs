//! The table of recordings: a name and a command line each.

use std::path::Path;
use std::{fs, io};

/// One line of the table.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) name: String,
    /// The words after `fullpipe`.
    pub(crate) words: Vec<String>,
}

impl Recording {
    /// It is of virtual time, and comes out the same on every host.
    pub(crate) fn is_simulated(&self) -> bool {
        self.words.first().is_some_and(|word| word == "sim")
    }
}

/// Every recording of the folder with recorded evidence, in the order of its table.
///
/// # Errors
/// The table cannot be read, or a line of it is none.
pub(crate) fn read(evidence: &Path) -> io::Result<Vec<Recording>> {
    let text = fs::read_to_string(evidence.join("recordings.txt"))?;
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(recording).collect()
}

fn recording(line: &str) -> io::Result<Recording> {
    let (name, words) = line
        .split_once(": ")
        .ok_or_else(|| io::Error::other(format!("no name and command line: {line}")))?;
    let words = words.split_whitespace().map(str::to_owned).collect();
    Ok(Recording { name: name.to_owned(), words })
}

//! Recorded evidence: whole results that tests read instead of measuring, and what is made of them.

mod compare;
#[path = "../../../crates/fullpipe/tests/recorded/documents.rs"]
mod documents;
#[path = "../../../crates/fullpipe/tests/recorded/normal.rs"]
mod normal;
#[path = "../../../crates/fullpipe/tests/recorded/packed.rs"]
mod packed;
mod pages;
mod record;
#[path = "../../../crates/fullpipe/tests/recorded/table.rs"]
mod table;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::tidy;

/// `None` where these words are no command.
pub(crate) fn run(words: &[&str]) -> Option<anyhow::Result<()>> {
    Some(match words {
        ["record", names @ ..] => record::run(names),
        ["compare"] => compare::with_accepted(),
        ["compare", "--with", program] => compare::with_program(program.as_ref()),
        ["accept"] => compare::accept(),
        ["show", name] => show(name),
        _ => return None,
    })
}

fn show(name: &str) -> anyhow::Result<()> {
    let document = packed::unpacked(&file(name))?;
    // `… | head` has seen enough.
    let _ = std::io::stdout().write_all(document.as_bytes());
    Ok(())
}

/// Where the recordings are.
fn folder() -> PathBuf {
    tidy::root().join("tests/evidence")
}

/// The file of a recording.
fn file(name: &str) -> PathBuf {
    folder().join(format!("{name}{}", packed::ENDING))
}

/// A folder for what is written meanwhile; it goes away with this value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(purpose: &str) -> anyhow::Result<Self> {
        let name = format!("fullpipe-{purpose}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Self(folder))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! Every document of every recording beside what was accepted, or what another program makes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::documents::{self, Documents};
use super::{Scratch, folder, pages};
use crate::program;

/// The hashes of all documents as they were accepted, as `sha256sum` writes and checks them.
const ACCEPTED: &str = "documents.sha256";

/// Fails where a document is not as it was accepted.
pub(super) fn with_accepted() -> anyhow::Result<()> {
    let made = made_by(&program::built()?)?;
    let list = fs::read_to_string(folder().join(ACCEPTED)).context(ACCEPTED)?;
    let accepted = documents::hashes(&list);
    let names: BTreeSet<&String> = made.keys().chain(accepted.keys()).collect();
    let mut differ = 0;
    for name in names {
        let hash = made.get(name).map(|document| documents::hash(document));
        if hash.as_ref() == accepted.get(name) {
            continue;
        }
        differ += 1;
        let before = accepted.get(name).map(|hash| kept(name, hash));
        tell(name, before, made.get(name))?;
    }
    ensure!(
        differ == 0,
        "{differ} documents are not as they were accepted: mend the cause, or have them accepted \
         by `cargo xtask evidence accept`"
    );
    keep(&made)
}

/// Fails where this checkout's program and `other` make different documents.
pub(super) fn with_program(other: &Path) -> anyhow::Result<()> {
    let (before, after) = (made_by(other)?, made_by(&program::built()?)?);
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut differ = 0;
    for name in names {
        if before.get(name) != after.get(name) {
            differ += 1;
            tell(name, before.get(name).map(|document| Some(document.clone())), after.get(name))?;
        }
    }
    ensure!(differ == 0, "{differ} documents differ from those of {}", other.display());
    writeln!(std::io::stderr(), "{} documents, the same by both", after.len())?;
    Ok(())
}

/// Writes the hashes of all documents as they are made now.
pub(super) fn accept() -> anyhow::Result<()> {
    let made = made_by(&program::built()?)?;
    let line =
        |(name, document): (&String, &Vec<u8>)| format!("{}  {name}\n", documents::hash(document));
    let list: String = made.iter().map(line).collect();
    fs::write(folder().join(ACCEPTED), list).context(ACCEPTED)?;
    keep(&made)
}

fn made_by(program: &Path) -> anyhow::Result<Documents> {
    let program = fs::canonicalize(program).with_context(|| program.display().to_string())?;
    let scratch = Scratch::new("evidence")?;
    Ok(documents::all(&program, &folder(), scratch.path())?)
}

/// Says what differs; of the document before nothing may be left but its hash.
fn tell(
    name: &str,
    before: Option<Option<Vec<u8>>>,
    after: Option<&Vec<u8>>,
) -> anyhow::Result<()> {
    let text = match (before, after) {
        (Some(Some(before)), Some(after)) => pages::difference(&before, after),
        (Some(None), Some(_)) => String::from(
            "  it differs; to see where, build the older fullpipe and name it by --with\n",
        ),
        (None, _) => String::from("  it is new\n"),
        (Some(_), None) => String::from("  it is not made any more\n"),
    };
    write!(std::io::stderr(), "{name}\n{text}")?;
    Ok(())
}

/// The last documents that were as accepted are kept beside what cargo builds, so that a later
/// comparison can show where a document differs.
fn kept_in() -> PathBuf {
    program::target().join("evidence")
}

fn keep(documents: &Documents) -> anyhow::Result<()> {
    for (name, document) in documents {
        let file = kept_in().join(name);
        let folder = file.parent().unwrap_or(&file);
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::write(&file, document).with_context(|| file.display().to_string())?;
    }
    writeln!(std::io::stderr(), "{} documents, kept in {}", documents.len(), kept_in().display())?;
    Ok(())
}

/// A document that was kept, if it is the one with this hash.
fn kept(name: &str, hash: &str) -> Option<Vec<u8>> {
    let document = fs::read(kept_in().join(name)).ok()?;
    (documents::hash(&document) == hash).then_some(document)
}

//! Where documents go: stdout, or a file that is whole or absent.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use fp_report::{Document, Paper};

use crate::exit::Failure;
use crate::stderr::{self, tell};

/// Writes to stdout; a reader that has seen enough is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    match written.and_then(|()| std::io::stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::not_run(anyhow::Error::new(error).context("cannot write to stdout")))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// How wide stdout is, if it is a terminal, or $COLUMNS: elsewhere lines stay whole, for `grep` and for
/// mail.
pub(crate) fn columns() -> Option<usize> {
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    stderr::columns(std::io::stdout()).or_else(told).filter(|columns| *columns > 0)
}

/// Asked before the work whose outcome is to be written there.
///
/// # Errors
/// Bad input: the place and what is allowed.
pub(crate) fn expect_writable(file: &Path) -> Result<(), Failure> {
    let shown = file.display();
    if file.is_dir() {
        return Err(Failure::bad_input(anyhow!("{shown} is a directory: name a file in it")));
    }
    if is_to_be_kept(file) {
        return Ok(());
    }
    let unfinished = unfinished(file).map_err(Failure::bad_input)?;
    let tried = fs::write(&unfinished, "").and_then(|()| fs::remove_file(&unfinished));
    tried.map_err(|error| {
        Failure::bad_input(anyhow!(
            "cannot write to {shown}: {error}; name a file in a directory that is there and may be \
             written to"
        ))
    })
}

/// A document as PDF, and what could not be printed in it, which nobody else would say.
pub(crate) fn save_pdf(file: &Path, document: &Document, paper: Paper) -> anyhow::Result<()> {
    let made = fp_report::pdf(document, paper)?;
    save(file, &made.bytes)?;
    if let Some(sentence) = made.lacks {
        tell(&format!("{}: {sentence}", file.display()));
    }
    Ok(())
}

/// Whole or absent: the file takes its name only when it is complete.
pub(crate) fn save(file: &Path, text: &(impl AsRef<[u8]> + ?Sized)) -> anyhow::Result<()> {
    let cannot = || format!("cannot write to {}", file.display());
    if is_to_be_kept(file) {
        return fs::write(file, text).with_context(cannot);
    }
    let unfinished = unfinished(file)?;
    let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, file));
    written.with_context(|| {
        // What could not be written is not left half.
        let _ = fs::remove_file(&unfinished);
        cannot()
    })
}

/// A device, a pipe or a link such as /dev/stdout: it is written to and not replaced.
fn is_to_be_kept(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|meta| !meta.is_file())
}

/// Beside the file, so that it only has to be renamed.
fn unfinished(file: &Path) -> anyhow::Result<PathBuf> {
    let name = file
        .file_name()
        .with_context(|| format!("'{}' names no file: give the name of one", file.display()))?;
    let mut hidden = OsString::from(".");
    hidden.push(name);
    hidden.push(format!(".{}", std::process::id()));
    Ok(file.with_file_name(hidden))
}

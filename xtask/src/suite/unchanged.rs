//! What has passed before and would be the same test today: of the same program, with the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

use super::binaries::Binary;
use super::case::Case;

/// For each case that has passed the fingerprint of all that it was made of.
#[derive(Debug)]
pub(super) struct Passed {
    file: PathBuf,
    fingerprints: BTreeMap<String, String>,
    /// The program that the tests of its package start.
    program: PathBuf,
    /// Of the files that tests read, and who runs them; `None` outside of a checkout, where nobody knows
    /// which files there are.
    surroundings: Option<String>,
}

impl Passed {
    /// What the last runs of this caller have left in `folder`.
    pub(super) fn read(folder: &Path, program: PathBuf) -> Self {
        let file = folder.join("passed.json");
        // Where there is none, nothing has passed.
        let text = fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
        let fingerprints = serde_json::from_str(&text).unwrap_or_default();
        let caller = rustix::process::geteuid().as_raw();
        let surroundings = data_files().map(|files| format!("{caller} {files}"));
        Self { file, fingerprints, program, surroundings }
    }

    pub(super) fn has(&self, case: &Case<'_>) -> anyhow::Result<bool> {
        let today = self.fingerprint(case.binary)?;
        Ok(today.is_some() && self.fingerprints.get(&case.title()) == today.as_ref())
    }

    pub(super) fn add(&mut self, case: &Case<'_>) -> anyhow::Result<()> {
        if let Some(fingerprint) = self.fingerprint(case.binary)? {
            self.fingerprints.insert(case.title(), fingerprint);
        }
        Ok(())
    }

    pub(super) fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_string(&self.fingerprints)?;
        fs::write(&self.file, text).with_context(|| self.file.display().to_string())
    }

    fn fingerprint(&self, binary: &Binary) -> anyhow::Result<Option<String>> {
        let package = binary.name.split('/').next();
        let states = match package {
            // Its tests read the sources of all packages.
            Some("xtask") => return Ok(None),
            Some("fullpipe") => [state(&binary.executable)?, state(&self.program)?].join(" "),
            _ => state(&binary.executable)?,
        };
        Ok(self.surroundings.as_ref().map(|others| hash(&format!("{states} {others}"))))
    }
}

/// Cargo writes a program anew when anything that it is made of has changed.
fn state(file: &Path) -> anyhow::Result<String> {
    let found = fs::metadata(file).with_context(|| file.display().to_string())?;
    let changed = found.modified()?.duration_since(std::time::UNIX_EPOCH)?;
    Ok(format!("{} {} {}", file.display(), found.len(), changed.as_nanos()))
}

/// All files of the repository that cargo does not compile, but for those that only people read.
fn data_files() -> Option<String> {
    let root = crate::tidy::root();
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"];
    let output = Command::new("git").args(list).current_dir(root).output().ok()?;
    let names = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    let is_data = |name: &&str| ![".rs", ".md"].iter().any(|end| name.ends_with(end));
    // One that was deleted is listed until that is committed.
    let states = names.split_terminator('\0').filter(is_data);
    let states = states.filter_map(|name| state(&root.join(name)).ok());
    Some(hash(&states.collect::<Vec<_>>().join("\n")))
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

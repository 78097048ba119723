//! The rules of the house that no compiler knows.

mod arrows;
mod blank;
mod circles;
mod clauses;
mod figures;
mod house;
mod numbers;
mod page;
mod production;
mod source;

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Something against the rules: where, what, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
struct Complaint {
    file: PathBuf,
    line: usize,
    text: String,
}

impl Complaint {
    fn new(file: &Path, line: usize, text: impl Into<String>) -> Self {
        Self { file: file.to_path_buf(), line, text: text.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}", self.file.display(), self.line, self.text)
    }
}

/// One text file of the repository, its path relative to the root.
#[derive(Clone, Debug)]
struct TextFile {
    path: PathBuf,
    text: String,
}

/// Documents that everybody reads, and whose length therefore has a limit.
const DOCUMENTS: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"];

/// What tidy found: errors fail it, warnings are only named.
#[derive(Debug, Default)]
struct Findings {
    errors: Vec<Complaint>,
    warnings: Vec<Complaint>,
}

/// Prints every complaint, fails when one of them is an error.
pub(crate) fn run() -> anyhow::Result<()> {
    let findings = inspect(root())?;
    let mut err = std::io::stderr().lock();
    for warning in &findings.warnings {
        writeln!(err, "warning: {warning}")?;
    }
    for error in &findings.errors {
        writeln!(err, "error: {error}")?;
    }
    anyhow::ensure!(findings.errors.is_empty(), "{} places are not tidy", findings.errors.len());
    Ok(())
}

/// The repository's root: the directory above this crate.
pub(crate) fn root() -> &'static Path {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask)
}

fn inspect(root: &Path) -> anyhow::Result<Findings> {
    let sources = read_all(root, |path| path.extension().is_some_and(|ending| ending == "rs"))?;
    let manifests = read_all(root, |path| path.ends_with("Cargo.toml"))?;
    let list = read_one(root, "clauses.toml")?;
    let house = read_one(root, "house.toml")?;
    let limits = house::limits(&house)?;

    let mut findings = Findings::default();
    for file in &sources {
        findings.errors.extend(source::errors(file));
        findings.warnings.extend(source::too_long(file));
    }
    findings.errors.extend(arrows::errors(&manifests, &sources)?);
    findings.errors.extend(clauses::errors(&list, &sources)?);
    findings.errors.extend(page::errors(&root.join("web"))?);
    let is_script = |path: &Path| path.extension().is_some_and(|end| end == "ts" || end == "tsx");
    let web = read_all(&root.join("web/src"), is_script)?;
    let documents =
        DOCUMENTS.iter().map(|path| read_one(root, path)).collect::<Result<Vec<_>, _>>()?;
    let banned = limits.get("banned_words").into_iter().flat_map(|words| words.keys());
    let figures = figures::figures(&sources, &web, &documents, banned);
    findings.errors.extend(house::errors(&house, &limits, &figures));
    Ok(findings)
}

fn read_one(root: &Path, path: &str) -> anyhow::Result<TextFile> {
    Ok(TextFile { path: path.into(), text: read(&root.join(path))? })
}

/// Every file below `root` that `wanted` accepts, sorted by path.
fn read_all(root: &Path, wanted: impl Fn(&Path) -> bool) -> anyhow::Result<Vec<TextFile>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "target" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if wanted(&path) {
                let text = read(&path)?;
                files.push(TextFile { path: path.strip_prefix(root)?.to_path_buf(), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let findings = inspect(root()).unwrap();
        let errors: Vec<String> = findings.errors.iter().map(ToString::to_string).collect();
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

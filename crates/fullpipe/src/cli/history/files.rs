//! Runs of the history as files, and files as runs of the history.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use fp_engine::os::clock;
use fp_history::{Filter, History};

use super::super::measure::rfc3339;
use super::super::{document, keep, stored};
use crate::exit::Failure;

/// Writes `ID.json` for each run; a file that is there is not replaced by another run.
pub(super) fn export(
    history: Option<&History>,
    filter: &Filter,
    folder: &Path,
) -> Result<(), Failure> {
    let Some(history) = history else {
        return Err(Failure::bad_input(fp_history::Error::Empty));
    };
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))
        .map_err(Failure::bad_input)?;
    let entries = history.latest(filter, usize::MAX).map_err(Failure::not_run)?;
    for entry in &entries {
        let text = history.document(&entry.id).map_err(Failure::not_run)?;
        let file = folder.join(file_name(&entry.id));
        match fs::read(&file) {
            Ok(there) if there == text => {}
            Ok(_) => {
                return Err(Failure::bad_input(anyhow!(
                    "{} is there already and is something else: name another folder",
                    file.display()
                )));
            }
            Err(_) => document::save(&file, &text).map_err(Failure::not_run)?,
        }
    }
    let text = format!("{} runs are in {}\n", entries.len(), folder.display());
    document::print(&text)
}

/// An id may have come in a file from anywhere: no path is made of it.
fn file_name(id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let name: String = id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    format!("{name}.json")
}

/// Takes each file, and each `.json` of a folder, into the history.
pub(super) fn import(paths: &[PathBuf]) -> Result<(), Failure> {
    let files = files(paths).map_err(Failure::bad_input)?;
    // All are looked at before the first one is taken.
    for file in &files {
        stored::of_file(file).map_err(Failure::bad_input)?;
    }
    let mut history = keep::history_to_write().map_err(Failure::not_run)?;
    // One that has changed since is left out: what was taken is told.
    let results = files.iter().filter_map(|file| stored::of_file(file).ok());
    let runs = results.map(|result| (keep::entry(&result), result.text().as_bytes().to_vec()));
    let new = history.keep_all(runs, &rfc3339(clock::wall())).map_err(Failure::not_run)?;
    let text = format!("{new} runs are new in the history, {} were there\n", files.len() - new);
    document::print(&text)
}

fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let unreadable = || format!("cannot read the folder {}", path.display());
        let mut inside = Vec::new();
        for entry in fs::read_dir(path).with_context(unreadable)? {
            let file = entry.with_context(unreadable)?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                inside.push(file);
            }
        }
        if inside.is_empty() {
            return Err(anyhow!("there is no .json in the folder {}", path.display()));
        }
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

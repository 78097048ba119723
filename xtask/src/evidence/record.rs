//! Runs the program for each line of the table of recordings and keeps what it measured.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use miniz_oxide::deflate::compress_to_vec_zlib;
use serde_json::Value;

use super::table::{self, Recording};
use super::{Scratch, file, folder, normal, packed};
use crate::{program, tidy};

/// The smallest files; the time that this takes does not matter.
const LEVEL: u8 = 10;

/// All recordings, or those of these names; `-sim` and `-lab` stand for all whose names end so.
pub(super) fn run(names: &[&str]) -> anyhow::Result<()> {
    let all = table::read(&folder())?;
    for name in names {
        ensure!(all.iter().any(|one| is_called(one, name)), "there is no recording '{name}'");
    }
    let program = program::built()?;
    let scratch = Scratch::new("record")?;
    let is_wanted =
        |one: &&Recording| names.is_empty() || names.iter().any(|name| is_called(one, name));
    let mut failed = Vec::new();
    for recording in all.iter().filter(is_wanted) {
        if let Err(error) = record(recording, &program, scratch.path()) {
            writeln!(std::io::stderr(), "{}: {error:#}", recording.name)?;
            failed.push(recording.name.as_str());
        }
    }
    ensure!(failed.is_empty(), "not recorded: {}", failed.join(", "));
    Ok(())
}

fn is_called(recording: &Recording, name: &str) -> bool {
    recording.name == name || (name.starts_with('-') && recording.name.ends_with(name))
}

fn record(recording: &Recording, program: &Path, scratch: &Path) -> anyhow::Result<()> {
    let output = scratch.join(format!("{}.json", recording.name));
    let run = Command::new(program)
        .args(&recording.words)
        .args(["-q".as_ref(), "-o".as_ref(), output.as_os_str()])
        .current_dir(tidy::root())
        .env("FULLPIPE_DATA", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .with_context(|| program.display().to_string())?;
    let said = String::from_utf8_lossy(&run.stderr);
    let document =
        fs::read_to_string(&output).with_context(|| format!("it left no result: {said}"))?;
    if !recording.is_simulated() {
        expect_undisturbed(&serde_json::from_str(&document)?)?;
    }
    keep(recording, &normal::normalised(&recording.name, &document)?)
}

/// A run whose own checks say that the tester was measured proves nothing of a document.
fn expect_undisturbed(result: &Value) -> anyhow::Result<()> {
    let status = result["verdict"]["status"].as_str().unwrap_or_default();
    if !["pass", "fail", "findings", "info", "inconclusive"].contains(&status) {
        bail!("the run is '{status}' and was not kept: repeat it on a quiet host");
    }
    ensure!(result["validity"]["ok"] == true, "the run is not valid: repeat it on a quiet host");
    Ok(())
}

fn keep(recording: &Recording, document: &str) -> anyhow::Result<()> {
    let file = file(&recording.name);
    let is_there = packed::unpacked(&file).is_ok_and(|before| before == document);
    let mut err = std::io::stderr();
    if is_there {
        writeln!(err, "{}: as it was", recording.name)?;
        return Ok(());
    }
    let bytes = compress_to_vec_zlib(document.as_bytes(), LEVEL);
    fs::write(&file, &bytes).with_context(|| file.display().to_string())?;
    writeln!(err, "{}: {} bytes", recording.name, bytes.len())?;
    Ok(())
}

//! Measurements of the engines and the history on this machine: figures for people, not pass or
//! fail.

mod frames;
mod history;
mod iperf3;
mod lab;
mod pair;
mod spread;
mod tcp;

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Measures one engine, in a release build: tests are built to be debugged, not to be fast.
pub(crate) fn run(engine: &str) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return in_release_build(engine);
    }
    match engine {
        "frames" => frames::run(),
        "history" => history::run(),
        "iperf3" => iperf3::run(),
        "lab" => lab::run(),
        "tcp" => tcp::run(),
        _ => {
            anyhow::bail!("there is no benchmark '{engine}': frames, history, iperf3, lab, tcp are")
        }
    }
}

fn in_release_build(engine: &str) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut itself = Command::new(cargo);
    itself.args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench", engine]);
    let status = itself.status().context("cargo run --release")?;
    ensure!(status.success(), "not measured");
    Ok(())
}

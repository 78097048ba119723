//! Measurements of the engines and the history on this machine: figures for people, not pass or
//! fail.

mod frames;
mod history;
mod iperf3;
mod lab;
mod pair;
mod ports;
mod spread;
mod stress;
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
        "ports" => ports::run(),
        "stress" => stress::run(),
        "tcp" => tcp::run(),
        _ => {
            let all = "frames, history, iperf3, lab, ports, stress, tcp";
            anyhow::bail!("there is no benchmark '{engine}': {all} are")
        }
    }
}

/// Each figure is the median of so many runs.
const RUNS: usize = 3;

fn median_of(mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    let mut figures = (0..RUNS).map(|_| run()).collect::<anyhow::Result<Vec<f64>>>()?;
    figures.sort_by(f64::total_cmp);
    Ok(figures[RUNS / 2])
}

fn in_release_build(engine: &str) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut itself = Command::new(cargo);
    itself.args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench", engine]);
    let status = itself.status().context("cargo run --release")?;
    ensure!(status.success(), "not measured");
    Ok(())
}

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

/// Measures one engine, or parts of it, in a release build: tests are built to be debugged, not to
/// be fast.
pub(crate) fn run(engine: &str, parts: &[&str]) -> anyhow::Result<()> {
    if cfg!(debug_assertions) {
        return in_release_build(engine, parts);
    }
    match (engine, parts) {
        ("frames", []) => frames::run(),
        ("history", []) => history::run(),
        ("iperf3", []) => iperf3::run(),
        ("lab", []) => lab::run(),
        ("ports", []) => ports::run(),
        ("stress", parts) => stress::run(parts),
        // These are started by `stress`, not by people.
        ("stress-server", [answer]) => stress::serve(answer),
        ("stress-growth", [port, connections]) => stress::open_through(port, connections, None),
        ("stress-growth", [port, connections, rate]) => {
            stress::open_through(port, connections, Some(rate))
        }
        ("tcp", []) => tcp::run(),
        _ => {
            let all = "frames, history, iperf3, lab, ports, stress, tcp";
            anyhow::bail!("there is no benchmark '{engine}', or it has no parts: {all} are")
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

fn in_release_build(engine: &str, parts: &[&str]) -> anyhow::Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut itself = Command::new(cargo);
    itself.args(["run", "--quiet", "--release", "--package", "xtask", "--", "bench", engine]);
    itself.args(parts);
    let status = itself.status().context("cargo run --release")?;
    ensure!(status.success(), "not measured");
    Ok(())
}

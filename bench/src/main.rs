//! Measurements of the engines and the history on this machine, by `cargo xtask bench`: figures for
//! people, not pass or fail.

#![forbid(unsafe_code)]

mod frames;
mod history;
mod iperf3;
mod lab;
mod linux_grid;
mod pair;
mod ports;
mod spread;
mod stress;
mod tcp;

use std::io::Write as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match measure(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures one engine, or parts of it.
fn measure(words: &[&str]) -> anyhow::Result<()> {
    match words {
        ["frames"] => frames::run(),
        ["history"] => history::run(),
        ["iperf3"] => iperf3::run(),
        ["lab"] => lab::run(),
        ["linux-grid", fullpipe] => linux_grid::run(fullpipe.as_ref()),
        ["ports"] => ports::run(),
        ["stress", parts @ ..] => stress::run(parts),
        // These are started by `stress`, not by people.
        ["stress-server", answer] => stress::serve(answer),
        ["stress-growth", port, connections] => stress::open_through(port, connections, None),
        ["stress-growth", port, connections, rate] => {
            stress::open_through(port, connections, Some(rate))
        }
        ["tcp"] => tcp::run(),
        _ => {
            let all = "frames, history, iperf3, lab, linux-grid FULLPIPE, ports, stress, tcp";
            anyhow::bail!("there is no benchmark '{}': {all} are", words.join(" "))
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

//! The chores of this repository, one subcommand each: `cargo xtask tidy`, `cargo xtask bench lab`.

#![forbid(unsafe_code)]

mod bare;
mod bench;
mod browser;
mod check_as;
mod linux_grid;
mod tidy;

use std::io::Write as _;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask tidy              the rules of the house that no compiler knows
       cargo xtask check-as USER     the tests of what touches the system, run as USER (by root)
       cargo xtask bare 12|13 [demo] [check] [--share-crates]   on a Debian with nothing else (by root)
       cargo xtask browser FOLDER    the web interface in a real browser, its pages as pictures
       cargo xtask linux-grid FULLPIPE   the kernel's TCP over the lab, for the simulator's tests
       cargo xtask bench frames|history|iperf3|lab|ports|stress|tcp   measures it on this machine
       cargo xtask bench stress memory|packet|xdp|kernel|growth …   only these parts of it
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(),
        ["check-as", user] => check_as::run(user),
        ["bare", words @ ..] => bare::run(words),
        ["browser", folder] => browser::run(folder.as_ref()),
        ["linux-grid", fullpipe] => linux_grid::run(fullpipe.as_ref()),
        ["bench", engine, parts @ ..] => bench::run(engine, parts),
        _ => {
            // With stderr gone there is nobody left to tell.
            let _ = std::io::stderr().write_all(USAGE.as_bytes());
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

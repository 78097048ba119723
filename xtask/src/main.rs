//! The chores of this repository, one subcommand each: `cargo xtask tidy`, `cargo xtask bench lab`.

#![forbid(unsafe_code)]

mod bare;
mod book;
mod browser;
mod evidence;
mod examples;
mod program;
mod reference;
mod sbom;
mod suite;
mod tidy;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use suite::{Tier, Wanted};

const USAGE: &str = "\
usage: cargo xtask tidy              the rules of the house that no compiler knows
       cargo xtask test [--anew] pure|real [WORD…]   the tests that need no network, or a real one
       cargo xtask soak [--minutes N] [WORD…]   all that takes long, again and again on a quiet host
       cargo xtask bare 12|13 [demo] [check] [package] [--share-crates]   on a bare Debian (by root)
       cargo xtask release [x86_64|aarch64]…   what is handed out: binaries, packages, images
       cargo xtask sbom TARGET ['NAME vVERSION|LICENCE'…]   what its binary is made of, as CycloneDX
       cargo xtask book [check]      what the manual shows of the program, made anew or compared
       cargo xtask examples [WORD…]   every example that this machine can run, and why not the others
       cargo xtask browser FOLDER    the web interface in a real browser, its pages as pictures
       cargo xtask evidence record [NAME…]   measures and simulates the recordings anew
       cargo xtask evidence compare [--with FULLPIPE]   what is made of the recordings, to the byte
       cargo xtask evidence accept   from now on the documents are to be as they are
       cargo xtask evidence show NAME    the document of a recording
       cargo xtask bench frames|history|iperf3|lab|ports|stress|tcp   measures it on this machine
       cargo xtask bench stress memory|packet|xdp|kernel|growth …   only these parts of it
       cargo xtask bench linux-grid FULLPIPE   the kernel's TCP over the lab, for the simulator's tests
       cargo xtask truth [--seed S] [--count N] …   what the methods say of networks whose truth is known
       cargo xtask truth --kernel …   the same of networks of the kernel's own router, in real time
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => tidy::run(),
        ["test", words @ ..] => match wanted(words) {
            Some(wanted) => suite::run(wanted),
            None => return usage(),
        },
        ["soak", "--minutes", minutes, words @ ..] => {
            let number = minutes.parse().with_context(|| format!("--minutes {minutes}: a number"));
            number.and_then(|minutes| suite::run(Wanted { minutes, ..soak(words) }))
        }
        ["soak", words @ ..] => suite::run(soak(words)),
        ["bare", words @ ..] => bare::run(words),
        ["release", words @ ..] => release(words),
        ["sbom", triple, no_crates @ ..] => sbom::print(triple, no_crates),
        ["book"] => book::write(),
        ["book", "check"] => book::check(),
        ["examples", words @ ..] => examples::run(words),
        ["browser", folder] => browser::run(folder.as_ref()),
        ["evidence", words @ ..] => match evidence::run(words) {
            Some(outcome) => outcome,
            None => return usage(),
        },
        ["bench", words @ ..] => released("bench", words),
        ["truth", words @ ..] => truth(words),
        _ => return usage(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The tests of `cargo xtask test [--anew] pure|real [WORD…]`.
fn wanted<'a>(words: &'a [&'a str]) -> Option<Wanted<'a>> {
    let (anew, words) = match words {
        ["--anew", words @ ..] => (true, words),
        words => (false, words),
    };
    let (tier, words) = match words {
        ["pure", words @ ..] => (Tier::Pure, words),
        ["real", words @ ..] => (Tier::Real, words),
        _ => return None,
    };
    Some(Wanted { tier, words, anew, minutes: 0 })
}

const fn soak<'a>(words: &'a [&'a str]) -> Wanted<'a> {
    Wanted { tier: Tier::Soak, words, anew: true, minutes: 0 }
}

/// Across the kernel's router it is the program itself that is judged.
fn truth(words: &[&str]) -> anyhow::Result<()> {
    if words.contains(&"--kernel") {
        let mut build = program::cargo();
        build.args(["build", "--quiet", "--release", "--locked", "--package", "fullpipe"]);
        ensure!(build.status().context("cargo build")?.success(), "fullpipe does not build");
    }
    released("truth", words)
}

/// Runs a package's program in a release build: tests are built to be debugged, not to be fast.
fn released(package: &str, words: &[&str]) -> anyhow::Result<()> {
    let mut run = program::cargo();
    run.args(["run", "--quiet", "--release", "--package", package, "--"]).args(words);
    let status = run.status().context("cargo run --release")?;
    ensure!(status.success(), "{package} failed");
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "chores are timed for people, nothing is measured")]
fn now() -> Instant {
    Instant::now()
}

/// By the script that says of each step what it runs.
fn release(words: &[&str]) -> anyhow::Result<()> {
    let script = tidy::root().join("packaging/release.sh");
    let status = program::from_shell(&script).args(words).status();
    let status = status.with_context(|| script.display().to_string())?;
    ensure!(status.success(), "{} failed: {status}", script.display());
    Ok(())
}

fn usage() -> ExitCode {
    // With stderr gone there is nobody left to tell.
    let _ = std::io::stderr().write_all(USAGE.as_bytes());
    ExitCode::from(2)
}

//! What the methods say of networks whose truth is known, in virtual time, by `cargo xtask truth`, and
//! in real time across the kernel's own router, by `cargo xtask truth --kernel`.
//!
//! Networks are drawn from a seed, each by itself, or fixed and named; `facts` says what is true of
//! them, `run` what a method says, `judge` whether that is true.
//!
//! The judge reads result documents and not reports, so that a method may change inside. The
//! kernel's routers share nothing with our emulation but the facts and the judge.

#![forbid(unsafe_code)]

mod calibrate;
mod draw;
mod facts;
mod fixed;
mod groups;
mod judge;
mod kernel;
mod matrix;
mod method;
mod network;
mod options;
mod routers;
mod run;
mod table;
#[path = "../../tests/watch/mod.rs"]
mod watch;

use std::io::Write as _;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use facts::Facts;
use judge::Class;
use method::Method;
use network::Network;
use options::{Options, Which};
use table::Outcome;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, files @ ..] = &words[..]
        && first == "--calibrate"
    {
        return calibrate(files);
    }
    let options = match Options::of(&words) {
        Ok(options) => options,
        Err(why) => {
            // With stderr gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "truth: {why}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(exceeded) if exceeded.is_empty() => ExitCode::SUCCESS,
        Ok(exceeded) => {
            for sentence in exceeded {
                let _ = writeln!(std::io::stderr(), "truth: {sentence}");
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "truth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn calibrate(files: &[String]) -> ExitCode {
    let said = calibrate::markdown(files)
        .and_then(|text| std::io::stdout().write_all(text.as_bytes()).context("stdout"));
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "truth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Which limits were exceeded.
fn run(options: &Options) -> anyhow::Result<Vec<String>> {
    let draw = if options.is_of_links { draw::network_of_links } else { draw::network };
    let mut networks: Vec<Network> = match options.which {
        Which::Drawn { count } => (0..count).map(|at| draw(options.seed, at)).collect(),
        Which::Only { index } => vec![draw(options.seed, index)],
        Which::Fixed => fixed::networks(),
        Which::Kernel => kernel::networks(),
    };
    if let Some(name) = &options.name {
        networks.retain(|network| network.path.name.contains(name));
    }
    // A panic is reported as the end of its run.
    std::panic::set_hook(Box::new(|_| {}));
    let mut outcomes = all(&networks, options);
    outcomes.sort_by_key(|(place, outcome)| (*place, outcome.method));
    keep_files(&networks, &outcomes, options)?;
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    let mut out = std::io::stdout().lock();
    if !matches!(options.which, Which::Drawn { .. }) {
        outcomes.iter().try_for_each(|outcome| out.write_all(one(outcome).as_bytes()))?;
    }
    if !matches!(options.which, Which::Only { .. }) {
        out.write_all(table::text(&outcomes).as_bytes())?;
    }
    if let Some(file) = &options.json {
        let text = table::json(&outcomes).to_string();
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    if let Some(file) = &options.matrix {
        let text = matrix::markdown(&outcomes, options);
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    Ok(table::exceeded(&outcomes, options.limits))
}

/// Every method over every network, side by side; with the network's place.
fn all(networks: &[Network], options: &Options) -> Vec<(usize, Outcome)> {
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let at_once = if options.which == Which::Kernel { 1 } else { processors };
    let jobs = options.jobs.unwrap_or(at_once);
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(place) = Some(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(network) = networks.get(place) else { break };
            let judged = over(network, &options.methods);
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.extend(judged.into_iter().map(|outcome| (place, outcome)));
            }
            if networks.len() >= 10 && (place + 1) % (networks.len() / 10) == 0 {
                let _ = writeln!(std::io::stderr(), "{} of {} networks", place + 1, networks.len());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(work);
        }
    });
    outcomes.into_inner().unwrap_or_default()
}

/// These methods over a network, as far as they have something to do there.
fn over(network: &Network, methods: &[Method]) -> Vec<Outcome> {
    let facts = Facts::of(network);
    let is_meant =
        |method: &&Method| network.methods.is_empty() || network.methods.contains(method);
    let outcome = |method: &Method| {
        let ran = run::run(*method, network, &facts)?;
        Some(Outcome {
            network: network.path.name.clone(),
            described: network.described(),
            groups: groups::of(network, &facts),
            method: *method,
            judgement: judge::judge(*method, network, &facts, &ran),
            took: ran.took,
            happenings: ran.happenings,
        })
    };
    methods.iter().filter(is_meant).filter_map(outcome).collect()
}

/// The files of all networks of which something was wrong or invalid, or of all that were named.
fn keep_files(
    networks: &[Network],
    outcomes: &[(usize, Outcome)],
    options: &Options,
) -> anyhow::Result<()> {
    let folder: &Path = &options.files;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (place, network) in networks.iter().enumerate() {
        let is_of_interest = |outcome: &Outcome| {
            matches!(outcome.judgement.class, Class::Wrong | Class::Invalid)
                || !matches!(options.which, Which::Drawn { .. })
        };
        if outcomes.iter().any(|(at, outcome)| *at == place && is_of_interest(outcome)) {
            let (name, text) = network.file();
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        }
    }
    Ok(())
}

/// A run with all its figures.
fn one(outcome: &Outcome) -> String {
    let Outcome { network, described, method, judgement, took, .. } = outcome;
    let figures = judgement.figures.iter();
    let figures =
        figures.map(|figure| format!("    {:?} {}: {}\n", figure.state, figure.name, figure.text));
    format!(
        "{network}, {}: {}, {:.1} s\n  {described}\n{}{}\n",
        method.name(),
        judgement.class.name(),
        took.as_secs_f64(),
        judgement.reasons.iter().map(|why| format!("  {why}\n")).collect::<String>(),
        figures.collect::<String>()
    )
}

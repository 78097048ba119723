//! Runs the tests by what they need, in three tiers, each test in a process of its own.
//!
//! A test passes, fails or is disturbed: its run was invalid, or the emulation late, while a watch
//! saw the host disturbed. Networks with known truth (`crates/fullpipe/tests/cases`) run over the
//! simulation in the pure tier and across the lab in a soak.

mod binaries;
mod case;
mod summary;
mod unchanged;
mod user;
#[path = "../../../tests/watch/mod.rs"]
mod watch;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use binaries::Binary;
use case::{Case, Outcome, Who};
use summary::{Run, Summary};
use unchanged::Passed;
pub(crate) use user::Stage;
use watch::Watch;

use crate::program;

/// Whom the tests run as where root runs them.
const ORDINARY_USER: &str = "nobody";
/// Names the cases that take root.
const FOR_ROOT: &str = "::as_root::";
/// Names the cases that do little but wait for a limit of time.
const PATIENT: &str = "::patient::";
/// How many of those run at a time.
const PATIENT_AT_ONCE: usize = 4;
/// How long a soak waits for the host to become quiet before each case.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a host has to be quiet to be called so.
const QUIET: Duration = Duration::from_secs(1);

/// What tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// Neither a network nor real time: side by side on all processors.
    Pure,
    /// Real frames or real time: one after the other, as an ordinary user; as root what takes root.
    Real,
    /// All that takes long, and the real ones again, as either user, on a quiet host.
    Soak,
}

impl Tier {
    const fn name(self) -> &'static str {
        match self {
            Self::Pure => "pure",
            Self::Real => "real",
            Self::Soak => "soak",
        }
    }

    fn has(self, case: &str) -> bool {
        match self {
            Self::Pure => true,
            Self::Real => case.starts_with("real::"),
            Self::Soak => case.starts_with("real::") || case.starts_with("soak::"),
        }
    }
}

/// Which tests run, and for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) tier: Tier,
    /// The cases whose names contain one of these, or all.
    pub(crate) words: &'a [&'a str],
    /// Those too that have passed before and of which nothing has changed since.
    pub(crate) anew: bool,
    /// A soak goes on until it has lasted for so long, and has run each case once.
    pub(crate) minutes: u64,
}

pub(crate) fn run(wanted: Wanted<'_>) -> anyhow::Result<()> {
    let Wanted { tier, words, anew, minutes } = wanted;
    let binaries = binaries::build(tier)?;
    let names: Vec<Vec<String>> =
        binaries.iter().map(Binary::cases).collect::<anyhow::Result<_>>()?;
    let all = binaries.iter().zip(&names);
    let all = all.flat_map(|(binary, names)| names.iter().map(move |name| Case { binary, name }));
    let is_wanted = |case: &Case<'_>| {
        let title = case.title();
        tier.has(case.name) && (words.is_empty() || words.iter().any(|word| title.contains(word)))
    };
    let cases: Vec<Case<'_>> = all.filter(is_wanted).collect();

    let folder = program::target().join("tests");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let log = Log {
        summary: Mutex::new(Summary::new(tier.name())),
        passed: Mutex::new(Passed::read(&folder, program::path())),
    };
    let cases = if anew { cases } else { log.leave_out_unchanged(cases)? };
    let began = crate::now();
    match tier {
        Tier::Pure => {
            let processors = thread::available_parallelism()?.get();
            side_by_side(&cases, Who::Caller, processors, &log)?;
        }
        Tier::Real => one_by_one(&cases, ordinary_user(&folders(&binaries))?.as_ref(), &log)?,
        Tier::Soak => {
            let until = began + Duration::from_secs(60 * minutes);
            soak(&cases, ordinary_user(&folders(&binaries))?.as_ref(), &log, until)?;
        }
    }
    log.passed.into_inner()?.write()?;
    let mut summary = log.summary.into_inner()?;
    summary.seconds = began.elapsed().as_secs_f64();
    summary.write(&folder.join(format!("{}.json", tier.name())))?;
    say(&summary.text())?;
    summary.verdict()
}

/// What became of the cases so far, for all threads that run them.
struct Log {
    summary: Mutex<Summary>,
    passed: Mutex<Passed>,
}

impl Log {
    fn leave_out_unchanged<'a>(&self, cases: Vec<Case<'a>>) -> anyhow::Result<Vec<Case<'a>>> {
        let passed = self.passed.lock().ok().context("nothing runs yet")?;
        let mut left = Vec::new();
        for case in cases {
            match passed.has(&case)? {
                true => self.count(|summary| summary.unchanged += 1)?,
                false => left.push(case),
            }
        }
        Ok(left)
    }

    fn count(&self, how: impl FnOnce(&mut Summary)) -> anyhow::Result<()> {
        how(&mut *self.summary.lock().ok().context("a test panicked")?);
        Ok(())
    }
}

fn side_by_side(cases: &[Case<'_>], who: Who<'_>, at_once: usize, log: &Log) -> anyhow::Result<()> {
    let queue = Mutex::new(cases.iter());
    let worker = || -> anyhow::Result<()> {
        loop {
            // The lock is free again before the case runs.
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some(case) = next else { return Ok(()) };
            run_case(case, who, log, true)?;
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(worker)).collect();
        let ends = workers.into_iter().map(|worker| worker.join());
        ends.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .try_for_each(|end| end)
    })
}

fn one_by_one(cases: &[Case<'_>], stage: Option<&Stage>, log: &Log) -> anyhow::Result<()> {
    let (patient, others): (Vec<_>, Vec<_>) =
        cases.iter().partition(|case| case.name.contains(PATIENT));
    let ordinary = stage.map_or(Who::Caller, Who::Ordinary);
    side_by_side(&patient, ordinary, PATIENT_AT_ONCE, log)?;
    for case in others {
        match (stage, case.name.contains(FOR_ROOT)) {
            (None, true) => log.count(|summary| summary.not_run += 1)?,
            (Some(_), true) => run_case(&case, Who::Caller, log, true)?,
            (_, false) => run_case(&case, ordinary, log, true)?,
        }
    }
    Ok(())
}

fn soak(
    cases: &[Case<'_>],
    stage: Option<&Stage>,
    log: &Log,
    until: Instant,
) -> anyhow::Result<()> {
    for round in 0.. {
        for case in cases {
            if round > 0 && crate::now() >= until {
                return Ok(());
            }
            let is_for_root = case.name.contains(FOR_ROOT);
            if let Some(stage) = stage.filter(|_| !is_for_root) {
                run_case(case, Who::Ordinary(stage), log, becomes_quiet()?)?;
            }
            if stage.is_none() && is_for_root {
                log.count(|summary| summary.not_run += 1)?;
            } else {
                run_case(case, Who::Caller, log, becomes_quiet()?)?;
            }
        }
    }
    Ok(())
}

/// Another user than the caller, who is root; none for anybody else.
pub(crate) fn ordinary_user(programs: &[&Path]) -> anyhow::Result<Option<Stage>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    Stage::new(ORDINARY_USER, programs).map(Some)
}

/// Where cargo has put them.
fn folders(binaries: &[Binary]) -> Vec<&Path> {
    binaries.iter().filter_map(|binary| binary.executable.parent()?.parent()).collect()
}

/// Waits until nothing else uses the processors, and says whether that came about.
fn becomes_quiet() -> anyhow::Result<bool> {
    let until = crate::now() + PATIENCE;
    loop {
        let watch = Watch::start();
        pause(QUIET);
        let Some(disturbance) = watch.end().disturbance() else { return Ok(true) };
        if crate::now() >= until {
            say(&format!("the host does not become quiet: {disturbance}\n"))?;
            return Ok(false);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the host is watched in real time")]
fn pause(time: Duration) {
    thread::sleep(time);
}

fn run_case(
    case: &Case<'_>,
    who: Who<'_>,
    log: &Log,
    was_quiet_before: bool,
) -> anyhow::Result<()> {
    let (outcome, took) = case.run(who)?;
    let user = match who {
        Who::Ordinary(_) => ORDINARY_USER,
        Who::Caller if rustix::process::geteuid().is_root() => "root",
        Who::Caller => "caller",
    };
    let title = case.title();
    let seconds = took.as_secs_f64();
    match &outcome {
        Outcome::Failed(why) => {
            say(&format!("FAILED     {seconds:6.1} s  {title} ({user})\n{why}\n"))?
        }
        Outcome::Disturbed(how) => {
            say(&format!("disturbed  {seconds:6.1} s  {title} ({user}): {how}\n"))?;
        }
        // There are many quick ones.
        Outcome::Passed if seconds < 1.0 => {}
        Outcome::Passed => say(&format!("ok         {seconds:6.1} s  {title} ({user})\n"))?,
    }
    let run = Run { case: title, user, outcome, took, was_quiet_before };
    if run.outcome == Outcome::Passed {
        log.passed.lock().ok().context("a test panicked")?.add(case)?;
    }
    log.count(|summary| summary.add(&run))
}

pub(crate) fn say(text: &str) -> anyhow::Result<()> {
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

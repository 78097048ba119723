//! Runs each case in a process of its own, which has one thread, as whoever makes namespaces must.

use std::process::{Command, ExitCode};

use fp_engine::lab::{LabTruth, Privileges};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::watch::Watch;

/// A case is told that networks may be made and panics if something is wrong.
pub(crate) type Case = (&'static str, fn(Privileges));

/// Where the emulation itself fell behind, what it did to the frames proves nothing: the case ends as
/// disturbed if the host was.
pub(crate) const UNFAITHFUL: &str = "the lab fell behind";

/// Names the case that a child process is to run.
const CASE: &str = "FULLPIPE_LAB_CASE";

/// Runs `cases`, which anybody may, and those `for_root`. What cases start as [`helper`] are `helpers`.
pub(crate) fn run(
    cases: &'static [Case],
    for_root: &'static [Case],
    helpers: &'static [Case],
) -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        return run_case(&[cases, for_root, helpers].concat(), &name);
    }
    let trial = |tier: &str, name: &'static str| {
        Trial::test(format!("{tier}::{name}"), move || in_a_process(name))
    };
    let cases = cases.iter().map(|(name, _)| trial("real", name));
    let for_root = for_root.iter().map(|(name, _)| trial("real::as_root", name));
    let mut arguments = Arguments::from_args();
    // Two labs at once would disturb each other's timing.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, cases.chain(for_root).collect()).exit_code()
}

pub(crate) fn expect_faithful(truth: &LabTruth) {
    assert!(truth.is_faithful(), "{UNFAITHFUL}: {truth:?}");
}

/// A process of the current thread's namespaces.
pub(crate) fn helper(name: &str) -> Command {
    let mut child = Command::new("/proc/self/exe");
    child.env(CASE, name);
    child
}

fn run_case(cases: &[Case], name: &str) -> ExitCode {
    let privileges = Privileges::prepare().unwrap_or_else(|error| panic!("{error}"));
    let (_, case) = cases.iter().find(|(case, _)| *case == name).unwrap();
    case(privileges);
    ExitCode::SUCCESS
}

fn in_a_process(name: &str) -> Result<(), Failed> {
    let watch = Watch::start();
    let output = helper(name).output()?;
    let disturbance = watch.end().disturbance();
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    match disturbance {
        Some(disturbance) if text.contains(UNFAITHFUL) => {
            Err(format!("\ndisturbed: {disturbance}: {text}").into())
        }
        _ => Err(format!("{}: {text}", output.status).into()),
    }
}

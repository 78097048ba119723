//! Runs each test in a process of its own: as whoever runs the tests and, if that is root, as an
//! ordinary user too.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use fp_engine::lab::Grounds;
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::thread::{CapabilitySet, capabilities};

/// A test is told that networks may be made and panics if something is wrong.
pub(crate) type Case = (&'static str, fn(Grounds));

/// Names the test that a child process is to run.
const CASE: &str = "FULLPIPE_LAB_CASE";

/// Runs `cases` as everybody, and those `for_bpf` as who may load programs into the kernel. As others
/// these are shown as ignored. What cases start as [`helper`] are `helpers`.
pub(crate) fn run(
    cases: &'static [Case],
    for_bpf: &'static [Case],
    helpers: &'static [Case],
) -> ExitCode {
    if let Ok(name) = std::env::var(CASE) {
        return run_case(&[cases, for_bpf, helpers].concat(), &name);
    }
    let is_root = rustix::process::geteuid().is_root();
    let trials = cases.iter().flat_map(|(name, _)| {
        let as_nobody = is_root.then_some(Who::Nobody);
        [Some(Who::Ourselves), as_nobody].into_iter().flatten().map(move |who| {
            Trial::test(format!("{name}{}", who.suffix()), move || in_a_process(name, who))
        })
    });
    let for_bpf = for_bpf.iter().map(|(name, _)| {
        let run = move || in_a_process(name, Who::Ourselves);
        Trial::test(*name, run).with_ignored_flag(!is_root || !may_load_programs())
    });
    let mut arguments = Arguments::from_args();
    // Two labs at once would disturb each other's timing.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials.chain(for_bpf).collect()).exit_code()
}

fn may_load_programs() -> bool {
    let needed = CapabilitySet::BPF | CapabilitySet::NET_ADMIN;
    capabilities(None).unwrap().effective.contains(needed)
}

/// A process of the current thread's namespaces.
pub(crate) fn helper(name: &str) -> Command {
    let mut child = Command::new("/proc/self/exe");
    child.env(CASE, name);
    child
}

fn run_case(cases: &[Case], name: &str) -> ExitCode {
    let grounds = Grounds::prepare().unwrap_or_else(|error| panic!("{error}"));
    let (_, case) = cases.iter().find(|(case, _)| *case == name).unwrap();
    case(grounds);
    ExitCode::SUCCESS
}

#[derive(Clone, Copy)]
enum Who {
    Ourselves,
    Nobody,
}

impl Who {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Ourselves => "",
            Self::Nobody => "::as_an_ordinary_user",
        }
    }
}

fn in_a_process(name: &str, who: Who) -> Result<(), Failed> {
    const NOBODY: u32 = 65534;
    // Not by its path, into which an ordinary user may not be able to look.
    let mut child = helper(name);
    if let Who::Nobody = who {
        child.uid(NOBODY).gid(NOBODY);
    }
    let output = child.output()?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&text)).into())
}

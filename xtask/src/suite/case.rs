//! One test in a process of its own.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use super::binaries::Binary;
use super::user::Stage;

/// What lasts longer hangs: five times as long as the longest case takes on a quiet host.
const LIMIT_S: u32 = 300;
/// How a test says that the host kept it from proving anything.
const DISTURBED: &str = "disturbed: ";

/// A test of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case<'a> {
    pub(super) binary: &'a Binary,
    pub(super) name: &'a str,
}

/// As whom a case runs.
#[derive(Clone, Copy)]
pub(super) enum Who<'a> {
    /// Whoever runs the tests.
    Caller,
    Ordinary(&'a Stage),
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// All that it printed.
    Failed(String),
    /// How the host was disturbed.
    Disturbed(String),
}

impl Case<'_> {
    /// Package, target and name.
    pub(super) fn title(&self) -> String {
        format!("{} {}", self.binary.name, self.name)
    }

    pub(super) fn run(&self, who: Who<'_>) -> anyhow::Result<(Outcome, Duration)> {
        let began = crate::now();
        let output = self.command(who).output().with_context(|| self.title())?;
        Ok((outcome(&output), began.elapsed()))
    }

    fn command(&self, who: Who<'_>) -> Command {
        let Binary { executable, folder, .. } = self.binary;
        let mut command = match who {
            Who::Caller => command_in(folder),
            Who::Ordinary(stage) => stage.command(folder, "timeout"),
        };
        command.arg("--kill-after=5").arg(LIMIT_S.to_string()).arg(executable);
        command.args(["--exact", self.name, "--test-threads=1"]);
        command
    }
}

fn command_in(folder: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.current_dir(folder).env("CARGO_MANIFEST_DIR", folder).stdin(Stdio::null());
    command
}

fn outcome(output: &Output) -> Outcome {
    if output.status.success() {
        return Outcome::Passed;
    }
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    match text.lines().find_map(|line| line.strip_prefix(DISTURBED)) {
        Some(how) => Outcome::Disturbed(how.to_owned()),
        // As timeout(1) has it.
        None if output.status.code() == Some(124) => {
            Outcome::Failed(format!("not over after {LIMIT_S} s\n{text}"))
        }
        None => Outcome::Failed(format!("{}\n{text}", output.status)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::ExitStatus;

    use super::*;

    fn output(code: i32, text: &str) -> Output {
        let status = ExitStatus::from_raw(code << 8);
        Output { status, stdout: text.into(), stderr: Vec::new() }
    }

    #[test]
    fn a_test_passes_fails_hangs_or_is_disturbed() {
        let panic =
            "thread 'a' panicked at b.rs:1:2:\ndisturbed: the host stood still: not valid\n";
        assert_eq!(outcome(&output(0, panic)), Outcome::Passed);
        let how = "the host stood still: not valid".to_owned();
        assert_eq!(outcome(&output(101, panic)), Outcome::Disturbed(how));
        assert!(matches!(outcome(&output(101, "as disturbed: as ever")), Outcome::Failed(_)));
        let Outcome::Failed(why) = outcome(&output(124, "")) else { panic!("it hung") };
        assert!(why.starts_with("not over after"), "{why}");
    }
}

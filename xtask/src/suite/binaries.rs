//! The programs that cargo makes of the tests, and the cases in each.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::Tier;
use crate::program;

/// Targets that take networks and real time, by a pattern as cargo reads it: `cargo test` leaves them
/// out. Their cases name the tier that they belong to.
const IN_REAL_TIME: [&str; 3] = ["lab", "loopback", "iperf3_matrix"];

/// A program with tests.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) executable: PathBuf,
    /// Where cargo would run it.
    pub(super) folder: PathBuf,
    /// Package and target.
    pub(super) name: String,
}

/// A line of `cargo test --no-run --message-format=json`, as far as it matters here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds the tests of a tier, as whoever calls.
pub(super) fn build(tier: Tier) -> anyhow::Result<Vec<Binary>> {
    let mut build = program::cargo();
    build.args(["test", "--locked", "--workspace", "--no-run"]);
    build.arg("--message-format=json-render-diagnostics");
    if tier != Tier::Pure {
        build.args(IN_REAL_TIME.iter().flat_map(|target| ["--test", target]));
    }
    let output = build.stderr(Stdio::inherit()).output().context("cargo test --no-run")?;
    ensure!(output.status.success(), "the tests do not build");
    let binaries: Vec<Binary> =
        String::from_utf8(output.stdout)?.lines().filter_map(binary).collect();
    ensure!(!binaries.is_empty(), "cargo names no tests");
    Ok(binaries)
}

fn binary(message: &str) -> Option<Binary> {
    let artifact: Artifact = serde_json::from_str(message).ok()?;
    let is_test = artifact.reason == "compiler-artifact" && artifact.profile?.test;
    let executable = artifact.executable.filter(|_| is_test)?;
    let folder = artifact.manifest_path?.parent()?.to_path_buf();
    let package = folder.file_name()?.to_string_lossy();
    let name = format!("{package}/{}", artifact.target?.name);
    Some(Binary { executable, folder, name })
}

impl Binary {
    /// The names of its cases.
    pub(super) fn cases(&self) -> anyhow::Result<Vec<String>> {
        let mut list = Command::new(&self.executable);
        let output = list.arg("--list").current_dir(&self.folder).output()?;
        ensure!(output.status.success(), "{} lists no tests", self.executable.display());
        let lines = String::from_utf8(output.stdout)?;
        Ok(lines
            .lines()
            .filter_map(|line| line.strip_suffix(": test"))
            .map(str::to_owned)
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_cargos_messages_only_test_binaries_are_taken() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/b/Cargo.toml",
            "executable":"/a/target/debug/deps/c-1","target":{"name":"c"},"profile":{"test":true}}"#;
        let found = binary(test).unwrap();
        assert_eq!(found.executable.to_str(), Some("/a/target/debug/deps/c-1"));
        assert_eq!(found.folder.to_str(), Some("/a/crates/b"));
        assert_eq!(found.name, "b/c");

        let library = test.replace(r#""executable":"/a/target/debug/deps/c-1","#, "");
        assert!(binary(&library).is_none());
        let program = test.replace(r#""test":true"#, r#""test":false"#);
        assert!(binary(&program).is_none());
        assert!(binary(r#"{"reason":"build-finished","success":true}"#).is_none());
    }
}

//! Runs the tests of what touches the system once more, as an ordinary user.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;

/// The crates with I/O: what the others compute does not depend on who runs them.
const PACKAGES: [&str; 2] = ["fp-engine", "fullpipe"];

/// Modules of tests that send nothing: the same holds for them.
const SIMULATED: [&str; 5] = ["clauses::", "recovery::", "replay::", "searches::", "sim::"];
/// Modules of tests that take minutes and are about networks, not about who emulates them; shorter
/// ones of the same commands run as either.
const LONG: [&str; 1] = ["known::"];

/// Run in a mount namespace of its own. $1: a folder to mount in; $2: how many folders are closed
/// to others, and these; then how many the tests need, and these; then the command.
/// Each closed folder is covered by an empty open one, and what the tests need is put back into it.
const OPEN_VIEW: &str = r#"
set -eu
scratch=$1; shift
closed=""; count=$1; shift
while [ "$count" -gt 0 ]; do closed="$closed $1"; shift; count=$((count - 1)); done
needed=""; count=$1; shift
while [ "$count" -gt 0 ]; do needed="$needed $1"; shift; count=$((count - 1)); done
for folder in $needed; do mkdir -p "$scratch$folder"; mount --rbind "$folder" "$scratch$folder"; done
for folder in $closed; do mount -t tmpfs -o mode=755 none "$folder"; done
for folder in $needed; do mkdir -p "$folder"; mount --rbind "$scratch$folder" "$folder"; done
cd /
exec "$@"
"#;

/// A line of `cargo test --no-run --message-format=json`, as far as it matters here.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

struct TestBinary {
    executable: PathBuf,
    package: PathBuf,
}

/// Who runs the tests: numbers, as the system knows them.
struct Account {
    uid: u32,
    gid: u32,
}

/// Where the tests run, and where they may write.
struct Stage {
    account: Account,
    /// Mount points, for root alone.
    mounts: PathBuf,
    /// `HOME` and `TMPDIR` of the tests.
    home: PathBuf,
    needed: Vec<PathBuf>,
    closed: BTreeSet<PathBuf>,
}

/// Builds the tests as whoever calls, who must be root, and runs them as `user`.
pub(crate) fn run(user: &str) -> anyhow::Result<()> {
    let account = Account::named(user)?;
    let binaries = build_tests()?;
    let folder = std::env::temp_dir().join(format!("fullpipe-check-{}", std::process::id()));
    let outcome = Stage::new(account, &folder, &binaries)
        .and_then(|stage| run_tests(&stage, &binaries, user));
    fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    outcome
}

fn run_tests(stage: &Stage, binaries: &[TestBinary], user: &str) -> anyhow::Result<()> {
    let mut namespaces = stage.command(Path::new("/"), "unshare");
    let status = namespaces.args(["--user", "--map-root-user", "--net", "true"]).status()?;
    ensure!(
        status.success(),
        "{user} may not make a network namespace here, so that ordinary users cannot emulate a \
         network: see `sysctl user.max_user_namespaces` and, on Ubuntu, set \
         kernel.apparmor_restrict_unprivileged_userns=0"
    );
    let mut failed = Vec::new();
    for binary in binaries {
        let name = binary.executable.display().to_string();
        writeln!(std::io::stderr(), "     Running {name} as {user}")?;
        let mut tests = stage.command(&binary.package, &name);
        let left_out = SIMULATED.iter().chain(&LONG);
        tests.args(left_out.map(|module| format!("--skip={module}")));
        if !tests.status()?.success() {
            failed.push(name);
        }
    }
    ensure!(failed.is_empty(), "as {user} failed: {}", failed.join(", "));
    Ok(())
}

fn build_tests() -> anyhow::Result<Vec<TestBinary>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["test", "--locked", "--no-run", "--message-format=json-render-diagnostics"]);
    build.args(PACKAGES.iter().flat_map(|package| ["--package", package]));
    let output = build.stderr(Stdio::inherit()).output().context("cargo test --no-run")?;
    ensure!(output.status.success(), "the tests do not build");
    let binaries: Vec<TestBinary> =
        String::from_utf8(output.stdout)?.lines().filter_map(test_binary).collect();
    ensure!(!binaries.is_empty(), "cargo names no test of {}", PACKAGES.join(" and "));
    Ok(binaries)
}

fn test_binary(message: &str) -> Option<TestBinary> {
    let artifact: Artifact = serde_json::from_str(message).ok()?;
    let is_test = artifact.reason == "compiler-artifact" && artifact.profile?.test;
    let package = artifact.manifest_path?.parent()?.to_path_buf();
    artifact.executable.filter(|_| is_test).map(|executable| TestBinary { executable, package })
}

impl Account {
    fn named(user: &str) -> anyhow::Result<Self> {
        let accounts = fs::read_to_string("/etc/passwd").context("/etc/passwd")?;
        for line in accounts.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, uid, gid, ..] = fields.as_slice()
                && *name == user
            {
                let account = Self { uid: uid.parse()?, gid: gid.parse()? };
                ensure!(account.uid != 0, "{user} is root: name an ordinary user");
                return Ok(account);
            }
        }
        bail!("there is no user {user} in /etc/passwd")
    }
}

impl Stage {
    fn new(account: Account, folder: &Path, binaries: &[TestBinary]) -> anyhow::Result<Self> {
        let (mounts, home) = (folder.join("mounts"), folder.join("home"));
        fs::create_dir_all(&mounts)?;
        fs::create_dir(&home)?;
        chown(&home, Some(account.uid), Some(account.gid))
            .context("tests as another user need root: run this as root")?;

        let root = crate::tidy::root().to_path_buf();
        let executables = binaries.iter().filter_map(|binary| binary.executable.parent()?.parent());
        let mut needed = vec![root.clone()];
        needed.extend(executables.filter(|folder| !folder.starts_with(&root)).map(Path::to_owned));
        needed.dedup();
        let closed = needed.iter().filter_map(|folder| closed_ancestor(folder)).collect();
        Ok(Self { account, mounts, home, needed, closed })
    }

    /// `program` in `folder`, as the account, with what an ordinary login would know.
    fn command(&self, folder: &Path, program: &str) -> Command {
        let mut words: Vec<String> = Vec::new();
        if !self.closed.is_empty() {
            words.extend(["unshare", "--mount", "sh", "-c", OPEN_VIEW, "sh"].map(String::from));
            words.push(self.mounts.display().to_string());
            words.push(self.closed.len().to_string());
            words.extend(self.closed.iter().map(|path| path.display().to_string()));
            words.push(self.needed.len().to_string());
            words.extend(self.needed.iter().map(|path| path.display().to_string()));
        }
        let Account { uid, gid } = self.account;
        words.extend(["setpriv", "--clear-groups"].map(String::from));
        words.extend([format!("--reuid={uid}"), format!("--regid={gid}")]);
        words.extend(["env", "-C"].map(String::from));
        words.extend([folder.display().to_string(), program.to_owned()]);

        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("TMPDIR", &self.home);
        command.env("CARGO_MANIFEST_DIR", folder);
        // Which cases property tests draw: the same for everybody.
        let of_proptest = |name: &OsString| name.to_string_lossy().starts_with("PROPTEST_");
        command.envs(std::env::vars_os().filter(|(name, _)| of_proptest(name)));
        command
    }
}

/// The topmost folder on the way to `path` that others may not enter.
fn closed_ancestor(path: &Path) -> Option<PathBuf> {
    let ancestors: Vec<&Path> = path.ancestors().skip(1).collect();
    let closed = ancestors.into_iter().rev().find(|ancestor| {
        // What cannot be read cannot be entered either.
        fs::metadata(ancestor).map_or(true, |found| found.permissions().mode() & 0o001 == 0)
    });
    closed.map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_cargos_messages_only_test_binaries_are_taken() {
        let test = r#"{"reason":"compiler-artifact","manifest_path":"/a/crates/b/Cargo.toml",
            "executable":"/a/target/debug/deps/b-1","profile":{"test":true}}"#;
        let found = test_binary(test).unwrap();
        assert_eq!(found.executable, Path::new("/a/target/debug/deps/b-1"));
        assert_eq!(found.package, Path::new("/a/crates/b"));

        let library = test.replace(r#""executable":"/a/target/debug/deps/b-1","#, "");
        assert!(test_binary(&library).is_none());
        let program = test.replace(r#""test":true"#, r#""test":false"#);
        assert!(test_binary(&program).is_none());
        assert!(test_binary(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    #[test]
    fn root_is_no_ordinary_user() {
        assert!(Account::named("root").is_err());
    }
}

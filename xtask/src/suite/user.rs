//! An ordinary user, as whom root runs tests.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

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

/// Who runs the tests: numbers, as the system knows them.
struct Account {
    uid: u32,
    gid: u32,
}

/// Where the tests run, and where they may write.
pub(crate) struct Stage {
    account: Account,
    /// Goes away with this value.
    folder: PathBuf,
    /// Mount points, for root alone.
    mounts: PathBuf,
    /// `HOME` and `TMPDIR` of the tests.
    home: PathBuf,
    needed: Vec<PathBuf>,
    closed: BTreeSet<PathBuf>,
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
    /// For the programs of these folders, as the user of this name.
    pub(super) fn new(user: &str, programs: &[&Path]) -> anyhow::Result<Self> {
        let account = Account::named(user)?;
        let folder = std::env::temp_dir().join(format!("fullpipe-tests-{}", std::process::id()));
        let (mounts, home) = (folder.join("mounts"), folder.join("home"));
        fs::create_dir_all(&mounts)?;
        fs::create_dir(&home)?;
        chown(&home, Some(account.uid), Some(account.gid))
            .context("tests as another user need root: run this as root")?;

        let root = crate::tidy::root().to_path_buf();
        let mut needed = vec![root.clone()];
        let outside = programs.iter().filter(|folder| !folder.starts_with(&root));
        needed.extend(outside.map(|folder| folder.to_path_buf()));
        needed.dedup();
        let closed = needed.iter().filter_map(|folder| closed_ancestor(folder)).collect();
        let stage = Self { account, folder, mounts, home, needed, closed };
        stage.expect_namespaces(user)?;
        Ok(stage)
    }

    /// A new folder in the account's home, with nothing in it.
    pub(crate) fn empty_folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.home.join(name);
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        chown(&folder, Some(self.account.uid), Some(self.account.gid))?;
        Ok(folder)
    }

    fn expect_namespaces(&self, user: &str) -> anyhow::Result<()> {
        let mut namespaces = self.command(Path::new("/"), "unshare");
        let status = namespaces.args(["--user", "--map-root-user", "--net", "true"]).status()?;
        ensure!(
            status.success(),
            "{user} may not make a network namespace here, so that ordinary users cannot emulate \
             a network: see `sysctl user.max_user_namespaces` and, on Ubuntu, set \
             kernel.apparmor_restrict_unprivileged_userns=0"
        );
        Ok(())
    }

    /// `program` in `folder`, as the account, with what an ordinary login would know.
    pub(crate) fn command(&self, folder: &Path, program: &str) -> Command {
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

impl Drop for Stage {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.folder);
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
    fn root_is_no_ordinary_user() {
        assert!(Account::named("root").is_err());
    }
}

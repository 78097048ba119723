//! The program of this checkout, as cargo builds it for the tests.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

/// Builds `fullpipe`; the path of the program.
pub(crate) fn built() -> anyhow::Result<PathBuf> {
    // Built for one of the tests, and so with the same features of dependencies as for all of them:
    // by itself, everything would be compiled once more.
    let build = ["test", "--locked", "--workspace", "--no-run", "--quiet", "--test", "pure"];
    let built = cargo().args(build).current_dir(crate::tidy::root()).status()?;
    ensure!(built.success(), "fullpipe does not build");
    Ok(path())
}

/// Where a build leaves `fullpipe`.
pub(crate) fn path() -> PathBuf {
    target().join("debug/fullpipe")
}

/// Where cargo keeps all that it builds.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    crate::tidy::root().join(target)
}

/// Cargo as a shell would start it.
pub(crate) fn cargo() -> Command {
    from_shell(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A program as a shell would start it. What the outer cargo tells this program of its package,
/// dependencies that look at it would take for a change, and be built anew with all that stands on them.
pub(crate) fn from_shell(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    let of_package = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_NAME", "CARGO_BIN_NAME"];
    for (name, _) in std::env::vars_os() {
        if of_package.iter().any(|start| name.to_string_lossy().starts_with(start)) {
            command.env_remove(name);
        }
    }
    command
}

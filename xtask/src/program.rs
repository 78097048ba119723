//! The program of this checkout, as cargo builds it for the tests.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

/// Builds `fullpipe`; the path of the program.
pub(crate) fn built() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Built for one of the tests, and so with the same features of dependencies as for all of them:
    // by itself, everything would be compiled once more.
    let build = ["test", "--locked", "--workspace", "--no-run", "--quiet", "--test", "pure"];
    let built = Command::new(cargo).args(build).current_dir(crate::tidy::root()).status()?;
    ensure!(built.success(), "fullpipe does not build");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    Ok(crate::tidy::root().join(target).join("debug/fullpipe"))
}

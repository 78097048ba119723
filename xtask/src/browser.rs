//! Uses the web interface as a person does, in a real browser, and keeps a picture of every page.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// Against the binary that was built for the tests, with a history of its own.
pub(crate) fn run(pictures: &Path) -> anyhow::Result<()> {
    let root = crate::tidy::root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // Built for one of the tests, and so with the same features of dependencies as for all of them:
    // by itself, everything would be compiled once more.
    let built = Command::new(cargo)
        .args(["test", "--locked", "--workspace", "--no-run", "--quiet", "--test", "golden"])
        .status()?;
    ensure!(built.success(), "fullpipe does not build");
    if pictures.exists() {
        fs::remove_dir_all(pictures).with_context(|| pictures.display().to_string())?;
    }
    fs::create_dir_all(pictures).with_context(|| pictures.display().to_string())?;
    let home = std::env::temp_dir().join(format!("fullpipe-browser-{}", std::process::id()));
    fs::create_dir(&home).with_context(|| home.display().to_string())?;
    let outcome = use_it(root, &home, pictures);
    fs::remove_dir_all(&home).with_context(|| home.display().to_string())?;
    outcome
}

fn use_it(root: &Path, home: &Path, pictures: &Path) -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| OsString::from("target"));
    let program = root.join(target).join("debug/fullpipe");
    let page = Page::show(&program, home)?;
    let used = Command::new("node")
        .arg(root.join("web/test/browser.mjs"))
        .arg(&page.address)
        .arg(pictures)
        .stdin(Stdio::null())
        .status()
        .context("cannot run node: install it")?;
    ensure!(used.success(), "the page failed in the browser; pictures: {}", pictures.display());
    Ok(())
}

/// `fullpipe ui`, for as long as it is needed.
struct Page {
    process: Child,
    address: String,
}

impl Page {
    fn show(program: &Path, home: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new(program)
            .args(["ui", "--port", "0", "--no-browser"])
            .env("FULLPIPE_DATA", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| program.display().to_string())?;
        let mut address = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut address)?;
        }
        let page = Self { process, address: address.trim().to_owned() };
        ensure!(!page.address.is_empty(), "`fullpipe ui` printed no address");
        Ok(page)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // Runs that are under way end with it. It may have ended by itself, and said why.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

//! The examples as a user runs them: with this checkout's fullpipe first on the PATH, each script in an
//! empty folder, by an ordinary user. What is YAML is parsed, and the plan of the CronJob checked.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::suite::Stage;
use crate::{program, suite, tidy};

const FOLDER: &str = "examples";
/// Names what a script takes: `lab`, or programs.
const NEEDS: &str = "# needs: ";
/// Says why nobody but a person runs a script.
const BY_HAND: &str = "# by hand: ";
/// The longest example takes about a minute.
const LIMIT: &str = "300";
/// A result that is invalid or does not decide, as the program itself says where the host was the limit.
const NOT_DECIDED: [i32; 2] = [4, 5];

/// What became of an example.
enum Outcome {
    Ran,
    /// What is no script: how far it was checked.
    Checked(&'static str),
    NotRun(String),
    Failed(String),
}

/// Runs or checks those whose names contain one of the words, or all, and says of each what became of it.
pub(crate) fn run(words: &[&str]) -> anyhow::Result<()> {
    let runner = Runner::new(program::built()?)?;
    let mut failed = Vec::new();
    for file in files(&tidy::root().join(FOLDER))? {
        let name = file.strip_prefix(tidy::root()).unwrap_or(&file).display().to_string();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        let outcome = match file.extension().and_then(|ending| ending.to_str()) {
            Some("sh") => runner.script(&file),
            Some("yaml" | "yml") => runner.yaml(&file),
            _ => continue,
        };
        let text = match outcome.with_context(|| name.clone())? {
            Outcome::Ran => format!("passed   {name}\n"),
            Outcome::Checked(how) => format!("checked  {name}: {how}\n"),
            Outcome::NotRun(why) => format!("not run  {name}: {why}\n"),
            Outcome::Failed(why) => {
                failed.push(name.clone());
                format!("FAILED   {name}: {why}\n")
            }
        };
        suite::say(&text)?;
    }
    ensure!(failed.is_empty(), "examples that fail: {}", failed.join(", "));
    Ok(())
}

/// Every file of the folder and below it, in the order of their names.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// As whom and with which program examples run.
struct Runner {
    /// Where root runs this.
    ordinary_user: Option<Stage>,
    program: PathBuf,
    /// Where the folders of the examples are made, if the caller runs them. Goes away with this value.
    scratch: PathBuf,
    folders: Cell<u32>,
}

impl Runner {
    fn new(program: PathBuf) -> anyhow::Result<Self> {
        let target = program.parent().and_then(Path::parent).context("cargo's folder")?;
        let ordinary_user = suite::ordinary_user(&[target])?;
        let scratch =
            std::env::temp_dir().join(format!("fullpipe-examples-{}", std::process::id()));
        fs::create_dir(&scratch).with_context(|| scratch.display().to_string())?;
        Ok(Self { ordinary_user, program, scratch, folders: Cell::new(0) })
    }

    fn empty_folder(&self) -> anyhow::Result<PathBuf> {
        let name = self.folders.replace(self.folders.get() + 1).to_string();
        if let Some(user) = &self.ordinary_user {
            return user.empty_folder(&name);
        }
        let folder = self.scratch.join(name);
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }

    /// A shell in this folder, with nothing in its history.
    fn shell(&self, folder: &Path) -> anyhow::Result<Command> {
        let mut shell = match &self.ordinary_user {
            Some(user) => user.command(folder, "timeout"),
            None => Command::new("timeout"),
        };
        if self.ordinary_user.is_none() {
            shell.current_dir(folder).stdin(Stdio::null());
        }
        let own = self.program.parent().context("the program is in a folder")?.to_path_buf();
        let others = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths([own].into_iter().chain(std::env::split_paths(&others)))?;
        shell.env("PATH", path).env("FULLPIPE_DATA", folder.join("history"));
        shell.args(["--kill-after=5", LIMIT, "sh"]);
        Ok(shell)
    }

    fn script(&self, file: &Path) -> anyhow::Result<Outcome> {
        let (text, folder) = (fs::read_to_string(file)?, self.empty_folder()?);
        let syntax = self.shell(&folder)?.arg("-n").arg(file).output()?;
        if !syntax.status.success() {
            return Ok(Outcome::Failed(String::from_utf8_lossy(&syntax.stderr).into_owned()));
        }
        let after = |mark| text.lines().find_map(|line| line.strip_prefix(mark));
        if let Some(why) = after(BY_HAND) {
            return Ok(Outcome::NotRun(format!("{why}; sh can read it")));
        }
        for need in after(NEEDS).unwrap_or_default().split_whitespace() {
            if let Some(why) = self.lacks(&folder, need)? {
                return Ok(Outcome::NotRun(why));
            }
        }
        let run = self.shell(&folder)?.arg(file).output()?;
        Ok(match run.status.code() {
            Some(0) => Outcome::Ran,
            Some(code) if NOT_DECIDED.contains(&code) => {
                Outcome::NotRun(format!("this host was too busy to decide (exit code {code})"))
            }
            _ => {
                let said = [run.stdout, run.stderr].concat();
                Outcome::Failed(format!("{}\n{}", run.status, String::from_utf8_lossy(&said)))
            }
        })
    }

    /// Why this machine cannot run what needs this.
    fn lacks(&self, folder: &Path, need: &str) -> anyhow::Result<Option<String>> {
        let (ask, why) = match need {
            "lab" => (
                "fullpipe lab ideal -- true".to_owned(),
                "this user may not emulate a network here".to_owned(),
            ),
            program => (format!("{program} --version"), format!("no {program} is installed")),
        };
        let asked = self.shell(folder)?.args(["-c", &ask]).output()?;
        Ok((!asked.status.success()).then_some(why))
    }

    /// Parsed; where it is a CronJob, its command line is checked by the program.
    fn yaml(&self, file: &Path) -> anyhow::Result<Outcome> {
        let parts: Vec<Value> = match serde_saphyr::from_multiple(&fs::read_to_string(file)?) {
            Ok(parts) => parts,
            Err(error) => return Ok(Outcome::Failed(error.to_string())),
        };
        let part = |kind: &str| parts.iter().find(|part| part["kind"] == kind);
        match part("CronJob") {
            Some(job) => self.cron_job(job, part("ConfigMap").context("no ConfigMap")?),
            None => Ok(Outcome::Checked("it is YAML")),
        }
    }

    /// Folders stand for what the container mounts, the first one being that of the ConfigMap.
    fn cron_job(&self, job: &Value, map: &Value) -> anyhow::Result<Outcome> {
        let container = &job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0];
        let mut mounts = Vec::new();
        for mount in container["volumeMounts"].as_array().context("volumeMounts")? {
            mounts.push((mount["mountPath"].as_str().context("mountPath")?, self.empty_folder()?));
        }
        let (_, plans) = mounts.first().context("nothing is mounted")?;
        for (name, plan) in map["data"].as_object().context("data of the ConfigMap")? {
            fs::write(plans.join(name), plan.as_str().context("a plan is text")?)?;
        }
        let mut shell = self.shell(plans)?;
        shell.args(["-c", "exec fullpipe \"$@\" --dry-run", "sh"]);
        for word in container["args"].as_array().context("args")? {
            let word = word.as_str().context("words of a command line are text")?;
            let mounted = mounts.iter().find_map(|(at, folder)| {
                let rest = word.strip_prefix(at)?.strip_prefix('/')?;
                Some(folder.join(rest).into_os_string())
            });
            shell.arg(mounted.unwrap_or_else(|| word.into()));
        }
        let checked = shell.output()?;
        Ok(match checked.status.success() {
            true => {
                Outcome::Checked("the program accepts command line and plan; no cluster is asked")
            }
            false => Outcome::Failed(String::from_utf8_lossy(&checked.stderr).into_owned()),
        })
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // Left behind, it would only be in the way.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

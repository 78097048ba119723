//! Every document that a program makes of the recordings, each by its name.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{fs, io, thread};

use sha2::{Digest as _, Sha256};

use super::packed::{ENDING, unpacked};
use super::table;

/// Documents by their names, such as `flow-udp-lab/certificate.pdf`.
pub(crate) type Documents = BTreeMap<String, Vec<u8>>;

/// Results of an older fullpipe are here, below the folder of the recordings.
const OLDER: &str = "older";

/// A program, and an empty folder for what it reads and writes.
#[derive(Debug)]
struct Press<'a> {
    program: &'a Path,
    scratch: &'a Path,
}

/// What a few calls of the program make documents of.
#[derive(Debug)]
enum Job {
    /// One result.
    Report(String),
    /// Two results of one method, side by side.
    Compare(String, String),
    /// All results together.
    History,
}

/// Makes every document of every recording.
///
/// # Errors
/// A recording cannot be read, or the program fails with one.
pub(crate) fn all(program: &Path, evidence: &Path, scratch: &Path) -> io::Result<Documents> {
    let recorded: Vec<String> =
        table::read(evidence)?.into_iter().map(|recording| recording.name).collect();
    let names: Vec<String> = recorded.iter().cloned().chain(older(evidence)?).collect();
    fs::create_dir_all(scratch.join(OLDER))?;
    for name in &names {
        let document = unpacked(&evidence.join(format!("{name}{ENDING}")))?;
        fs::write(scratch.join(format!("{name}.json")), document)?;
    }
    let mut jobs = vec![Job::History];
    jobs.extend(pairs(&recorded));
    jobs.extend(names.into_iter().map(Job::Report));
    Press { program, scratch }.all(&jobs)
}

/// The hash of a document, in hexadecimal digits.
pub(crate) fn hash(document: &[u8]) -> String {
    Sha256::digest(document).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hashes of a list as `sha256sum` writes it, by the names of their documents.
pub(crate) fn hashes(list: &str) -> BTreeMap<String, String> {
    let pairs = list.lines().filter_map(|line| line.split_once("  "));
    pairs.map(|(hash, name)| (name.to_owned(), hash.to_owned())).collect()
}

/// The names of the results of older programs.
fn older(evidence: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(evidence.join(OLDER))? {
        let file = entry?.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(ENDING));
        names.extend(name.map(|name| format!("{OLDER}/{name}")));
    }
    names.sort();
    Ok(names)
}

/// Each recording with the one before it of the same method.
fn pairs(names: &[String]) -> Vec<Job> {
    let neighbours = names.iter().zip(names.iter().skip(1));
    let alike = neighbours.filter(|(first, second)| method(first) == method(second));
    alike.map(|(first, second)| Job::Compare(first.clone(), second.clone())).collect()
}

/// The method of a recording, which its name begins with.
fn method(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or(name);
    file.split('-').next().unwrap_or(file)
}

fn is_of_other_trials(refused: &io::Error) -> bool {
    refused.to_string().contains("something else would have been measured")
}

/// A change of the plan that asks for the same trials.
fn change(method: &str) -> &'static str {
    match method {
        "rfc6349" => "thresholds.throughput_percent=1",
        "flow" => "criteria.loss_max_percent=50",
        "rfc2544" => "criteria.loss_percent=50",
        "stress" => "criteria.failed_max_percent=50",
        "y1564" => "configuration.margin_percent=2",
        _ => "tolerance_percent=3",
    }
}

impl Press<'_> {
    /// The documents of all jobs, by as many threads as there are processors.
    fn all(&self, jobs: &[Job]) -> io::Result<Documents> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut documents = Documents::new();
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                documents.extend(self.documents(job)?);
            }
            Ok(documents)
        };
        let count = thread::available_parallelism()?.get();
        let parts: Vec<io::Result<Documents>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
            let panicked = |_| Err(io::Error::other("a thread that made documents panicked"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        let mut documents = Documents::new();
        for part in parts {
            documents.extend(part?);
        }
        Ok(documents)
    }

    fn documents(&self, job: &Job) -> io::Result<Documents> {
        match job {
            Job::Report(name) => self.reported(name),
            Job::Compare(first, second) => self.compared(first, second),
            Job::History => self.listed(),
        }
    }

    /// The screen, every file that `report` writes, and the result judged by another wish.
    fn reported(&self, name: &str) -> io::Result<Documents> {
        let result = self.result(name);
        let folder = self.folder(name)?;
        fs::write(folder.join("screen.txt"), self.said([OsStr::new("report"), result.as_ref()])?)?;
        let change = ["--judge-with", change(method(name)), "--json"].map(OsStr::new);
        let words = [OsStr::new("report"), result.as_ref()].into_iter().chain(change);
        match self.said(words) {
            Ok(again) => fs::write(folder.join("again.json"), again)?,
            // An older program ran other trials: there is nothing to judge again.
            Err(refused) if name.starts_with(OLDER) && is_of_other_trials(&refused) => {}
            Err(error) => return Err(error),
        }
        let files = [
            ("--html", "certificate.html"),
            ("--pdf", "certificate.pdf"),
            ("--markdown", "certificate.md"),
            ("--junit", "junit.xml"),
            ("--csv", "csv"),
        ];
        self.written(&["report".into(), result], &folder, &files)?;
        collected(name, &folder)
    }

    fn compared(&self, first: &str, second: &str) -> io::Result<Documents> {
        let name = format!("compare/{first}+{second}");
        let folder = self.folder(&name)?;
        let words = ["compare".into(), self.result(first), self.result(second)];
        fs::write(folder.join("screen.txt"), self.said(&words)?)?;
        let files = [("--html", "comparison.html"), ("--pdf", "comparison.pdf")];
        let json = [&words[..], &["--json".into()]].concat();
        fs::write(folder.join("comparison.json"), self.written(&json, &folder, &files)?)?;
        collected(&name, &folder)
    }

    /// A history that all recordings were imported into.
    fn listed(&self) -> io::Result<Documents> {
        let folder = self.folder("history")?;
        let data = self.scratch.join("data");
        let said = |words: &[&OsStr]| output(self.command(words).env("FULLPIPE_DATA", &data));
        said(&[OsStr::new("history"), OsStr::new("--import"), self.scratch.as_ref()])?;
        let flows = ["--where", "method=flow"];
        for (file, more) in
            [("list.txt", &[][..]), ("list.json", &["--json"]), ("flows.txt", &flows)]
        {
            let words = ["history", "--limit", "100"].iter().chain(more).map(OsStr::new);
            fs::write(folder.join(file), said(&words.collect::<Vec<_>>())?)?;
        }
        collected("history", &folder)
    }

    /// What the program says while it writes these files into the folder.
    fn written(
        &self,
        words: &[PathBuf],
        folder: &Path,
        files: &[(&str, &str)],
    ) -> io::Result<Vec<u8>> {
        let mut words = words.to_vec();
        for (option, file) in files {
            words.extend([option.into(), folder.join(file)]);
        }
        self.said(&words)
    }

    fn said(&self, words: impl IntoIterator<Item: AsRef<OsStr>>) -> io::Result<Vec<u8>> {
        output(&mut self.command(words))
    }

    /// The program with these words, and without a history.
    fn command(&self, words: impl IntoIterator<Item: AsRef<OsStr>>) -> Command {
        let mut command = Command::new(self.program);
        command.args(words).env("FULLPIPE_DATA", "/dev/null").stdin(Stdio::null());
        command
    }

    fn result(&self, name: &str) -> PathBuf {
        self.scratch.join(format!("{name}.json"))
    }

    /// An empty folder for the documents of this name.
    fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.scratch.join("documents").join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

/// What the command writes to stdout.
fn output(command: &mut Command) -> io::Result<Vec<u8>> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?}: {}: {why}", output.status)))
}

/// Every file below the folder, by its path behind `name`.
fn collected(name: &str, folder: &Path) -> io::Result<Documents> {
    let mut documents = Documents::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            documents.extend(collected(&name, &entry.path())?);
        } else {
            documents.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(documents)
}

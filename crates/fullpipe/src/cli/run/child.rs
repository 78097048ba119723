//! One run of a test: our own program with the words of its command line.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fp_engine::StopFlag;
use fp_engine::os::clock;
use fp_engine::os::signal;
use fp_model::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use super::job::Job;

/// How long a test that was told to end may take to save what it has.
const GRACE: Duration = Duration::from_secs(10);
/// A signal may have been delivered to another thread than the one that waits.
const BEAT: Duration = Duration::from_millis(100);

/// How a run ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` if a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) timed_out: bool,
    /// What the program said when it gave up.
    pub(super) complaint: Option<String>,
}

/// Runs `job` to its end, its timeout or the user's signal; writes its result and its text.
pub(super) fn run(
    job: &Job,
    repetition: u32,
    result: &Path,
    text: &Path,
    stop: &StopFlag,
    quiet: bool,
    keeps: bool,
) -> io::Result<Ended> {
    // Whatever has become of the file that this program was started from.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("fullpipe").args(&job.planned.command).arg("-o").arg(result);
    if !keeps {
        command.arg("--no-save");
    }
    if job.draws_seeds && repetition > 1 {
        command.arg(format!("--seed={repetition}"));
    }
    if quiet {
        command.arg("--quiet");
    }
    if let Some(key) = &job.key {
        command.env("FULLPIPE_KEY", key.trim());
    }
    command.stdin(Stdio::null()).stdout(File::create(text)?).stderr(Stdio::piped());
    let deadline = job.timeout.map(|timeout| clock::now() + timeout);
    let mut child = command.spawn()?;
    let stderr = child.stderr.take().map(passed_on).transpose()?;
    let timed_out = wait(&child, deadline, stop)?;
    let status = child.wait()?;
    // A thread that has panicked has said so itself.
    let complaint = stderr.and_then(|stderr| stderr.join().ok()).flatten();
    Ok(Ended { code: status.code(), timed_out, complaint })
}

/// Waits for the end of the child, and asks it to end when it is time; whether that was its timeout.
fn wait(child: &Child, deadline: Option<Time>, stop: &StopFlag) -> io::Result<bool> {
    let pid = Pid::from_child(child);
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let mut told_to_end: Option<(Time, bool)> = None;
    loop {
        let mut polled = [PollFd::new(&process, PollFlags::IN)];
        match poll(&mut polled, Some(&timespec(BEAT))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(told_to_end.is_some_and(|(_, timed_out)| timed_out)),
            Err(error) => return Err(error.into()),
        }
        let now = clock::now();
        match told_to_end {
            Some((since, _)) if now.since(since) >= GRACE => kill_process(pid, Signal::KILL)?,
            Some(_) => {}
            None if stop.is_set() => {
                kill_process(pid, asked_for())?;
                told_to_end = Some((now, false));
            }
            None if deadline.is_some_and(|deadline| now >= deadline) => {
                kill_process(pid, Signal::TERM)?;
                told_to_end = Some((now, true));
            }
            None => {}
        }
    }
}

fn asked_for() -> Signal {
    match signal::caught() {
        Some(signal::Signal::Terminate) => Signal::TERM,
        Some(signal::Signal::Interrupt) | None => Signal::INT,
    }
}

/// Waits until `due`, or until the user's signal: then it is `false`.
pub(super) fn wait_until(due: Time, stop: &StopFlag) -> io::Result<bool> {
    while !stop.is_set() {
        let left = due.since(clock::now());
        if left.is_zero() {
            return Ok(true);
        }
        match poll(&mut [], Some(&timespec(left.min(BEAT)))) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// Shows what the child says as it says it, and keeps the last sentence of the program itself.
fn passed_on(stderr: ChildStderr) -> io::Result<JoinHandle<Option<String>>> {
    let copy = move || {
        let mut complaint = None;
        for line in BufReader::new(stderr).lines() {
            let Ok(line) = line else { break };
            // With our own stderr gone there is nobody left to tell.
            let _ = writeln!(io::stderr(), "{line}");
            if let Some(sentence) = line.strip_prefix("fullpipe: ") {
                complaint = Some(sentence.to_owned());
            }
        }
        complaint
    };
    thread::Builder::new().name("stderr of a test".into()).spawn(copy)
}

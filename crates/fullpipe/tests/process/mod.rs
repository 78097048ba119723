//! Runs the binary: to its end, or line by line until something is seen.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fp_engine::os::clock;
use fp_model::Time;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Longer than anything here takes; what lasts longer hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a run of `fullpipe` left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Finished {
    /// The only document on stdout.
    pub(crate) fn json(&self) -> Value {
        json(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}

pub(crate) fn json(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(text)
}

/// Runs `fullpipe` with these words to its end.
pub(crate) fn fullpipe(words: &[&str]) -> Finished {
    Running::start(command(words)).finish()
}

/// `fullpipe` with these words, without a key from outside and without the user's history.
pub(crate) fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullpipe"));
    command.args(words).env_remove("FULLPIPE_KEY").env("FULLPIPE_DATA", "/dev/null");
    command
}

/// A program under way; it does not outlive this value.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    started: Time,
    stdout: Lines,
    stderr: Lines,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = clock::now();
        let mut child = command.spawn().unwrap();
        let stdout = Lines::of(child.stdout.take().unwrap());
        let stderr = Lines::of(child.stderr.take().unwrap());
        Self { child, started, stdout, stderr }
    }

    /// Waits for the next line on stdout.
    pub(crate) fn line(&mut self) -> String {
        self.stdout.until(|_| true)
    }

    /// Waits until a line on stderr contains this; the whole line.
    pub(crate) fn wait_until_it_says(&mut self, words: &str) -> String {
        self.stderr.until(|line| line.contains(words))
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end of the program and of everything that still writes where it does.
    pub(crate) fn finish(mut self) -> Finished {
        self.stdout.read_to_end();
        self.stderr.read_to_end();
        let status = self.ended();
        Finished {
            exit: status.code(),
            stdout: std::mem::take(&mut self.stdout.seen),
            stderr: std::mem::take(&mut self.stderr.seen),
            took: clock::now().since(self.started),
        }
    }

    fn ended(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program writes, as it comes.
#[derive(Debug)]
struct Lines {
    coming: Receiver<String>,
    seen: String,
}

impl Lines {
    fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, coming) = mpsc::channel();
        thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut line = String::new();
            // Ends with the pipe, or with the test that wanted to know.
            while pipe.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
                if sender.send(std::mem::take(&mut line)).is_err() {
                    break;
                }
            }
        });
        Self { coming, seen: String::new() }
    }

    fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let deadline = clock::now() + PATIENCE;
        loop {
            match self.coming.recv_timeout(deadline.since(clock::now())) {
                Ok(line) => {
                    self.seen += &line;
                    if wanted(&line) {
                        return line;
                    }
                }
                Err(why) => panic!("{why}; what came was:\n{}", self.seen),
            }
        }
    }

    fn read_to_end(&mut self) {
        let deadline = clock::now() + PATIENCE;
        loop {
            match self.coming.recv_timeout(deadline.since(clock::now())) {
                Ok(line) => self.seen += &line,
                Err(RecvTimeoutError::Disconnected) => return,
                Err(why) => panic!("{why}; what came was:\n{}", self.seen),
            }
        }
    }
}

//! A program that runs at one end of the path, as if there were nothing special about it.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use fp_model::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::{LabError, Namespace};
use crate::os::child_guard::ChildGuard;
use crate::os::clock;
use crate::os::signal_queue::{Origin, QueuedSignal, SignalQueue, unblock_in};

/// A running program with all the processes it has started; they end when this value is dropped.
#[derive(Debug)]
pub struct Program {
    process: OwnedFd,
    /// Joined once the program has ended.
    owner: Option<JoinHandle<io::Result<ExitStatus>>>,
}

impl Namespace {
    /// Starts a program at this end of the path, where the names of both ends are known.
    ///
    /// # Errors
    /// [`LabError::Program`] where there is no such program or it cannot be executed.
    pub fn start(&self, command: Command) -> Result<Program, LabError> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (started, starts) = sync_channel(1);
        let thread = {
            let namespace = self.clone();
            move || own(&namespace, command, &started)
        };
        let owner = Builder::new()
            .name(format!("program {}", self.name()))
            .spawn(thread)
            .map_err(LabError::wiring("start a thread"))?;
        let process =
            starts.recv().map_err(|_| LabError::Stopped)?.map_err(|failure| failure.of(&name))?;
        Ok(Program { process, owner: Some(owner) })
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// How long a program has to end once it was told to.
const GRACE: Duration = Duration::from_secs(2);

impl Program {
    /// Waits for its end and passes on the signals to this process that it has not got itself. One
    /// that does not end on SIGTERM or SIGHUP is killed after some seconds.
    pub fn wait_passing_on(self, signals: &SignalQueue) -> io::Result<End> {
        let mut told_to_end: Option<(Signal, Time)> = None;
        while !self.has_ended()? {
            let left = told_to_end.map(|(_, deadline)| deadline.since(clock::now()));
            if let (Some(Duration::ZERO), Some((signal, _))) = (left, told_to_end) {
                drop(self);
                return Ok(End::Killed(signal.as_raw()));
            }
            wait_for_either(&self.process, signals, left)?;
            while let Some(QueuedSignal { signal, origin }) = signals.take()? {
                if origin == Origin::Process && !self.has_ended()? {
                    self.signal(signal)?;
                }
                if matches!(signal, Signal::TERM | Signal::HUP) && told_to_end.is_none() {
                    told_to_end = Some((signal, clock::now() + GRACE));
                }
            }
        }
        let status = self.wait()?;
        // On Unix a program without a code was ended by a signal.
        Ok(match (status.code(), status.signal()) {
            (Some(code), _) => End::Exited(code),
            (None, signal) => End::Killed(signal.unwrap_or_default()),
        })
    }

    pub fn has_ended(&self) -> io::Result<bool> {
        let mut polled = [PollFd::new(&self.process, PollFlags::IN)];
        poll(&mut polled, Some(&Timespec::default()))?;
        Ok(!polled[0].revents().is_empty())
    }

    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(pidfd_send_signal(&self.process, signal)?)
    }

    /// Waits for its end.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        let gone = || io::Error::other("the thread that owned the program has panicked");
        let owner = self.owner.take().ok_or_else(gone)?;
        owner.join().map_err(|_| gone())?
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let Some(owner) = self.owner.take() else { return };
        // It may have ended already, and then its owner is about to end as well.
        let _ = self.signal(Signal::KILL);
        // An owner that has panicked has said so itself.
        let _ = owner.join();
    }
}

fn wait_for_either(
    process: &OwnedFd,
    signals: &SignalQueue,
    timeout: Option<Duration>,
) -> io::Result<()> {
    let timeout = timeout.map(|timeout| Timespec {
        tv_sec: timeout.as_secs() as i64,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let mut polled = [PollFd::new(process, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
    match poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// What kept a program from being started.
enum Failure {
    Namespaces(io::Error),
    Program(io::Error),
}

impl Failure {
    fn of(self, program: &str) -> LabError {
        match self {
            Self::Namespaces(error) => LabError::wiring("make a place for a program")(error),
            Self::Program(error) => LabError::Program { program: program.into(), error },
        }
    }
}

/// The life of the thread that owns a program: what the program starts ends before the thread.
fn own(
    namespace: &Namespace,
    mut command: Command,
    started: &SyncSender<Result<OwnedFd, Failure>>,
) -> io::Result<ExitStatus> {
    unblock_in(&mut command);
    let spawned = namespace
        .enter()
        .and_then(|()| ChildGuard::around_children_of_this_thread(&namespace.hosts()))
        .map_err(Failure::Namespaces)
        .and_then(|guard| Ok((guard, command.spawn().map_err(Failure::Program)?)));
    let (guard, mut child) = match spawned {
        Ok(spawned) => spawned,
        Err(failure) => {
            // Who has started the program waits for this.
            let _ = started.send(Err(failure));
            return Err(io::ErrorKind::NotFound.into());
        }
    };
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
    if process.is_err() {
        child.kill()?;
    }
    // As above.
    let _ = started.send(process.map_err(|error| Failure::Namespaces(error.into())));
    let status = child.wait();
    drop(guard);
    status
}

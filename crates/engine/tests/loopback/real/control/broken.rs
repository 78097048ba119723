//! Ends that are killed, stopped or cut off: the other one notices and nothing is left running.
//!
//! An end that is to be killed is this test program once more, as a process of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fp_engine::control::Pairing;
use fp_engine::os::clock;
use fp_model::{Abort, Testbed as _};
use rustix::process::{Pid, Signal, kill_process};

use crate::child::{FAR, NEAR, SAYS};
use crate::real::control::far_end::{connect, long_trial, within};

/// A child process, killed with the test.
pub(crate) struct End(Child);

impl End {
    pub(crate) fn be(variable: &str, value: &str) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child::end", "--nocapture"])
            .env(variable, value)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    pub(crate) fn says(&mut self) -> String {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        let said = lines
            .map(Result::unwrap)
            .find_map(|line| line.split_once(SAYS).map(|(_, words)| words.to_owned()));
        said.unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// The names of its threads.
    fn threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        // A thread may end while it is looked at.
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
        tasks.filter_map(|task| name(task.ok()?)).map(|name| name.trim().to_owned()).collect()
    }

    fn sockets(&self) -> usize {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.0.id())).unwrap();
        let target = |entry: fs::DirEntry| fs::read_link(entry.path()).ok();
        let targets = descriptors.filter_map(|descriptor| target(descriptor.ok()?));
        targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
    }

    /// The most memory that it has ever held.
    pub(crate) fn peak_memory_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        peak.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
    }

    fn flows(&self) -> usize {
        self.threads().iter().filter(|name| name.starts_with("flow ")).count()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the long trial against a far end of its own and breaks that far end in the middle.
fn far_end_meets(signal: Signal) -> (Abort, Duration) {
    let mut far = End::be(FAR, "1");
    let pairing = Pairing::parse(&far.says()).unwrap();
    let mut bed = connect(&pairing).unwrap();
    let running = std::thread::spawn(move || (bed.run(&long_trial()), clock::now()));
    within(Duration::from_secs(5), "the trial runs", || far.flows() == 4);
    let broken_at = clock::now();
    far.signal(signal);
    let (outcome, ended_at) = running.join().unwrap();
    (outcome.unwrap_err(), ended_at.since(broken_at))
}

#[test]
fn a_far_end_killed_in_a_trial_is_lost_within_three_seconds() {
    let (abort, after) = far_end_meets(Signal::KILL);
    assert!(matches!(abort, Abort::Lost(_)), "{abort:?}");
    assert!(after < Duration::from_secs(3), "{after:?}");
}

#[test]
fn a_far_end_that_hangs_in_a_trial_is_lost_within_three_seconds() {
    let (abort, after) = far_end_meets(Signal::STOP);
    let Abort::Lost(why) = abort else { panic!("{abort:?}") };
    assert!(why.contains("not been heard of for 2.5 s"), "{why}");
    assert!(after < Duration::from_secs(3), "{after:?}");
}

/// Breaks a near end in the middle of the long trial: when the far end has stopped sending, and
/// when nothing of the session is left.
fn near_end_meets(signal: Signal) -> (Duration, Duration) {
    let mut far = End::be(FAR, "1");
    let pairing = far.says();
    let idle_sockets = far.sockets();
    let near = End::be(NEAR, &pairing);
    within(Duration::from_secs(5), "the trial runs", || far.flows() == 4);
    within(Duration::from_secs(5), "the data flows", || far.sockets() > idle_sockets);
    let broken_at = clock::now();
    near.signal(signal);
    within(Duration::from_secs(4), "the flows end", || far.flows() == 0);
    let flows_ended_after = clock::now().since(broken_at);
    within(Duration::from_secs(4), "all sockets are closed", || far.sockets() == idle_sockets);
    within(Duration::from_secs(4), "all threads have ended", || {
        !far.threads().iter().any(|name| name == "session" || name == "control")
    });
    (flows_ended_after, clock::now().since(broken_at))
}

#[test]
fn a_near_end_killed_in_a_trial_leaves_nothing_at_the_far_end_after_a_second() {
    let (_, all_gone_after) = near_end_meets(Signal::KILL);
    assert!(all_gone_after < Duration::from_secs(1), "{all_gone_after:?}");
}

#[test]
fn a_near_end_that_hangs_in_a_trial_is_sent_nothing_after_a_second() {
    let (flows_ended_after, all_gone_after) = near_end_meets(Signal::STOP);
    // The last heartbeat may be just sent: 750 ms of grace, and the time to look up.
    assert!(flows_ended_after < Duration::from_secs(1), "{flows_ended_after:?}");
    assert!(all_gone_after < Duration::from_millis(3500), "{all_gone_after:?}");
}

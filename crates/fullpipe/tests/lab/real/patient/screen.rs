//! The live view on a terminal: taken, left by a key or a signal, and given back as it was.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Stdio};
use std::time::Duration;

use fp_engine::os::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::serve::serve;
use crate::process::command;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// xterm's private mode 1049: the other screen, and back.
const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// A terminal of 80 by 24: what a person has, and what a program has.
fn terminal() -> (File, OwnedFd) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY;
    let program = rustix::fs::open(name, flags, Mode::empty()).unwrap();
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&person, size).unwrap();
    (File::from(person), program)
}

/// What the program writes to the terminal until it has written this.
fn until(person: &mut File, wanted: &str) -> String {
    let deadline = clock::now() + PATIENCE;
    let mut seen = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen).into_owned();
        if text.contains(wanted) {
            return text;
        }
        let left = deadline.since(clock::now());
        assert!(!left.is_zero(), "{wanted:?} has not come: {text:?}");
        let timeout = Timespec::try_from(left).unwrap();
        // The time is looked at before the terminal is read.
        let is_written =
            poll(&mut [PollFd::new(&*person, PollFlags::IN)], Some(&timeout)).unwrap() > 0;
        if is_written {
            let count = person.read(&mut piece).unwrap();
            seen.extend_from_slice(&piece[..count]);
        }
    }
}

/// A flow of a minute, watched on the terminal `program`; it does not outlive this value.
struct Watched(Child);

impl Watched {
    fn start(far: &str, program: &OwnedFd) -> Self {
        let mut flow = command(&["flow", far, "-u", "-b", "1M", "-t", "60s", "--tui"]);
        let terminal = || Stdio::from(program.try_clone().unwrap());
        flow.env("TERM", "xterm").env_remove("NO_COLOR").stdin(terminal()).stderr(terminal());
        Self(flow.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_cooked(program: &OwnedFd) -> bool {
    tcgetattr(program.as_fd()).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
}

#[test]
fn a_key_ends_the_run_and_the_terminal_is_as_it_was() {
    let far = serve();
    let (mut person, program) = terminal();
    assert!(is_cooked(&program));
    let mut flow = Watched::start(&far.pairing, &program);
    // The curve has its first slot.
    assert!(until(&mut person, "Mbit/s").contains(ENTER));
    assert!(!is_cooked(&program), "keys are heard one by one");
    person.write_all(b"q").unwrap();
    let farewell = until(&mut person, "stopped");
    assert!(farewell.find(LEAVE) < farewell.find("stopped"), "{farewell:?}");
    assert!(farewell.contains(LEAVE), "{farewell:?}");
    assert_eq!(flow.0.wait().unwrap().code(), Some(130));
    assert!(is_cooked(&program));
}

/// Progress is one line that is overwritten, no wider than the terminal, with how long the run will take.
#[test]
fn progress_on_a_terminal_is_one_line_that_foretells_the_end() {
    let (mut person, program) = terminal();
    let words = ["test", "--lab", "line-100m-10ms", "-J", "--no-save", "--sender", "bulk"];
    let mut test = command(&words);
    test.env("TERM", "xterm").stdin(Stdio::null()).stderr(Stdio::from(program));
    let test = Watched(test.stdout(Stdio::null()).spawn().unwrap());
    let seen = until(&mut person, "bottleneck, held, download");
    for line in seen.split("\r\x1b[K") {
        assert!(line.chars().count() < 80 && !line.contains('\n'), "{line:?}");
    }
    assert!(seen.contains(" of about 00:"), "{seen:?}");
    // Nothing of it is left when the run is over.
    kill_process(Pid::from_child(&test.0), Signal::TERM).unwrap();
    let farewell = until(&mut person, "stopped");
    let (_, last) = farewell.rsplit_once("\r\x1b[K").unwrap();
    assert!(last.starts_with("fullpipe: ") || last.contains("stopp"), "{last:?}");
}

#[test]
fn a_signal_ends_the_run_and_the_terminal_is_as_it_was() {
    let far = serve();
    let (mut person, program) = terminal();
    let mut flow = Watched::start(&far.pairing, &program);
    until(&mut person, "Mbit/s");
    kill_process(Pid::from_child(&flow.0), Signal::TERM).unwrap();
    let farewell = until(&mut person, "stopped");
    assert!(farewell.find(LEAVE) < farewell.find("stopped"), "{farewell:?}");
    assert!(farewell.contains(LEAVE), "{farewell:?}");
    assert_eq!(flow.0.wait().unwrap().code(), Some(143));
    assert!(is_cooked(&program));
}

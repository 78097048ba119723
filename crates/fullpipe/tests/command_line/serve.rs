//! `fullpipe serve`: what it prints, and how it ends.

use std::net::TcpListener;

use rustix::process::Signal;

use super::process::{Running, command, fullpipe};

/// A far end on loopback.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) process: Running,
    pub(crate) pairing: String,
}

pub(crate) fn serve() -> Serving {
    let mut process = Running::start(command(&["serve", "--listen", "127.0.0.1:0"]));
    let pairing = process.line().trim_end().to_owned();
    Serving { process, pairing }
}

#[test]
fn stdout_holds_one_pairing_string_and_a_signal_ends_the_far_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let Serving { process, pairing } = serve();
        assert!(pairing.starts_with("fp://127.0.0.1:"), "{pairing}");
        process.send(signal);
        let run = process.finish();
        assert_eq!((run.exit, run.stdout), (Some(0), format!("{pairing}\n")));
        assert!(run.stderr.contains(&format!("fullpipe test '{pairing}'")), "{}", run.stderr);
    }
}

#[test]
fn a_port_in_use_is_named_with_a_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = fullpipe(&["serve", "--listen", &address]);
    assert_eq!((run.exit, run.stdout.as_str()), (Some(3), ""), "{}", run.stderr);
    for word in [&address, "in use", "--listen"] {
        assert!(run.stderr.contains(word), "{}", run.stderr);
    }
}

#[test]
fn a_port_of_iperf3_in_use_is_named_with_a_remedy_and_its_cause_once() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let listen = ["serve", "--listen", "127.0.0.1:0", "--iperf3", "--iperf3-port"];
    let run = fullpipe(&[&listen[..], &[&port]].concat());
    assert_eq!(run.exit, Some(3), "{}", run.stderr);
    for word in [port.as_str(), "--iperf3-port"] {
        assert!(run.stderr.contains(word), "{}", run.stderr);
    }
    assert_eq!(run.stderr.matches("in use").count(), 1, "{}", run.stderr);
}

#[test]
fn clients_of_iperf3_are_served_beside_the_near_ends() {
    let words = ["serve", "--listen", "127.0.0.1:0", "--iperf3", "--iperf3-port", "0"];
    let mut process = Running::start(command(&words));
    let pairing = process.line();
    let hint = process.wait_until_it_says("iperf3 clients are served on port");
    let port = hint.trim().trim_end_matches(" -c").rsplit(' ').next().unwrap();
    let client = |words: &[&str]| {
        let words = [&["10", "iperf3", "-c", "127.0.0.1", "-p", port], words].concat();
        let run = std::process::Command::new("timeout").args(words).output().unwrap();
        assert!(run.status.success(), "{run:?}");
    };
    client(&["-n", "1M"]);
    client(&["-u", "-b", "10M", "-n", "1M", "-R"]);
    let test = fullpipe(&["test", pairing.trim_end(), "--cir", "20M", "-t", "0.5s", "-q"]);
    assert_ne!(test.exit, Some(3), "{}", test.stderr);
    process.send(Signal::TERM);
    let run = process.finish();
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("1048576 bytes received"), "{}", run.stderr);
}

#[test]
fn options_of_iperf3_need_it_to_be_served() {
    for words in [
        &["serve", "--iperf3-port", "5000"][..],
        &["serve", "--iperf3", "--iperf3-users", "f"],
        &["serve", "--iperf3", "--iperf3-users", "/missing", "--iperf3-private-key", "/missing"],
    ] {
        let run = fullpipe(words);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains("iperf3") || run.stderr.contains("/missing"));
    }
}

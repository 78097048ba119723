//! `fullpipe serve`: what it prints, and how it ends.

use std::io::{Read as _, Write as _};

use rustix::process::Signal;

use crate::process::{Running, command, fullpipe};

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
    let test = fullpipe(&["test", pairing.trim_end(), "--cir", "200M", "-t", "0.5s", "-q"]);
    assert_ne!(test.exit, Some(3), "{}", test.stderr);
    process.send(Signal::TERM);
    let run = process.finish();
    assert_eq!(run.exit, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("1048576 bytes received"), "{}", run.stderr);
}

/// What is answered at this address of loopback.
fn metrics(address: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn address(hint: &str) -> String {
    hint.trim().trim_start_matches("metrics are told at http://").replace("/metrics", "")
}

#[test]
fn metrics_count_those_who_were_served_and_those_who_were_refused() {
    let words = ["serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];
    let mut process = Running::start(command(&words));
    let address = address(&process.wait_until_it_says("metrics are told at"));
    let pairing = process.line();
    let far = pairing.trim_end();
    let before = metrics(&address);
    assert!(before.contains("fullpipe_far_sessions_total 0\n"), "{before}");
    let flow = fullpipe(&["flow", far, "-b", "1M", "-t", "0.2s", "-q"]);
    // A host that did not run an end in time makes the result invalid, and was served all the same.
    assert!(matches!(flow.exit, Some(0 | 4)), "{:?}: {}", flow.exit, flow.stderr);
    // The secret of another far end: as long, and wrong.
    let (host, secret) = far.split_once('#').unwrap();
    let last = if secret.ends_with('A') { 'B' } else { 'A' };
    let wrong = format!("{host}#{}{last}", &secret[..secret.len() - 1]);
    assert_ne!(fullpipe(&["flow", &wrong, "-q"]).exit, Some(0));
    let after = metrics(&address);
    assert!(after.contains("fullpipe_far_sessions_total 1\n"), "{after}");
    assert!(!after.contains("fullpipe_far_trials_total{outcome=\"done\"} 0\n"), "{after}");
    process.send(Signal::TERM);
    assert_eq!(process.finish().exit, Some(0));
}

#[test]
fn a_plan_that_is_watched_tells_what_it_found() {
    let folder = crate::folder::Folder::new();
    let text = "plan: fullpipe.plan/1\nname: ideal\nsim: ideal\ntests:\n  - flow: {udp: true, \
                bitrate: 1M, duration: 1s}\n";
    let plan = folder.written("plan.yaml", text);
    let words = ["watch", &plan, "--metrics", "127.0.0.1:0", "--every", "1h", "--no-save"];
    let mut process = Running::start(command(&words));
    let address = address(&process.wait_until_it_says("metrics are told at"));
    process.wait_until_it_says("PASS");
    let text = metrics(&address);
    let passed = "fullpipe_test_passed{plan=\"ideal\",test=\"flow\",method=\"flow\"} 1.0\n";
    assert!(text.contains(passed), "{text}");
    let mut rates =
        text.lines().filter(|line| line.starts_with("fullpipe_test_rate_l4_bits_per_second{"));
    let rate: f64 = rates.next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    // As asked for, but for what of a frame a second is cut off.
    assert!((rate / 1e6 - 1.0).abs() < 0.02, "{rate}");
    process.send(Signal::INT);
    assert_eq!(process.finish().exit, Some(0));
}

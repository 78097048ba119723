//! `fullpipe serve`, where it cannot serve.

use std::net::TcpListener;

use crate::process::fullpipe;

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

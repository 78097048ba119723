//! A far end that is not there, or not the one that was meant: exit code 3 within 3 s.

use std::net::TcpListener;
use std::time::Duration;

use super::serve::serve;
use crate::process::{Finished, fullpipe};

fn not_run(run: &Finished, said: &str) {
    assert_eq!((run.exit, run.stdout.as_str()), (Some(3), ""), "{run:#?}");
    assert!(run.stderr.contains(said), "no {said:?} in {}", run.stderr);
    assert!(run.took < Duration::from_secs(3), "{run:#?}");
}

fn secret(pairing: &str) -> &str {
    pairing.split_once('#').unwrap().1
}

#[test]
fn who_refuses_who_is_mute_and_who_is_unknown_is_named() {
    let far = serve();
    let secret = secret(&far.pairing);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    not_run(&fullpipe(&["test", &format!("fp://{free}#{secret}")]), &free.to_string());

    // The kernel connects, and then nobody says a word.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mute = listener.local_addr().unwrap();
    not_run(&fullpipe(&["test", &format!("fp://{mute}#{secret}")]), "does not answer");

    // RFC 6761 section 6.4: no name ends in .invalid.
    not_run(&fullpipe(&["test", &format!("fp://nowhere.invalid#{secret}")]), "nowhere.invalid");
}

#[test]
fn the_key_of_another_far_end_is_a_wrong_key() {
    let (far, other) = (serve(), serve());
    let address = far.pairing.split_once('#').unwrap().0;
    let mixed = format!("{address}#{}", secret(&other.pairing));
    not_run(&fullpipe(&["test", &mixed]), "another key");
}

/// In a network of its own, so that no packet leaves this machine: 203.0.113.0/24 is for
/// documentation, RFC 5737, and 198.18.0.77 on the link is nobody.
#[test]
fn an_address_without_a_route_and_one_without_a_host_are_told_apart() {
    let far = serve();
    let key = secret(&far.pairing);
    let binary = env!("CARGO_BIN_EXE_fullpipe");
    for (address, said) in [("203.0.113.1", "no way to"), ("198.18.0.77", "198.18.0.77")] {
        let pairing = format!("fp://{address}#{key}");
        let run = fullpipe(&["lab", "ideal", "--", binary, "test", &pairing]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(3), ""), "{run:#?}");
        assert!(run.stderr.contains(said), "{}", run.stderr);
        // And half a second for the lab around it.
        assert!(run.took < Duration::from_millis(3500), "{run:#?}");
    }
}

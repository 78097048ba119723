//! One end of a connection against scripts: what arrives when, and what has to leave when.
//!
//! The language is that of `tests/tcp/README.md`.

mod script;

use script::run_file;

fn run(file: &str, scripts_min: usize) {
    let count = run_file(file);
    assert!(count >= scripts_min, "{file} has only {count} scripts");
}

//= rfc9293 MUST-1
//= rfc9293 MUST-10
//= rfc9293 MUST-11
//= rfc9293 MUST-14
//= rfc9293 MUST-15
//= rfc9293 MUST-22
//= rfc9293 MUST-23
//= rfc9293 MUST-65
//= rfc9293 MUST-67
//= rfc2018 2
//= rfc7323 2.3
//= rfc3168 6.1.1
//= rfc6298 5.7
#[test]
fn handshake() {
    run("handshake", 1);
}

//= rfc9293 3.10.7.4
//= rfc9293 MUST-39
//= rfc9293 MUST-66
//= rfc5961 4.2
//= rfc5961 5.2
#[test]
fn acceptability() {
    run("acceptability", 1);
}

//= rfc9293 3.10.7.1
//= rfc5961 3.2
#[test]
fn reset() {
    run("reset", 1);
}

//= rfc9293 MUST-12
//= rfc9293 MUST-13
#[test]
fn closing() {
    run("closing", 1);
}

//= rfc9293 MUST-5
//= rfc7323 3.2
//= rfc7323 4.3
//= rfc7323 5.3
//= rfc7323 5.4
#[test]
fn timestamps() {
    run("timestamps", 1);
}

//= rfc9293 MUST-17
//= rfc9293 MUST-40
//= rfc9293 MUST-60
//= rfc9293 MUST-61
//= rfc5681 4.2
//= rfc5681 4.1
#[test]
fn small() {
    run("small", 1);
}

//= rfc9293 MUST-18
//= rfc9293 MUST-20
//= rfc9293 MUST-21
//= rfc6298 5.3
//= rfc6298 5.4
//= rfc6298 5.5
#[test]
fn timers() {
    run("timers", 1);
}

//= rfc9293 MUST-34
//= rfc9293 MUST-36
//= rfc9293 MUST-37
//= rfc9293 MUST-38
#[test]
fn window() {
    run("window", 1);
}

//= rfc2018 4
//= rfc2018 5
//= rfc2018 8
//= rfc5681 3.2
//= rfc6582 3.2
#[test]
fn recovery() {
    run("recovery", 1);
}

#[test]
fn wrap() {
    run("wrap", 1);
}

//= rfc3168 6.1.2
//= rfc3168 6.1.3
//= rfc3168 6.1.5
#[test]
fn ecn() {
    run("ecn", 1);
}

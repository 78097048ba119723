//! One end of a connection against scripts: what arrives when, and what has to leave when.
//!
//! The language is that of `tests/tcp/README.md`.

mod script;

use script::run_file;

fn run(file: &str, scripts_min: usize) {
    let count = run_file(file);
    assert!(count >= scripts_min, "{file} has only {count} scripts");
}

#[test]
fn handshake() {
    run("handshake", 1);
}

#[test]
fn acceptability() {
    run("acceptability", 1);
}

#[test]
fn reset() {
    run("reset", 1);
}

#[test]
fn closing() {
    run("closing", 1);
}

#[test]
fn timestamps() {
    run("timestamps", 1);
}

#[test]
fn small() {
    run("small", 1);
}

#[test]
fn timers() {
    run("timers", 1);
}

#[test]
fn window() {
    run("window", 1);
}

#[test]
fn recovery() {
    run("recovery", 1);
}

#[test]
fn wrap() {
    run("wrap", 1);
}

#[test]
fn ecn() {
    run("ecn", 1);
}

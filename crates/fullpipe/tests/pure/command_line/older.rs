//! Results that an older fullpipe stored, before it knew what today's keeps.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::fullpipe;
use crate::recorded;

/// What a simulation showed, its result, and the same as an older fullpipe stored it: before
/// connections in use, the clocks of both ends and the hosts' defaults were kept.
struct Stored {
    screen: String,
    newer: String,
    older: String,
}

fn stored(folder: &Folder, name: &str) -> Stored {
    let older = recorded::text(&format!("older/{name}"));
    assert!(!older.contains("active_connections") && !older.contains("clock_source"));
    let newer = recorded::text(&format!("older/{name}-clocks"));
    assert!(newer.contains("active_connections") && newer.contains("clock_source"));
    let newer = folder.written("newer.json", &newer);
    let screen = fullpipe(&["report", &newer]);
    assert_eq!(screen.exit, Some(0), "{}", screen.stderr);
    Stored { screen: screen.stdout, newer, older: folder.written("older.json", &older) }
}

fn read(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The rows of all tables of the certificate, but for those of both ends.
fn rows(folder: &Folder, file: &str, title: &str) -> Vec<String> {
    let [html, pdf, markdown] = ["html", "pdf", "md"].map(|name| folder.file(name));
    let options = ["--html", &html, "--pdf", &pdf, "--markdown", &markdown];
    let run = fullpipe(&[&["report", file][..], &options].concat());
    assert_eq!((run.exit, run.stderr.as_str()), (Some(0), ""));
    assert!(fs::read_to_string(html).unwrap().contains(title));
    assert!(super::pdf::text(&fs::read(pdf).unwrap()).contains(title));
    let text = fs::read_to_string(markdown).unwrap();
    let is_of_ends = |row: &&str| row.starts_with("| near |") || row.starts_with("| far |");
    let rows = text.lines().filter(|line| line.starts_with('|') && !is_of_ends(line));
    rows.map(str::to_owned).collect()
}

/// The same screen, the same certificate.
fn expect_shown_as_it_was(folder: &Folder, name: &str, title: &str) -> Stored {
    let stored = stored(folder, name);
    let Stored { screen, newer, older } = &stored;
    let shown = fullpipe(&["report", older]);
    assert_eq!((shown.exit, &shown.stdout), (Some(0), screen), "{}", shown.stderr);
    assert_eq!(rows(folder, older, title), rows(folder, newer, title));
    stored
}

/// And the same verdict when it is judged again.
fn expect_judged_as_it_was(name: &str, title: &str, change: &str) {
    let folder = Folder::new();
    let Stored { newer, older, .. } = expect_shown_as_it_was(&folder, name, title);
    let [newer_again, older_again] = [&newer, &older].map(|file| {
        let again = folder.file("again.json");
        let run = fullpipe(&["report", file, "--judge-with", change, "-o", &again]);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        read(&again)
    });
    assert_eq!(older_again["verdict"], newer_again["verdict"]);
    assert_eq!(older_again["near"], read(&older)["near"]);
    assert!(older_again.get("clocks").is_none(), "judging again tells nothing of the clocks");
}

/// Its trials were others than today's: there is nothing to judge again.
fn expect_shown_and_not_judged(name: &str, title: &str, change: &str) {
    let folder = Folder::new();
    let Stored { newer, older, .. } = stored(&folder, name);
    let shown = fullpipe(&["report", &older]);
    assert_eq!((shown.exit, shown.stdout.contains(title)), (Some(0), true), "{}", shown.stderr);
    assert_eq!(rows(&folder, &older, title), rows(&folder, &newer, title));
    let again = folder.file("again.json");
    let run = fullpipe(&["report", &older, "--judge-with", change, "-o", &again]);
    assert_eq!(run.exit, Some(2));
    assert!(run.stderr.contains("something else would have been measured"), "{}", run.stderr);
    assert!(!std::path::Path::new(&again).exists(), "nothing is left behind");
}

#[test]
fn a_throughput_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let title = "TCP throughput test (RFC 6349)";
    expect_shown_and_not_judged("rfc6349", title, "thresholds.throughput_percent=1");
}

/// Of two flows there is a sum, whose slots once said that none of its frames were sent again.
#[test]
fn flows_of_an_older_fullpipe_are_shown_as_they_were() {
    for name in ["flow-udp", "flow-tcp"] {
        expect_judged_as_it_was(name, "Traffic measurement", "criteria.loss_max_percent=50");
    }
}

#[test]
fn a_burst_test_of_an_older_fullpipe_is_shown_as_it_was() {
    expect_shown_and_not_judged("burst", "Burst test of a policer", "tolerance_percent=3");
}

#[test]
fn a_benchmark_of_an_older_fullpipe_is_shown_as_it_was() {
    expect_shown_and_not_judged("rfc2544", "Benchmark (RFC 2544)", "criteria.loss_percent=50");
}

#[test]
fn a_traffic_management_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let title = "Traffic management test (RFC 7640)";
    expect_shown_and_not_judged("rfc7640", title, "tolerance_percent=3");
}

#[test]
fn an_activation_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let change = "configuration.margin_percent=2";
    expect_judged_as_it_was("y1564", "Service activation test", change);
}

#[test]
fn a_connection_load_test_of_an_older_fullpipe_is_shown_as_it_was() {
    expect_judged_as_it_was("stress", "Connection load test", "criteria.failed_max_percent=50");
}

/// Whichever of the two runs it is that is older.
#[test]
fn what_an_older_fullpipe_stored_is_compared_like_any_other() {
    let [one, other] = [Folder::new(), Folder::new()];
    let (one, other) = (stored(&one, "rfc6349"), stored(&other, "rfc6349-seed-2"));
    let compared = |first: &str, second: &str| {
        let run = fullpipe(&["compare", first, second, "--json"]);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        let document = run.json();
        assert_eq!(document["plan_differs_in"], serde_json::json!([]));
        document["figures"].clone()
    };
    let figures = compared(&one.newer, &other.newer);
    assert!(figures.as_array().is_some_and(|figures| !figures.is_empty()));
    assert_eq!(compared(&one.older, &other.newer), figures);
    assert_eq!(compared(&one.newer, &other.older), figures);
}

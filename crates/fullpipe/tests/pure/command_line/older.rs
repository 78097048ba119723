//! Results that an older fullpipe stored, before it knew what today's keeps.

use std::fs;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::fullpipe;

const SERVICES: &str = "schema: fullpipe.services/1
configuration: {step_time: 1s}
performance: {duration: 2s}
services:
  - {name: internet, frame_size: 1518, cir: 10M, cbs: 64K, criteria: {flr: 0.1%}}
";

/// As it was before connections in use, the clocks of both ends and the hosts' defaults were kept.
fn before(mut result: Value) -> Value {
    result.as_object_mut().unwrap().remove("clocks").unwrap();
    for end in ["near", "far"] {
        for field in ["clock_source", "congestion_control"] {
            result[end].as_object_mut().unwrap().remove(field).unwrap();
        }
    }
    ["steps", "evidence"].into_iter().for_each(|part| forget(&mut result[part]));
    result
}

fn forget(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("clocks");
            let is_slot = fields.remove("active_connections").is_some();
            // Of frames it was said that none of them were sent again.
            if is_slot && fields["retransmitted_bytes"].is_null() {
                fields["retransmitted_bytes"] = 0.into();
            }
            fields.values_mut().for_each(forget);
        }
        Value::Array(values) => values.iter_mut().for_each(forget),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// What a simulation showed, its result, and the same as an older fullpipe would have stored it.
struct Stored {
    screen: String,
    today: String,
    older: String,
}

fn stored(folder: &Folder, words: &[&str]) -> Stored {
    let today = folder.file("today.json");
    let run = fullpipe(&[&["sim"], words, &["-q", "-o", &today]].concat());
    assert!(matches!(run.exit, Some(0 | 1)), "{}", run.stderr);
    let older = before(read(&today)).to_string();
    assert!(!older.contains("active_connections") && !older.contains("clock_source"));
    Stored { screen: run.stdout, today, older: folder.written("older.json", &older) }
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

/// The same screen, the same certificate, the same verdict when it is judged again.
fn expect_shown_as_it_was(words: &[&str], title: &str, change: &str) {
    let folder = Folder::new();
    let Stored { screen, today, older } = stored(&folder, words);
    let shown = fullpipe(&["report", &older]);
    assert_eq!((shown.exit, &shown.stdout), (Some(0), &screen), "{}", shown.stderr);
    assert_eq!(rows(&folder, &older, title), rows(&folder, &today, title));
    let [today_again, older_again] = [&today, &older].map(|file| {
        let again = folder.file("again.json");
        let run = fullpipe(&["report", file, "--judge-with", change, "-o", &again]);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        read(&again)
    });
    assert_eq!(older_again["verdict"], today_again["verdict"]);
    assert_eq!(older_again["near"], read(&older)["near"]);
    assert!(older_again.get("clocks").is_none(), "judging again tells nothing of the clocks");
}

#[test]
fn a_throughput_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let words = ["metro-40m-cbs64k", "test"];
    let change = "thresholds.throughput_percent=1";
    expect_shown_as_it_was(&words, "TCP throughput test (RFC 6349)", change);
}

/// Of two flows there is a sum, whose slots once said that none of its frames were sent again.
#[test]
fn flows_of_an_older_fullpipe_are_shown_as_they_were() {
    for kind in [&["-u", "-b", "10M"][..], &[]] {
        let words = [&["fast-ethernet", "flow", "-P", "2", "-t", "500ms"][..], kind].concat();
        expect_shown_as_it_was(&words, "Traffic measurement", "criteria.loss_max_percent=50");
    }
}

#[test]
fn a_burst_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let words = ["metro-40m-cbs64k", "burst", "--cir", "40M", "--cbs", "64K"];
    let words = [&words[..], &["--direction", "upload"]].concat();
    expect_shown_as_it_was(&words, "Burst test of a policer", "tolerance_percent=3");
}

#[test]
fn a_benchmark_of_an_older_fullpipe_is_shown_as_it_was() {
    let words = ["fast-ethernet", "rfc2544", "--frames", "1518", "--direction", "upload"];
    expect_shown_as_it_was(&words, "Benchmark (RFC 2544)", "criteria.loss_percent=50");
}

#[test]
fn a_traffic_management_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let words = ["metro-40m-cbs64k", "rfc7640", "--cir", "40M", "--cbs", "64K"];
    let words = [&words[..], &["--direction", "upload"]].concat();
    expect_shown_as_it_was(&words, "Traffic management test (RFC 7640)", "tolerance_percent=3");
}

#[test]
fn an_activation_test_of_an_older_fullpipe_is_shown_as_it_was() {
    let folder = Folder::new();
    let services = folder.written("services.yaml", SERVICES);
    let words = ["ideal", "y1564", &services];
    // Its criteria are those of its services: what was sent is all that it says of itself.
    let mtu = {
        let Stored { today, .. } = stored(&folder, &words);
        read(&today)["plan"]["interface_mtu_bytes"].to_string()
    };
    let change = format!("interface_mtu_bytes={mtu}");
    expect_shown_as_it_was(&words, "Service activation test", &change);
}

/// Whichever of the two runs it is that is older.
#[test]
fn what_an_older_fullpipe_stored_is_compared_like_any_other() {
    let [one, other] = [Folder::new(), Folder::new()];
    let words = ["metro-40m-cbs64k", "test"];
    let one = stored(&one, &words);
    let other = stored(&other, &[&words[..], &["--seed", "2"]].concat());
    let compared = |first: &str, second: &str| {
        let run = fullpipe(&["compare", first, second, "--json"]);
        assert_eq!(run.exit, Some(0), "{}", run.stderr);
        let document = run.json();
        assert_eq!(document["plan_differs_in"], serde_json::json!([]));
        document["figures"].clone()
    };
    let figures = compared(&one.today, &other.today);
    assert!(figures.as_array().is_some_and(|figures| !figures.is_empty()));
    assert_eq!(compared(&one.older, &other.today), figures);
    assert_eq!(compared(&one.today, &other.older), figures);
}

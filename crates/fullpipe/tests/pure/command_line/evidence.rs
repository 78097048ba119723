//! The recorded evidence itself: that it is what a run of today gives, and what is made of it.

#[path = "../../recorded/documents.rs"]
mod documents;
#[path = "../../recorded/normal.rs"]
mod normal;
#[path = "../../recorded/table.rs"]
pub(super) mod table;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::{Running, command, fullpipe, json};
use crate::recorded::{self, packed};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

pub(super) fn evidence() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/evidence"))
}

/// A document that is meant to be another one is accepted by `cargo xtask evidence accept`;
/// `cargo xtask evidence compare` shows where it differs.
#[test]
fn every_document_of_every_recording_is_what_was_accepted() {
    let folder = Folder::new();
    let program = Path::new(env!("CARGO_BIN_EXE_fullpipe"));
    let made = documents::all(program, evidence(), folder.file("").as_ref()).unwrap();
    let list = fs::read_to_string(evidence().join("documents.sha256")).unwrap();
    let accepted = documents::hashes(&list);
    let is_other = |(name, document): &(&String, &Vec<u8>)| {
        accepted.get(*name) != Some(&documents::hash(document))
    };
    let other: Vec<&String> = made.iter().filter(is_other).map(|(name, _)| name).collect();
    let gone: Vec<&String> = accepted.keys().filter(|name| !made.contains_key(*name)).collect();
    assert!(other.is_empty() && gone.is_empty(), "not as accepted: {other:?}, gone: {gone:?}");
}

/// The verdict is read first, in one line that fits a terminal, and is the same everywhere.
#[test]
fn every_screen_and_certificate_begins_with_the_verdict_in_one_sentence() {
    let folder = Folder::new();
    for recording in table::read(evidence()).unwrap() {
        let name = &recording.name;
        let text = recorded::text(name);
        let file = folder.written(&format!("{name}.json"), &text);
        let markdown = folder.file(&format!("{name}.md"));
        let written = fullpipe(&["report", &file, "--markdown", &markdown]);
        assert_eq!(written.exit, Some(0), "{}", written.stderr);
        let screen = fullpipe(&["report", &file]).stdout;
        let sentence = screen.lines().next().unwrap();
        assert!(sentence.chars().count() <= 100, "{name}: {sentence}");
        let (word, figures) = sentence.split_once(": ").unwrap();
        let expected = match json(&text).unwrap()["verdict"]["status"].as_str().unwrap() {
            "pass" => "PASS",
            "findings" => "PASS WITH FINDINGS",
            "fail" => "FAIL",
            "inconclusive" => "INCONCLUSIVE",
            "info" => "MEASURED",
            other => panic!("{name}: no recording is {other}"),
        };
        assert_eq!(word, expected, "{name}");
        assert!(figures.contains(|digit: char| digit.is_ascii_digit()), "{name}: {sentence}");
        let certificate = fs::read_to_string(markdown).unwrap();
        let verdict = certificate.lines().find(|line| !line.is_empty() && !line.starts_with('#'));
        assert!(verdict.unwrap().contains(figures.trim_end_matches(" …")), "{name}: {verdict:?}");
    }
}

/// Lines are folded where the terminal ends; in a pipe they stay whole, and only what is a sentence may
/// be longer than 100 columns.
#[test]
fn lines_end_where_the_terminal_does_and_rows_of_tables_fit_100_columns() {
    let folder = Folder::new();
    for recording in table::read(evidence()).unwrap() {
        let name = &recording.name;
        let file = folder.written(&format!("{name}.json"), &recorded::text(name));
        let screen = fullpipe(&["report", &file]).stdout;
        for columns in [100, 80] {
            for row in fp_report::folded(screen.clone(), Some(columns)).lines() {
                let wide = row.chars().count();
                assert!(wide <= columns, "{name}: {wide} of {columns} columns: {row}");
            }
        }
        let is_sentence = |row: &str| {
            let row = row.trim_start();
            row.starts_with("- ") || [", ", "; ", ": "].iter().any(|part| row.contains(part))
        };
        for row in screen.lines().filter(|row| row.contains("  ") && !is_sentence(row)) {
            assert!(row.chars().count() <= 100, "{name}: {} columns: {row}", row.chars().count());
        }
    }
}

/// How sure a figure is belongs to the figure, wherever it is read.
#[test]
fn every_main_figure_that_has_an_interval_is_shown_with_it_on_screen_and_certificate() {
    let folder = Folder::new();
    let mut shown = 0;
    for recording in table::read(evidence()).unwrap() {
        let text = recorded::text(&recording.name);
        let file = folder.written(&format!("{}.json", recording.name), &text);
        let markdown = folder.file(&format!("{}.md", recording.name));
        let screen = fullpipe(&["report", &file]).stdout;
        let written = fullpipe(&["report", &file, "--markdown", &markdown]);
        assert_eq!(written.exit, Some(0), "{}", written.stderr);
        let certificate = fs::read_to_string(markdown).unwrap();
        for step in json(&text).unwrap()["steps"].as_array().unwrap() {
            for figure in with_intervals(step) {
                let name = &recording.name;
                // In a table the unit stands once, behind what the figure is compared with.
                let figure_alone = figure.trim_end_matches(" Mbit/s");
                assert!(screen.contains(figure_alone), "{name}: {figure} is not in\n{screen}");
                assert!(
                    certificate.contains(figure_alone),
                    "{name}: {figure} not in\n{certificate}"
                );
                shown += 1;
            }
        }
    }
    // Two bottlenecks and four throughputs at least of each of two simulations alone.
    assert!(shown >= 12, "{shown}");
}

/// The main figures of a step that the result has with an interval, as they are to be shown.
fn with_intervals(step: &Value) -> Vec<String> {
    let fields: &[&str] = match (step["name"].as_str().unwrap(), step["role"].as_str()) {
        ("bottleneck", _) => &["rate_bps"],
        ("tcp", Some("throughput")) => &["throughput_bps"],
        ("discovery", _) => &["cir_bps", "cbs_bytes", "rate_bps", "bucket_bytes"],
        ("policing", _) => &["estimated_cbs_bytes"],
        _ => &[],
    };
    let figure = |field: &&str| {
        let bound = |ending: &str| step[format!("{field}_{ending}")].as_f64();
        let (value, least, most) = (step[*field].as_f64()?, bound("at_least"), bound("at_most"));
        Some(match (least, most) {
            (None, None) => return None,
            // Of policers the ends themselves are shown.
            (Some(least), Some(most)) if field.ends_with("_bytes") => {
                format!("{} … {}", thousands_apart(least), thousands_apart(most))
            }
            (Some(least), Some(most)) if step["name"] == "discovery" => {
                format!("{} ({:.2} … {})", mbits(value), least / 1e6, mbits(most))
            }
            (Some(least), Some(most)) if least < most => {
                format!("{:.2} ± {:.2} Mbit/s", value / 1e6, (most - least) / 2e6)
            }
            (Some(_), Some(_)) => mbits(value),
            (Some(least), None) => format!("at least {}", mbits(least)),
            (None, Some(most)) => format!("at most {}", mbits(most)),
        })
    };
    fields.iter().filter_map(figure).collect()
}

/// All rates of the recordings that have intervals are between 1 Mbit/s and 10 Gbit/s.
fn mbits(bps: f64) -> String {
    format!("{:.2} Mbit/s", bps / 1e6)
}

fn thousands_apart(count: f64) -> String {
    let whole = count.round() as u64;
    match whole {
        0..1_000 => whole.to_string(),
        _ => format!("{},{:03}", whole / 1_000, whole % 1_000),
    }
}

/// A simulation is the same on every host: where it is not what was recorded, the program changed.
/// What is shown after a test is what `report` shows of its result.
#[test]
fn every_simulation_that_was_recorded_comes_out_the_same_today() {
    let folder = Folder::new();
    for recording in table::read(evidence()).unwrap() {
        if !recording.is_simulated() {
            continue;
        }
        let file = folder.file("fresh.json");
        let words: Vec<&str> = recording.words.iter().map(String::as_str).collect();
        let mut command = command(&[&words[..], &["-q", "-o", &file]].concat());
        command.current_dir(ROOT);
        let run = Running::start(command).finish();
        assert!(matches!(run.exit, Some(0 | 1)), "{}: {}", recording.name, run.stderr);
        let fresh = fs::read_to_string(&file).unwrap();
        let fresh = normal::normalised(&recording.name, &fresh).unwrap();
        let recorded = recorded::text(&recording.name);
        let line = fresh.lines().zip(recorded.lines()).position(|(fresh, old)| fresh != old);
        assert!(fresh == recorded, "{} differs at line {line:?}", recording.name);
        let file = folder.written("recorded.json", &recorded);
        let shown = fullpipe(&["report", &file]).stdout;
        assert_eq!(below_the_head(&run.stdout), below_the_head(&shown), "{}", recording.name);
    }
}

/// A screen without its second line, which says when the test ran and how long it took.
fn below_the_head(screen: &str) -> String {
    let (sentence, rest) = screen.split_once('\n').unwrap();
    format!("{sentence}\n{}", rest.split_once('\n').unwrap().1)
}

/// What a method says of a recording follows from its evidence, which other tests see to. The rest of
/// a document is the same for every method and every testbed.
#[test]
fn every_recording_has_the_fields_of_todays_documents() {
    let fields =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    let fresh = Running::start(command(&["sim", "ideal", "flow", "-t", "500ms", "-q", "--json"]));
    let fresh = fresh.finish().json();
    for recording in table::read(evidence()).unwrap() {
        let recorded = json(&recorded::text(&recording.name)).unwrap();
        assert_eq!(fields(&recorded), fields(&fresh), "{}", recording.name);
        for part in ["tool", "near", "far", "labels", "verdict", "validity"] {
            assert_eq!(fields(&recorded[part]), fields(&fresh[part]), "{}", recording.name);
        }
    }
}

//! The recorded evidence itself: that it is what a run of today gives, and what is made of it.

#[path = "../../recorded/documents.rs"]
mod documents;
#[path = "../../recorded/normal.rs"]
mod normal;
#[path = "../../recorded/table.rs"]
mod table;

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::folder::Folder;
use crate::process::{Running, command, fullpipe, json};
use crate::recorded::{self, packed};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn evidence() -> &'static Path {
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

/// A screen without its first line, which says when the test ran and how long it took.
fn below_the_head(screen: &str) -> &str {
    screen.split_once('\n').unwrap().1
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

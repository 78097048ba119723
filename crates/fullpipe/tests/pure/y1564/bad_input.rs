//! What cannot be tested is refused with its place, before anything is sent.

use crate::folder::Folder;
use crate::result::output;

const GOOD: &str = "schema: fullpipe.services/1\nservices:\n  - {name: a, frame_size: 64, cir: 1M, \
                    criteria: {flr: 0}}\n";

/// Exit code 2, nothing on stdout, and this in what is said.
fn refused(words: &[&str], said: &str) {
    let output = output(words.iter().copied());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}: {stderr}");
    assert!(stderr.contains(said), "no {said:?} in {stderr:?} of {words:?}");
}

#[test]
fn a_wrong_services_file_is_refused_with_its_path_line_and_column() {
    let folder = Folder::new();
    let file = folder.written("services.yaml", &GOOD.replace("cir", "cirs"));
    let said = format!("{file}:3:31: unknown key `cirs`: did you mean `cir`? allowed are name, ");
    refused(&["y1564", "--lab", "ideal", &file], &said);
    refused(&["sim", "ideal", "y1564", &file], &said);
    let nobody = "127.0.0.1:1";
    refused(&["y1564", nobody, &file], &said);
}

#[test]
fn services_that_are_not_there_are_asked_for() {
    refused(&["y1564", "--lab", "ideal"], "there are no services to test: name a services file");
    refused(&["y1564", "--lab", "ideal", "none.yaml"], "cannot read the services file none.yaml");
    refused(&["sim", "ideal", "y1564"], "SERVICES");
}

#[test]
fn frames_longer_than_the_ends_can_send_are_refused_with_their_place() {
    let folder = Folder::new();
    let file = folder.written("services.yaml", &GOOD.replace("frame_size: 64", "frame_size: 9018"));
    let said = format!("{file}:3:27: frames of 9018 to 9018 bytes cannot be sent here");
    refused(&["sim", "ideal", "y1564", &file], &said);
    let file = folder.written("services.yaml", GOOD);
    refused(&["sim", "ideal", "y1564", "-6", &file], "has 84 to 1518 bytes");
}

#[test]
fn options_out_of_range_and_both_tests_left_out_are_refused() {
    let folder = Folder::new();
    let file = folder.written("services.yaml", GOOD);
    let refused = |options: &[&str], said| {
        refused(&[&["sim", "ideal", "y1564", &file], options].concat(), said);
    };
    refused(&["--step-time", "61s"], "a step takes from 1 s to 60 s");
    refused(&["--step-time", "0.5s"], "a step takes from 1 s to 60 s");
    refused(&["--duration", "0"], "0.5 s");
    refused(&["--configuration-only", "--performance-only"], "cannot be used with");
}

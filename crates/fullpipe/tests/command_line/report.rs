//! Documents from a stored result.

use std::fs;

use super::folder::Folder;
use super::process::{Finished, fullpipe};

/// A result in a file of the folder.
fn result(folder: &Folder, words: &[&str]) -> String {
    let file = folder.file("result.json");
    let run = fullpipe(&[words, &["-q", "-o", &file]].concat());
    assert!(matches!(run.exit, Some(0 | 1)), "{}", run.stderr);
    file
}

const FAILING: [&str; 3] = ["sim", "metro-40m-cbs64k", "test"];

#[test]
fn other_thresholds_judge_the_same_evidence_again_and_say_so() {
    let folder = Folder::new();
    let file = result(&folder, &FAILING);
    let again = folder.file("again.json");
    let change = ["--judge-with", "thresholds.throughput_percent=1", "-o", &again];
    let run = fullpipe(&[&["report", &file][..], &change].concat());
    assert_eq!((run.exit, run.stdout.as_str()), (Some(0), ""), "{}", run.stderr);
    let [before, after] = [&file, &again].map(|file| {
        let text = fs::read_to_string(file).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    });
    assert_eq!(
        (&before["verdict"]["status"], &after["verdict"]["status"]),
        (&"fail".into(), &"pass".into())
    );
    for part in ["id", "started", "across", "evidence", "steps", "near", "duration_s"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    assert_eq!(after["judged_again"]["plan"]["thresholds.throughput_percent"], 1);
    let html = folder.file("again.html");
    fullpipe(&["report", &again, "--html", &html]);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("Judged again from the evidence"), "{html}");
}

#[test]
fn what_the_evidence_cannot_answer_is_refused() {
    let folder = Folder::new();
    let file = result(&folder, &FAILING);
    let refused = |change: &str| -> Finished {
        let run = fullpipe(&["report", &file, "--judge-with", change]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        run
    };
    assert!(refused("dscp=46").stderr.contains("something else would have been measured"));
    assert!(refused("threshold.x=1").stderr.contains("has no field 'threshold', it has cir"));
    assert!(refused("thresholds.x=1").stderr.contains("'thresholds' has no field 'x'"));
    assert!(refused("thresholds.throughput_percent=much").stderr.contains("no plan of the method"));
    assert!(refused("thresholds").stderr.contains("a field and a value"));
}

#[test]
fn a_file_that_is_no_result_is_told_and_nothing_is_written() {
    let folder = Folder::new();
    let whole =
        fs::read_to_string(result(&folder, &["sim", "ideal", "flow", "-t", "500ms"])).unwrap();
    let newer = whole.replacen("fullpipe.result/1", "fullpipe.result/7", 1);
    for (text, says) in [
        (&whole[..whole.len() / 3], "ends in the middle"),
        (newer.as_str(), "update fullpipe"),
        ("{\"schema\": \"fullpipe.run/1\"}", "not a result"),
        ("{\"name\": 1}", "no result of fullpipe"),
        ("", "ends in the middle"),
    ] {
        let file = folder.written("input.json", text);
        let html = folder.written("there.html", "as it was");
        let run = fullpipe(&["report", &file, "--html", &html]);
        assert_eq!((run.exit, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
        assert!(run.stderr.contains(says) && run.stderr.contains(&file), "{}", run.stderr);
        assert_eq!(fs::read_to_string(&html).unwrap(), "as it was");
    }
}

//! What is made of a result: the screen, the certificate, tables, a comparison.

use std::fs;

use crate::folder::Folder;
use crate::recorded;
use crate::result::output;

const RUN: [&str; 13] = [
    "sim",
    "lossy-50m",
    "stress",
    "--connections",
    "300",
    "--ramp-up",
    "1s",
    "--steady",
    "1s",
    "--ramp-down",
    "1s",
    "--think",
    "200ms",
];

fn shown(words: &[&str]) -> String {
    let output = output(words.iter().copied());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// A third of the time up, a third level, a third down: 64 columns and twelve rows.
#[test]
fn the_screen_draws_how_many_were_active() {
    let folder = Folder::new();
    let result = folder.written("r.json", &recorded::text("stress-sim"));
    let screen = shown(&["report", &result]);
    for said in ["300 open at once of 300 asked for", "300: from 300 to 300", "handshake", "PASS"] {
        assert!(screen.contains(said), "{said}: {screen}");
    }
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains(" |")).collect();
    assert_eq!(rows.len(), 12, "{screen}");
    let filled = |row: &str| row.matches('#').count();
    assert!(rows.windows(2).all(|pair| filled(pair[0]) <= filled(pair[1])), "{screen}");
    assert!((20..=26).contains(&filled(rows[0])), "{screen}");
    assert!(rows[0].trim_start().starts_with("300 |"), "{screen}");
}

#[test]
fn lines_of_progress_tell_of_each_second() {
    let output = output(RUN);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| line.contains(" active ")).collect();
    assert!(lines.len() >= 3, "{stderr}");
    assert!(lines[0].contains("1.0 s") && lines[0].contains("set up/s"), "{stderr}");
}

/// Nobody is given up before 15 s, and all are asked for in the first one.
#[test]
fn lines_of_progress_tell_of_those_who_wait_for_an_answer() {
    let folder = Folder::new();
    let text = "lab: fullpipe.lab/1\nname: hole\nlinks:\n  - near_to_far: {loss: {every: 1}}\n";
    let network = folder.written("hole.yaml", text);
    let words = ["stress", "--connections", "100", "--ramp-up", "1s", "--steady", "2s"];
    let output = output([&["sim", &network], &words[..]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    let waits = |line: &&str| line.contains(" 0 active ") && line.contains(" 100 unanswered ");
    assert!(stderr.lines().filter(waits).count() >= 2, "{stderr}");
}

#[test]
fn the_certificate_and_the_tables_show_the_figures_of_the_result() {
    let folder = Folder::new();
    let result = folder.written("r.json", &recorded::text("stress-sim"));
    let [html, markdown, pdf, csv] =
        ["r.html", "r.md", "r.pdf", "csv"].map(|name| folder.file(name));
    let words = ["report", &result, "--html", &html, "--markdown", &markdown, "--pdf", &pdf];
    shown(&[&words[..], &["--csv", &csv]].concat());
    let html = fs::read_to_string(html).unwrap();
    for said in [
        "Connection load test",
        "Active connections",
        "300 open at once of 300 asked for",
        "300 asked for, 300 established, 300 closed, 0 failed",
        "<svg",
    ] {
        assert!(html.contains(said), "{said}");
    }
    let markdown = fs::read_to_string(markdown).unwrap();
    for said in ["300 within 1 s", "100 transaction of 100 and 100 bytes", "of 198.18.128.0/17"] {
        assert!(markdown.contains(said), "{said}: {markdown}");
    }
    assert!(fs::read(pdf).unwrap().starts_with(b"%PDF"));
    let series = fs::read_to_string(format!("{csv}/series.csv")).unwrap();
    let heads: Vec<&str> = series.lines().next().unwrap().split(',').collect();
    assert!(heads.contains(&"active") && heads.contains(&"transactions"), "{heads:?}");
    let table = fs::read_to_string(format!("{csv}/stress.csv")).unwrap();
    assert!(table.contains("failed_no_answer") && table.contains("handshake_us_p99"), "{table}");
}

#[test]
fn two_results_are_compared_by_how_many_they_held() {
    let folder = Folder::new();
    let [one, two] = ["stress-sim", "stress-200-sim"]
        .map(|name| folder.written(&format!("{name}.json"), &recorded::text(name)));
    let output = output(["compare", one.as_str(), two.as_str()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("connections at once") && text.contains("handshake"), "{text}");
}

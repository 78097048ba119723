//! Rules over one Rust file: how it opens, what it is called, what it must not contain.

use std::path::Path;

use super::{Complaint, TextFile, blank};

/// The only folder where the compiler's guarantees may be left.
const UNSAFE_FOLDER: &str = "crates/engine/src/os";

/// Names that say nothing about what a file holds.
const EMPTY_NAMES: [&str; 9] =
    ["util", "utils", "helper", "helpers", "common", "manager", "misc", "handler", "info"];

/// Marks of unfinished work, each spelt in two halves so that this file does not accuse itself.
const UNFINISHED: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("dbg", "!")];

const LONG_FILE_LINES: usize = 700;

pub(super) fn errors(file: &TextFile) -> Vec<Complaint> {
    let code = blank::comments_and_literals(&file.text);
    let mut complaints = Vec::new();
    complaints.extend(opening(file));
    complaints.extend(empty_name(&file.path));
    complaints.extend(unsafe_outside_os(&file.path, &code));
    complaints.extend(unfinished(file));
    complaints
}

/// A file this long usually holds two subjects.
pub(super) fn too_long(file: &TextFile) -> Option<Complaint> {
    let lines = file.text.lines().count();
    let text = format!("{lines} lines: split it where its subject changes");
    (lines > LONG_FILE_LINES).then(|| Complaint::new(&file.path, lines, text))
}

fn opening(file: &TextFile) -> Option<Complaint> {
    let mut lines = file.text.lines().map_while(|line| line.strip_prefix("//! "));
    let sentence = lines.find(|line| line.contains(['.', '?', ':']));
    let text = "the file does not open with a `//!` sentence: say first what it is";
    sentence.is_none().then(|| Complaint::new(&file.path, 1, text))
}

fn empty_name(path: &Path) -> Option<Complaint> {
    let names = path.components().filter_map(|part| Path::new(part.as_os_str()).file_stem());
    let empty = names.filter_map(|name| name.to_str()).find(|name| EMPTY_NAMES.contains(name))?;
    let text = format!("`{empty}` says nothing: name the file after what it holds");
    Some(Complaint::new(path, 1, text))
}

fn unsafe_outside_os(path: &Path, code: &str) -> Vec<Complaint> {
    if path.starts_with(UNSAFE_FOLDER) {
        return Vec::new();
    }
    let lines = code.lines().enumerate().filter(|(_, line)| has_word(line, "unsafe"));
    let text = format!("`unsafe` belongs in {UNSAFE_FOLDER}, behind a safe function");
    lines.map(|(index, _)| Complaint::new(path, index + 1, text.clone())).collect()
}

fn unfinished(file: &TextFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for mark in UNFINISHED.iter().filter(|mark| has_word(line, mark)) {
            let text = format!("`{mark}`: finish it or leave it out");
            complaints.push(Complaint::new(&file.path, index + 1, text));
        }
    }
    complaints
}

/// Whether `word` stands in `line` with no letter, digit or underscore at its ends.
fn has_word(line: &str, word: &str) -> bool {
    count_word(line, word) > 0
}

/// How many times `word` stands in `text` with no letter, digit or underscore at its ends.
pub(super) fn count_word(text: &str, word: &str) -> usize {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    let places = text.match_indices(word).filter(|(at, _)| {
        let after = &text[at + word.len()..];
        !text[..*at].ends_with(joins) && !after.starts_with(joins)
    });
    places.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(path: &str, text: &str) -> Vec<String> {
        let file = TextFile { path: path.into(), text: text.into() };
        errors(&file).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_tidy_file_has_no_complaint() {
        let text = "//! What it is.\n\n#![forbid(unsafe_code)]\n// unsafe is only a word here\n";
        assert_eq!(complaints("crates/net/src/link.rs", text), Vec::<String>::new());
    }

    #[test]
    fn a_file_must_open_with_a_sentence() {
        let found = complaints("a.rs", "use std::fs;\n");
        assert!(found[0].starts_with("a.rs:1: the file does not open"), "{found:?}");
    }

    #[test]
    fn unsafe_code_is_named_with_its_line_outside_os_only() {
        let text = "//! A file.\nfn f() {\n    unsafe { g() }\n}\n";
        let found = complaints("crates/engine/src/lab.rs", text);
        assert!(found[0].starts_with("crates/engine/src/lab.rs:3: `unsafe`"), "{found:?}");
        assert!(complaints("crates/engine/src/os/udp.rs", text).is_empty());
    }

    #[test]
    fn a_file_or_folder_named_after_nothing_is_refused() {
        let text = "//! A file.\n";
        assert_eq!(complaints("crates/net/src/utils.rs", text).len(), 1);
        assert_eq!(complaints("crates/net/src/common/mod.rs", text).len(), 1);
    }

    #[test]
    fn marks_of_unfinished_work_are_refused_in_comments_too() {
        let text = format!("//! A file.\n// {}: later\n", UNFINISHED[0]);
        assert_eq!(complaints("a.rs", &text).len(), 1);
    }

    #[test]
    fn a_file_of_more_than_700_lines_is_a_warning() {
        let of_lines = |n: usize| TextFile { path: "a.rs".into(), text: "x\n".repeat(n) };
        assert!(too_long(&of_lines(700)).is_none());
        assert!(too_long(&of_lines(701)).is_some());
    }
}

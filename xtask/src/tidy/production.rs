//! Production code: what is left of a Rust file without its tests, comments and blank lines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{TextFile, blank};

const TEST_MARK: &str = "#[cfg(test)]";

/// One Rust file that is no test.
#[derive(Debug)]
pub(super) struct Production<'a> {
    pub(super) path: &'a Path,
    /// The folder of its crate: `engine` for `crates/engine/src/udp.rs`, `truth` for `truth/src/draw.rs`.
    pub(super) layer: &'a str,
    /// The file line for line: comments and tests are blank, literals are quotes.
    pub(super) code: String,
    /// Lines that hold nothing but a comment.
    pub(super) comment_lines: usize,
    text: &'a str,
}

impl Production<'_> {
    /// How many lines hold code.
    pub(super) fn code_lines(&self) -> usize {
        count_code_lines(&self.code)
    }

    /// What stands inside of literals, all else blank, line for line.
    pub(super) fn literals(&self) -> String {
        let of_line = |(text, code): (&str, &str)| -> String {
            let chars = text.chars().zip(code.chars());
            chars.map(|(c, code)| if code == '"' { c } else { ' ' }).chain(['\n']).collect()
        };
        self.text.lines().zip(self.code.lines()).map(of_line).collect()
    }

    /// Identifiers, and the words inside literals and inside comments beside code.
    pub(super) fn words(&self) -> BTreeSet<&str> {
        let lines = self.text.lines().zip(self.code.lines());
        lines.filter(|(_, code)| !is_blank(code)).flat_map(|(text, _)| words(text)).collect()
    }
}

/// The words of a text, an identifier being one word.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

pub(super) fn count_code_lines(code: &str) -> usize {
    code.lines().filter(|line| !is_blank(line)).count()
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// The production code of all files.
pub(super) fn production(sources: &[TextFile]) -> Vec<Production<'_>> {
    let mut found = Vec::new();
    let mut test_modules = Vec::new();
    for file in sources.iter().filter(|file| !is_test(&file.path)) {
        let (production, modules) = without_tests(file);
        found.push(production);
        test_modules.extend(modules);
    }
    found.retain(|file: &Production<'_>| {
        let module = file.path.with_extension("");
        !test_modules.iter().any(|test| module.starts_with(test))
    });
    found
}

fn is_test(path: &Path) -> bool {
    path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests")
}

/// A file without its tests, and the paths, less their ending, of modules that it declares for tests.
fn without_tests(file: &TextFile) -> (Production<'_>, Vec<PathBuf>) {
    let mut code = blank::comments_alone(&file.text);
    let mut is_test_line = vec![false; code.lines().count()];
    let mut modules = Vec::new();
    while let Some(at) = code.find(TEST_MARK) {
        let from = at + TEST_MARK.len();
        let end = from + item_len(&code[from..]);
        if let Some(name) = declared_module(&code[from..end]) {
            modules.push(folder_of_children(&file.path).join(name));
        }
        // Whole lines: `rustfmt` puts nothing beside an item.
        let end = code[end..].find('\n').map_or(code.len(), |newline| end + newline);
        let first = code[..at].matches('\n').count();
        let last = first + code[at..end].matches('\n').count();
        is_test_line[first..=last].fill(true);
        let blanked: String =
            code[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        code.replace_range(at..end, &blanked);
    }
    let lines = file.text.lines().zip(&is_test_line);
    let comments = lines.filter(|(line, test)| !**test && line.trim_start().starts_with("//"));
    let comment_lines = comments.count();
    let layer = layer_of(&file.path);
    (Production { path: &file.path, layer, code, comment_lines, text: &file.text }, modules)
}

/// How many bytes an item takes: up to the closing brace of its body, or up to its semicolon.
pub(super) fn item_len(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && byte == b'}' {
                    return at + 1;
                }
            }
            b';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// The name in `mod name;`.
fn declared_module(item: &str) -> Option<&str> {
    item.trim().strip_suffix(';')?.rsplit_once("mod ").map(|(_, name)| name)
}

/// Where the modules stand that a file declares.
fn folder_of_children(path: &Path) -> PathBuf {
    let is_root = ["mod.rs", "lib.rs", "main.rs"].iter().any(|root| path.ends_with(root));
    if is_root { path.with_file_name("") } else { path.with_extension("") }
}

fn layer_of(path: &Path) -> &str {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    match parts.next() {
        Some("crates") => parts.next().unwrap_or_default(),
        other => other.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    #[test]
    fn lines_of_tests_and_comments_and_blank_lines_do_not_count() {
        let text = "//! A file.\n\nfn f() {\n    \"x\n    y\"; // said\n}\n\n#[cfg(test)]\nfn g() {}\n\n\
                    #[cfg(test)]\nmod tests {\n    // A test.\n    fn t() { f(); }\n}\n";
        let sources = [file("crates/net/src/a.rs", text)];
        let found = &production(&sources)[0];
        assert_eq!((found.code_lines(), found.comment_lines, found.layer), (4, 1, "net"));
    }

    #[test]
    fn files_of_tests_are_left_out_by_name_by_folder_and_by_declaration() {
        let sources = [
            file("truth/src/draw/tests.rs", "fn t() {}\n"),
            file("crates/net/tests/tcp/mod.rs", "fn t() {}\n"),
            file("crates/net/src/sim/mod.rs", "#[cfg(test)]\nmod paces;\nfn f() {}\n"),
            file("crates/net/src/sim/paces.rs", "fn t() {}\n"),
        ];
        let left: Vec<&Path> = production(&sources).iter().map(|file| file.path).collect();
        assert_eq!(left, [Path::new("crates/net/src/sim/mod.rs")]);
    }

    #[test]
    fn words_of_literals_count_and_words_of_comments_do_not() {
        let sources = [file("bench/src/main.rs", "// rate_bps\nf(\"tcp.rtt_ms\", limit);\n")];
        let found = production(&sources);
        assert_eq!(found[0].words(), BTreeSet::from(["f", "tcp", "rtt_ms", "limit"]));
    }
}

//! What `house.toml` limits, measured: sizes, numbers, names that stand in many places, words.

use std::collections::{BTreeMap, BTreeSet};

use super::circles::large_circles;
use super::numbers::numbers;
use super::production::{Production, count_code_lines, item_len, production, words};
use super::{TextFile, source};

/// A figure and where it comes from.
#[derive(Debug, Default)]
pub(super) struct Figure {
    pub(super) value: u64,
    pub(super) at: Vec<String>,
}

/// Figures by group and name.
pub(super) type Figures = BTreeMap<(&'static str, String), Figure>;

/// How many places of a figure a complaint names.
const PLACES_NAMED: usize = 8;

/// Where columns describe the fields of results, by this, and where their names are not to stand again.
const DESCRIBED: [&str; 2] = ["method", "model"];
const COLUMN: &str = "Info::new(\"";
const USES: [&str; 3] = ["report", "fullpipe", "server"];

/// A file that names at least six of these has to be opened for every new method.
const METHODS: [&str; 7] = ["rfc6349", "burst", "rfc2544", "y1564", "rfc7640", "flow", "stress"];

impl Figure {
    fn at(value: usize, at: Vec<String>) -> Self {
        Self { value: value as u64, at }
    }

    fn of(at: Vec<String>) -> Self {
        Self::at(at.len(), at)
    }

    /// ` (a.rs:1, b.rs:2, …)`
    pub(super) fn places(&self) -> String {
        let named: Vec<&str> = self.at.iter().take(PLACES_NAMED).map(String::as_str).collect();
        let more = if self.at.len() > PLACES_NAMED { ", …" } else { "" };
        if named.is_empty() { String::new() } else { format!(" ({}{more})", named.join(", ")) }
    }
}

/// Everything measured of the Rust sources, of the web interface's sources and of the documents.
pub(super) fn figures<'a>(
    sources: &[TextFile],
    web: &[TextFile],
    documents: &[TextFile],
    banned: impl Iterator<Item = &'a String>,
) -> Figures {
    let files = production(sources);
    let mut figures = Figures::new();
    let mut add = |group, name: &str, figure| figures.insert((group, name.to_owned()), figure);
    for (layer, lines) in lines_by_layer(&files) {
        add("production_lines", layer, Figure::at(lines, Vec::new()));
    }
    add("shares", "comment_lines_of_1000", comment_share(&files));
    add("longest", "file_lines", longest_file(&files));
    add("longest", "function_lines", longest_function(&files));
    let (constants, unnamed) = method_numbers(&files);
    add("method_numbers", "constants", constants);
    add("method_numbers", "unnamed", unnamed);
    add("field_names", "outside", fields_outside(&files, web));
    add("modules", "circles", circles(&files));
    add("modules", "lists_of_methods", lists_of_methods(&files, web));
    let comments: Vec<(&TextFile, Vec<Comment>)> =
        sources.iter().map(|file| (file, comments(&file.text))).collect();
    for word in banned {
        add("banned_words", word, banned_word(&comments, word));
    }
    for document in documents {
        let name = document.path.display().to_string();
        add("document_bytes", &name, Figure::at(document.text.len(), Vec::new()));
    }
    figures
}

fn lines_by_layer<'a>(files: &'a [Production<'_>]) -> BTreeMap<&'a str, usize> {
    let mut lines = BTreeMap::new();
    for file in files {
        *lines.entry(file.layer).or_default() += file.code_lines();
    }
    lines
}

/// Comment lines in a thousand lines of production code and comments.
fn comment_share(files: &[Production<'_>]) -> Figure {
    let comments: usize = files.iter().map(|file| file.comment_lines).sum();
    let code: usize = files.iter().map(Production::code_lines).sum();
    Figure::at(comments * 1000 / (comments + code).max(1), Vec::new())
}

fn longest_file(files: &[Production<'_>]) -> Figure {
    let longest = files.iter().max_by_key(|file| file.code_lines());
    longest.map_or_else(Figure::default, |file| {
        Figure::at(file.code_lines(), vec![file.path.display().to_string()])
    })
}

fn longest_function(files: &[Production<'_>]) -> Figure {
    let functions = files.iter().flat_map(|file| {
        file.code.match_indices("fn ").filter_map(move |(at, _)| {
            let is_word_end = file.code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let item = &file.code[at..at + item_len(&file.code[at..])];
            (!is_word_end).then(|| (count_code_lines(item), at, file))
        })
    });
    let longest = functions.max_by_key(|(lines, ..)| *lines);
    longest.map_or_else(Figure::default, |(lines, at, file)| {
        Figure::at(lines, vec![place(file, &file.code, at)])
    })
}

/// `a.rs:12` for a byte of a file.
fn place(file: &Production<'_>, code: &str, at: usize) -> String {
    format!("{}:{}", file.path.display(), code[..at].matches('\n').count() + 1)
}

/// The numeric constants of the methods, and the numbers in them that have no name.
fn method_numbers(files: &[Production<'_>]) -> (Figure, Figure) {
    let (mut constants, mut unnamed) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.layer == "method") {
        let found = numbers(&file.code);
        constants.extend(found.constants.iter().map(|at| place(file, &file.code, *at)));
        unnamed.extend(found.unnamed.iter().map(|at| place(file, &file.code, *at)));
    }
    (Figure::of(constants), Figure::of(unnamed))
}

/// Fields of results whose names stand in literals elsewhere than beside what they are, in the web interface in any
/// word. Only names of several words: one word, such as `limit`, means other things as well.
fn fields_outside(files: &[Production<'_>], web: &[TextFile]) -> Figure {
    let is_home = |file: &&Production<'_>| DESCRIBED.contains(&file.layer);
    let fields: BTreeSet<String> = files.iter().filter(is_home).flat_map(fields).collect();
    let elsewhere = files.iter().filter(|file| USES.contains(&file.layer));
    let literals: Vec<String> = elsewhere.map(Production::literals).collect();
    let texts = literals.iter().chain(web.iter().map(|file| &file.text));
    let found: BTreeSet<&str> = texts.flat_map(|text| words(text)).collect();
    Figure::of(fields.into_iter().filter(|field| found.contains(field.as_str())).collect())
}

/// Those that columns describe.
fn fields(file: &Production<'_>) -> Vec<String> {
    let literals = file.literals();
    let named = file.code.lines().zip(literals.lines()).flat_map(|(code, literals)| {
        code.match_indices(COLUMN).map(move |(at, begins)| {
            let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            literals.chars().skip(at + begins.len()).take_while(is_name).collect::<String>()
        })
    });
    named.filter(|field| field.contains('_')).collect()
}

fn circles(files: &[Production<'_>]) -> Figure {
    let layers: BTreeSet<&str> = files.iter().map(|file| file.layer).collect();
    let mut found = Vec::new();
    for layer in layers {
        let files: Vec<&Production<'_>> = files.iter().filter(|file| file.layer == layer).collect();
        let circles = large_circles(&files).into_iter();
        found.extend(circles.map(|circle| format!("{layer}: {}", circle.join(" "))));
    }
    Figure::of(found)
}

fn lists_of_methods(files: &[Production<'_>], web: &[TextFile]) -> Figure {
    let lists_all = |words: BTreeSet<&str>| {
        let named = |method: &&str| words.iter().any(|word| word.eq_ignore_ascii_case(method));
        METHODS.iter().filter(|method| named(method)).count() >= METHODS.len() - 1
    };
    let rust = files.iter().filter(|file| lists_all(file.words())).map(|file| file.path);
    let web = web.iter().filter(|file| lists_all(words(&file.text).collect()));
    let all = rust.chain(web.map(|file| file.path.as_path()));
    Figure::of(all.map(|path| path.display().to_string()).collect())
}

/// Comment lines that follow each other, as one text in small letters.
struct Comment {
    line: usize,
    text: String,
}

fn comments(text: &str) -> Vec<Comment> {
    let mut comments: Vec<Comment> = Vec::new();
    let mut ended = true;
    for (line, words) in (1..).zip(text.lines().map(str::trim_start)) {
        let Some(words) = words.strip_prefix("//") else {
            ended = true;
            continue;
        };
        let words = words.trim_start_matches(['/', '!']).trim().to_ascii_lowercase();
        match comments.last_mut() {
            Some(comment) if !ended => comment.text.extend([" ", &words]),
            _ => comments.push(Comment { line, text: words }),
        }
        ended = false;
    }
    comments
}

fn banned_word(files: &[(&TextFile, Vec<Comment>)], word: &str) -> Figure {
    let mut found = Vec::new();
    for (file, comments) in files {
        for comment in comments {
            let times = source::count_word(&comment.text, word);
            let place = format!("{}:{}", file.path.display(), comment.line);
            found.extend(std::iter::repeat_n(place, times));
        }
    }
    Figure::of(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> TextFile {
        TextFile { path: path.into(), text: text.into() }
    }

    fn measured(sources: &[TextFile], web: &[TextFile]) -> impl Fn(&'static str, &str) -> u64 {
        let figures = figures(sources, web, &[], ["so much".to_owned()].iter());
        move |group, name| figures[&(group, name.to_owned())].value
    }

    #[test]
    fn lines_files_functions_and_comments_are_measured_in_production_code() {
        let sources = [
            file("crates/net/src/a.rs", "// Why.\nconst A: u32 = 1;\nfn f() {\n    g();\n}\n"),
            file("crates/net/src/b.rs", "fn g() {}\n#[cfg(test)]\nmod tests {\n\n fn t() {}\n}\n"),
            file("crates/net/tests/c.rs", "fn t() {\n    g();\n    g();\n}\n"),
        ];
        let value = measured(&sources, &[]);
        assert_eq!(value("production_lines", "net"), 5);
        assert_eq!(value("longest", "file_lines"), 4);
        assert_eq!(value("longest", "function_lines"), 3);
        // One line in six.
        assert_eq!(value("shares", "comment_lines_of_1000"), 166);
    }

    #[test]
    fn a_field_is_counted_where_its_name_stands_again_outside_of_its_column() {
        let column =
            "Info::new(\"rate_bps\", \"rate\", Unit::Rate), Info::new(\"limit\", \"limit\")\n";
        let home = file("crates/method/src/a.rs", column);
        let outside = |path: &str, text: &str| {
            let sources = [file("crates/method/src/a.rs", column), file(path, text)];
            measured(&sources, &[])("field_names", "outside")
        };
        assert_eq!(outside("crates/server/src/a.rs", "fn f() { x(\"flow.rate_bps limit\") }\n"), 1);
        assert_eq!(
            outside("crates/server/src/a.rs", "// \"rate_bps\"\nfn f() { rate_bps() }\n"),
            0
        );
        assert_eq!(outside("truth/src/a.rs", "fn f() { x(\"rate_bps\") }\n"), 0);
        let web = [file("web/src/a.ts", "row.rate_bps")];
        assert_eq!(measured(&[home], &web)("field_names", "outside"), 1);
    }

    #[test]
    fn a_file_that_names_six_methods_lists_them() {
        let six = "match m { Rfc6349 | Burst | Rfc2544 | Y1564 | Rfc7640 | Flow => {} }\n";
        let five = "// stress\nmatch m { Rfc6349 | Burst | Rfc2544 | Y1564 | Rfc7640 => {} }\n";
        let sources = [file("truth/src/a.rs", five)];
        assert_eq!(measured(&sources, &[])("modules", "lists_of_methods"), 0);
        let sources = [file("truth/src/a.rs", six)];
        let web = [file("web/src/a.ts", six)];
        assert_eq!(measured(&sources, &web)("modules", "lists_of_methods"), 2);
    }

    #[test]
    fn banned_words_are_counted_in_comments_across_lines_and_not_in_code() {
        let bad = "/// So much. Waits so\n/// much longer.\nfn f() { \"so much\" }\n";
        assert_eq!(measured(&[file("truth/src/a.rs", bad)], &[])("banned_words", "so much"), 2);
        let good = "// Also much of this, so\nfn f() {}\n// much later.\n";
        assert_eq!(measured(&[file("truth/src/a.rs", good)], &[])("banned_words", "so much"), 0);
    }

    #[test]
    fn a_circle_of_four_files_counts_as_one() {
        let link = |from: &str, to: &str| {
            file(&format!("crates/net/src/{from}.rs"), &format!("use crate::{to}::X;\n"))
        };
        let chain = [link("a", "b"), link("b", "c"), link("c", "d")];
        assert_eq!(measured(&chain, &[])("modules", "circles"), 0);
        let circle = [chain.into_iter().collect(), vec![link("d", "a")]].concat();
        assert_eq!(measured(&circle, &[])("modules", "circles"), 1);
    }
}

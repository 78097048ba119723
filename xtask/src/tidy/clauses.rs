//! Clauses of standards: each one we claim stands above the code that obeys it and above a test.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use super::{Complaint, TextFile};

/// How a citation in the source begins: `//= rfc6349 4.2`.
const MARK: &str = "//= ";

/// `clauses.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    clause: Vec<toml::Spanned<Clause>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Clause {
    standard: String,
    section: String,
    level: Level,
    text: String,
    /// Why we do otherwise: such a clause needs no code and no test.
    deviation: Option<String>,
}

/// How strongly the standard asks, in the words of RFC 2119.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Level {
    Must,
    Should,
    May,
    /// A definition or a formula: it asks for nothing, it says what a number means.
    Defined,
}

/// A `//=` line of the source.
struct Citation<'a> {
    file: &'a Path,
    line: usize,
    clause: String,
    in_test: bool,
}

pub(super) fn errors(list: &TextFile, sources: &[TextFile]) -> anyhow::Result<Vec<Complaint>> {
    let listed: List =
        toml::from_str(&list.text).with_context(|| list.path.display().to_string())?;
    let mut complaints = Vec::new();
    let mut citations = Vec::new();
    for file in sources {
        for citation in citations_in(file) {
            match citation {
                Ok(citation) => citations.push(citation),
                Err(complaint) => complaints.push(complaint),
            }
        }
    }
    complaints.extend(unlisted(&listed, &citations));
    complaints.extend(unproven(list, &listed, &citations));
    Ok(complaints)
}

/// Every citation of a file; one that stands above nothing is a complaint.
fn citations_in(file: &TextFile) -> Vec<Result<Citation<'_>, Complaint>> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    // Tests stand at the bottom of their file, or in a folder of their own.
    let tests_from = if file.path.components().any(|part| part.as_os_str() == "tests")
        || file.path.ends_with("tests.rs")
    {
        0
    } else {
        lines.iter().position(|line| *line == "mod tests {").unwrap_or(lines.len())
    };
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(clause) = line.strip_prefix(MARK) else { continue };
        let below = lines[index..].iter().find(|line| !line.starts_with("//"));
        if below.is_none_or(|line| line.is_empty()) {
            let text = "this citation stands above no code: put it right above what obeys it";
            found.push(Err(Complaint::new(&file.path, index + 1, text)));
            continue;
        }
        found.push(Ok(Citation {
            file: &file.path,
            line: index + 1,
            clause: clause.trim().to_owned(),
            in_test: index >= tests_from,
        }));
    }
    found
}

fn unlisted(listed: &List, citations: &[Citation<'_>]) -> Vec<Complaint> {
    let is_listed = |name: &str| listed.clause.iter().any(|clause| clause.get_ref().name() == name);
    let strangers = citations.iter().filter(|citation| !is_listed(&citation.clause));
    strangers
        .map(|citation| {
            let text = format!("`{}` is not listed: add it to clauses.toml", citation.clause);
            Complaint::new(citation.file, citation.line, text)
        })
        .collect()
}

/// Clauses that lack code or a test, that say nothing, or that are listed twice.
fn unproven(list: &TextFile, listed: &List, citations: &[Citation<'_>]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut first_line: BTreeMap<String, usize> = BTreeMap::new();
    for spanned in &listed.clause {
        let (clause, name) = (spanned.get_ref(), spanned.get_ref().name());
        let line = list.text[..spanned.span().start].lines().count() + 1;
        let mut complain = |text: String| complaints.push(Complaint::new(&list.path, line, text));
        if clause.text.trim().is_empty() {
            complain(format!("`{name}` does not say what it asks: write it in our own words"));
        }
        if let Some(reason) = &clause.deviation {
            if reason.trim().is_empty() {
                complain(format!("`{name}` deviates without a reason: give one"));
            }
            continue;
        }
        if let Some(other) = first_line.insert(name.clone(), line) {
            complain(format!("`{name}` is listed in line {other} already: join the two"));
            continue;
        }
        for (in_test, place) in [(false, "code"), (true, "test")] {
            let proven = citations.iter().any(|c| c.clause == name && c.in_test == in_test);
            if !proven {
                complain(format!(
                    "`{name}` has no {place} ({:?}): put `{MARK}{name}` above it, \
                     or give the deviation",
                    clause.level
                ));
            }
        }
    }
    complaints
}

impl Clause {
    /// As a citation names it.
    fn name(&self) -> String {
        format!("{} {}", self.standard, self.section)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[clause]]\nstandard = \"rfc6349\"\nsection = \"4.2\"\nlevel = \"MUST\"\n\
                       text = \"efficiency\"\n";

    fn complaints(list: &str, source: &str) -> Vec<String> {
        let list = TextFile { path: "clauses.toml".into(), text: list.into() };
        let source = TextFile { path: "a.rs".into(), text: source.replace("@", MARK) };
        errors(&list, &[source]).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_clause_with_code_and_test_is_proven() {
        let source = "@rfc6349 4.2\nfn f() {}\n\nmod tests {\n    @rfc6349 4.2\n    fn t() {}\n}\n";
        assert_eq!(complaints(ONE, source), Vec::<String>::new());
    }

    #[test]
    fn a_clause_without_a_test_is_named_with_its_line_in_the_list() {
        let found = complaints(ONE, "@rfc6349 4.2\nfn f() {}\n");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("clauses.toml:1: `rfc6349 4.2` has no test"), "{found:?}");
    }

    #[test]
    fn a_clause_without_code_is_named() {
        let found = complaints(ONE, "mod tests {\n@rfc6349 4.2\nfn t() {}\n}\n");
        assert!(found[0].contains("has no code"), "{found:?}");
    }

    #[test]
    fn a_citation_of_an_unlisted_clause_is_refused() {
        let found = complaints("", "//! A file.\n@rfc6349 5.3\nfn f() {}\n");
        assert!(found[0].starts_with("a.rs:2: `rfc6349 5.3` is not listed"), "{found:?}");
    }

    #[test]
    fn a_citation_above_nothing_is_refused() {
        assert!(complaints("", "@rfc6349 4.2\n\nfn f() {}\n")[0].contains("above no code"));
    }

    #[test]
    fn a_deviation_needs_a_reason_and_nothing_else() {
        let with = |reason: &str| format!("{ONE}deviation = \"{reason}\"\n");
        assert_eq!(complaints(&with("the lab is no lab"), ""), Vec::<String>::new());
        assert!(complaints(&with(" "), "")[0].contains("without a reason"));
    }

    #[test]
    fn a_clause_is_listed_once() {
        let source = "@rfc6349 4.2\nfn f() {}\nmod tests {\n@rfc6349 4.2\nfn t() {}\n}\n";
        let found = complaints(&format!("{ONE}{ONE}"), source);
        assert!(found[0].contains("is listed in line 1 already"), "{found:?}");
    }
}

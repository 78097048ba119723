//! What is wrong with a file: a place and a sentence.

use std::fmt;

use serde_saphyr::{Error, Location, Spanned};

use super::Kind;

/// Shown as `line:column: sentence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    line: u64,
    column: u64,
    sentence: String,
}

impl Problem {
    /// With the value at `place`, as the file writes it there or where its alias points.
    pub(crate) fn with<T>(place: &Spanned<T>, sentence: impl Into<String>) -> Self {
        Self::at(place.defined, sentence)
    }

    /// With no single place in the file.
    pub(crate) fn in_general(sentence: impl Into<String>) -> Self {
        Self::at(Location::UNKNOWN, sentence)
    }

    /// Without its place.
    pub(crate) fn sentence(&self) -> &str {
        &self.sentence
    }

    pub(crate) const fn line(&self) -> u64 {
        self.line
    }

    /// With what else may help.
    pub(crate) fn and(self, hint: &str) -> Self {
        Self { sentence: format!("{}; {hint}", self.sentence), ..self }
    }

    fn at(location: Location, sentence: impl Into<String>) -> Self {
        let (line, column) = (location.line().max(1), location.column().max(1));
        Self { line, column, sentence: sentence.into() }
    }

    /// What the YAML reader complains of, said in the words of such a file.
    pub(crate) fn of(error: &Error, kind: &Kind) -> Self {
        let error = error.without_snippet();
        let sentence = match error {
            Error::Eof { .. } => {
                let Kind { key, schema, .. } = kind;
                format!("the file is empty or ends too early: it begins with `{key}: {schema}`")
            }
            Error::SerdeUnknownField { field, expected, .. } => unknown("key", field, expected),
            Error::SerdeUnknownVariant { variant, expected, .. } => {
                unknown("value", variant, expected)
            }
            Error::SerdeMissingField { field, .. } => format!("the key `{field}` is missing here"),
            Error::DuplicateMappingKey { key, .. } => match key {
                Some(key) => format!("the key `{key}` is here a second time"),
                None => "a key is here a second time".to_owned(),
            },
            Error::Unexpected { expected, .. } => wanted(expected).to_owned(),
            Error::NullIntoString { .. } => "a value is missing here".to_owned(),
            Error::InvalidBooleanStrict { .. } => "must be true or false".to_owned(),
            Error::InvalidScalar { ty: "boolean", .. } => "must be true or false".to_owned(),
            Error::SerdeInvalidType { expected, .. } if expected.starts_with("struct ") => {
                wanted("mapping start").to_owned()
            }
            Error::SerdeInvalidType { unexpected, expected, .. } => {
                format!("must be {expected}, not {unexpected}")
            }
            Error::MultipleDocuments { .. } => {
                format!("a second document begins here: a file describes one {}", kind.describes)
            }
            Error::Budget { .. }
            | Error::AliasReplayLimitExceeded { .. }
            | Error::AliasExpansionLimitExceeded { .. }
            | Error::AliasReplayStackDepthExceeded { .. } => {
                "the file grows too large here when its aliases are followed".to_owned()
            }
            Error::Message { msg, .. } => msg.clone(),
            other => without_place(&other.to_string()).to_owned(),
        };
        Self::at(error.location().unwrap_or(Location::UNKNOWN), sentence)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.sentence)
    }
}

/// The candidate that `text` was probably meant to be.
pub(crate) fn nearest<'a>(text: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let distance = |candidate: &&str| edit_distance(text, candidate);
    let nearest = candidates.iter().copied().min_by_key(distance)?;
    (distance(&nearest) <= text.chars().count().max(3) / 3).then_some(nearest)
}

fn unknown(kind: &str, text: &str, allowed: &[&str]) -> String {
    let suggestion = match nearest(text, allowed) {
        Some(nearest) => format!("did you mean `{nearest}`? "),
        None => String::new(),
    };
    format!("unknown {kind} `{text}`: {suggestion}allowed are {}", allowed.join(", "))
}

fn wanted(expected: &str) -> &'static str {
    match expected {
        "mapping start" => "expected keys with values here",
        "sequence start" => "expected a list here",
        "string scalar" => "expected a single value here, not a list or keys with values",
        _ => "not expected here",
    }
}

/// The reader ends its sentences with the place, which we put in front.
fn without_place(sentence: &str) -> &str {
    sentence.rfind(" at line ").map_or(sentence, |end| &sentence[..end])
}

/// Levenshtein: characters inserted, left out or exchanged.
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (taken, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = taken + 1;
        for (column, b) in to.iter().enumerate() {
            let exchanged = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = exchanged.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

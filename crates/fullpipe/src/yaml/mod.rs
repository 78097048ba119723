//! Files of the user in YAML: how they are read, and how it is said what is wrong with them.

mod node;
mod problem;
#[cfg(test)]
pub(crate) mod schema;
mod shape;
pub(crate) mod value;

use std::fs;
use std::path::Path;

use anyhow::anyhow;
use serde::de::DeserializeOwned;

pub(crate) use node::{Keys, Node, at, nowhere};
pub(crate) use problem::{Problem, nearest};
pub(crate) use shape::{OneOrMore, Short, Text};

/// More than any sensible file needs; less than what is slow to read.
const MOST_FILE_BYTES: u64 = 64 * 1024;

/// What a file is for, in the words of messages.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Its first key.
    pub(crate) key: &'static str,
    pub(crate) schema: &'static str,
    /// "network": what one file describes.
    pub(crate) describes: &'static str,
    /// "network file".
    pub(crate) name: &'static str,
}

impl Kind {
    /// Reads the keys; what their values mean is not looked at.
    pub(crate) fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, Problem> {
        // Aliases may repeat a file of at most 64 KiB some times over, not without limit.
        let options = serde_saphyr::options! {
            with_snippet: false,
            alias_limits: serde_saphyr::alias_limits! {
                max_total_replayed_events: 20_000,
                max_replay_stack_depth: 16,
                max_alias_expansions_per_anchor: 100,
            },
        };
        serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| Problem::of(&error, self))
    }

    /// Whether the value of the first key is that of a file that this program reads.
    pub(crate) fn check_schema(&self, found: &Text) -> Result<(), Problem> {
        let schema = self.schema;
        let text = &found.value;
        if text == schema {
            return Ok(());
        }
        let hint = match nearest(text, &[schema]) {
            Some(_) => String::from("a file of another version"),
            None => format!("not a {}", self.name),
        };
        Err(Problem::with(found, format!("`{text}` is {hint}: this program reads `{schema}`")))
    }

    /// The text of the file at `path`.
    pub(crate) fn text_of(&self, path: &Path) -> anyhow::Result<String> {
        let (shown, name) = (path.display(), self.name);
        let unreadable = |error| anyhow!("cannot read the {name} {shown}: {error}");
        let meta = fs::metadata(path).map_err(unreadable)?;
        if !meta.is_file() {
            return Err(anyhow!("{shown} is not a file: name a {name} in YAML"));
        }
        if meta.len() > MOST_FILE_BYTES {
            let (most, bytes) = (MOST_FILE_BYTES, meta.len());
            return Err(anyhow!("{shown} has {bytes} bytes: a {name} has at most {most}"));
        }
        let bytes = fs::read(path).map_err(unreadable)?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            anyhow!("{shown} is not text in UTF-8: byte {valid} is not part of a character")
        })
    }
}

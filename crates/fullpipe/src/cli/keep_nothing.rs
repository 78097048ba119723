//! In place of the history, where fullpipe was built without it.

use anyhow::anyhow;
use fp_report::Stored;

/// Nothing is kept, and nothing is told of it.
///
/// # Errors
/// None.
pub(crate) const fn keep(_document: &str) -> anyhow::Result<Option<String>> {
    Ok(None)
}

/// # Errors
/// That there is no history.
pub(crate) fn find(name: &str) -> anyhow::Result<Stored> {
    Err(anyhow!("'{name}' is no file, and this fullpipe was built without a history: name a file"))
}

/// None are known.
///
/// # Errors
/// None.
pub(crate) const fn repeats(
    _first: &Stored,
    _second: &Stored,
    _most: usize,
) -> anyhow::Result<Vec<Stored>> {
    Ok(Vec::new())
}

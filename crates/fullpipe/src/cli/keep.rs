//! Puts what was measured into the history.
//!
//! A history that fails is reported in one sentence on stderr. It changes neither the documents of
//! the measurement nor its exit code.

use anyhow::{Context as _, anyhow};
use fp_history::{Entry, Figure, Filter, History};
use fp_report::Stored;

use super::data;

/// How much of an id is shown: with a hundred thousand runs the chance that two begin alike is one
/// in two hundred.
pub(crate) const ID_SHOWN: usize = 10;

/// Keeps a result document; what to tell the user.
///
/// # Errors
/// Why it could not be kept, and what to do: the measurement is not touched by that.
pub(crate) fn keep(document: &str) -> anyhow::Result<Option<String>> {
    let Some(folder) = data::folder()? else { return Ok(None) };
    let stored = Stored::read(document.to_owned())?;
    let mut history = History::open(&folder)?;
    history.keep(&entry(&stored), document.as_bytes())?;
    let id = short(stored.id());
    Ok(Some(format!("kept in the history as {id}: `fullpipe report {id}` shows it again")))
}

/// The beginning of an id.
pub(crate) fn short(id: &str) -> &str {
    id.get(..ID_SHOWN).unwrap_or(id)
}

/// What the index says of a result.
pub(crate) fn entry(stored: &Stored) -> Entry {
    let figure = stored.headline().map(|headline| Figure {
        name: headline.name,
        value: headline.value,
        unit: headline.unit,
    });
    let labels = stored.labels();
    Entry {
        id: stored.id().to_owned(),
        started: stored.started().to_owned(),
        method: stored.method().to_owned(),
        far: stored.across().to_owned(),
        verdict: stored.verdict().to_owned(),
        duration_s: stored.duration_s(),
        figure,
        labels: labels.each().map(Clone::clone),
    }
}

/// The history, if the user wants one and something was kept.
///
/// # Errors
/// What is wrong with it; that nothing is to be kept.
pub(crate) fn history() -> anyhow::Result<Option<History>> {
    let Some(folder) = data::folder()? else {
        return Err(anyhow!(
            "there is no history: $FULLPIPE_DATA is /dev/null, which keeps nothing"
        ));
    };
    Ok(History::open_if_there(&folder)?)
}

/// The same, made where there is none.
///
/// # Errors
/// As of [`history`].
pub(crate) fn history_to_write() -> anyhow::Result<History> {
    match history()? {
        Some(history) => Ok(history),
        None => {
            let folder = data::folder()?.ok_or_else(|| anyhow!("there is no history"))?;
            Ok(History::open(&folder)?)
        }
    }
}

/// The run of the history that `name` stands for.
///
/// # Errors
/// That there is none; what is wrong with the history.
pub(crate) fn find(name: &str) -> anyhow::Result<Stored> {
    let Some(history) = history()? else {
        return Err(fp_history::Error::Empty.into());
    };
    let entry = history.find(name)?;
    let text = String::from_utf8(history.document(&entry.id)?)?;
    Stored::read(text).with_context(|| format!("the run {} in the history", entry.id))
}

/// Other runs of the same method across the same network, with the plan of one of the two.
///
/// # Errors
/// What is wrong with the history.
pub(crate) fn repeats(first: &Stored, second: &Stored, most: usize) -> anyhow::Result<Vec<Stored>> {
    // Among so many.
    const LOOKED_AT: usize = 100;
    if first.across() != second.across() || most == 0 {
        return Ok(Vec::new());
    }
    let Some(history) = history()? else { return Ok(Vec::new()) };
    let filter = Filter {
        method: Some(first.method().to_owned()),
        far: Some(first.across().to_owned()),
        ..Filter::default()
    };
    let mut repeats = Vec::new();
    for entry in history.latest(&filter, LOOKED_AT)? {
        let is_one_of_both = [first.id(), second.id()].contains(&entry.id.as_str());
        let is_whole = !["invalid", "aborted"].contains(&entry.verdict.as_str());
        if is_one_of_both || !is_whole || entry.far != first.across() {
            continue;
        }
        let run = Stored::read(String::from_utf8(history.document(&entry.id)?)?)?;
        let plans = [first, second].map(|run| &run.value()["plan"]);
        if plans.contains(&&run.value()["plan"]) {
            repeats.push(run);
        }
        if repeats.len() == most {
            break;
        }
    }
    Ok(repeats)
}

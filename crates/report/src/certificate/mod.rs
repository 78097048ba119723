//! The certificate of a run: who measured what where, what was asked and found, how it was measured,
//! what speaks against it, and by what it can be proven.

mod facts;
mod generic;
mod head;
mod how;
mod plan_facts;

pub(crate) use head::banner;

use fp_method::methods::{self, Method};
use fp_model::figure::{self, Row};
use serde::Serialize;
use serde_json::Value;

use crate::Labels;
use crate::build::{self, ReadStep};
use crate::chart::{self, Run};
use crate::directions;
use crate::document::{Block, Cell, Document, Fact, Table, columns};
use crate::read;
use crate::reasons;
use crate::sentence::sentence;
use crate::stored::Stored;
use crate::stored::fields::Fields;
use crate::text::happened;

/// With more flows only classes and sums are shown.
const ROWS_MAX: usize = 64;

/// The certificate of a stored result. `labels` stand before those of the result.
pub fn certificate(result: &Stored, labels: &Labels) -> Document {
    let labels = labels.clone().or(result.labels());
    let value = result.value();
    let mut blocks = head::blocks(result, &labels);
    blocks.push(Block::Heading(String::from("What was asked")));
    blocks.push(Block::Facts(plan_facts::facts(result.method(), Fields(&value["plan"]))));
    blocks.push(Block::Heading(String::from("What was found")));
    blocks.extend(found(result.method(), value));
    blocks.extend(how::blocks(result));
    let title = title(result.method()).to_owned();
    Document { title, band: band(&[result]), foot: foot(result), blocks }
}

/// What no page of a document of these results may be taken for: a measurement of a real path, a valid one,
/// a whole one.
pub(crate) fn band(results: &[&Stored]) -> String {
    let far = |result: &&Stored| Fields(result.value()).inside("far").word("name") == "simulation";
    let verdict = |verdict: &str| results.iter().any(|result| result.verdict() == verdict);
    let words = [
        ("SIMULATION", results.iter().any(far)),
        ("INVALID", verdict("invalid")),
        ("ABORTED", verdict("aborted")),
    ];
    let said = words.into_iter().filter(|(_, is_said)| *is_said);
    said.map(|(word, _)| word).collect::<Vec<_>>().join(" · ")
}

/// The title of a stored result: its method's, or its name where a newer program has one more.
pub(crate) fn title(method: &str) -> &str {
    Method::named(method).map_or(method, |known| known.title)
}

fn foot(result: &Stored) -> String {
    let version = Fields(&result.value()["tool"]).word("version");
    format!("fullpipe {version} · run {} · {}", result.id(), result.started())
}

/// A result as a page shows it: the parts of its certificate, with final texts.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// The verdict in one line, and why.
    sentence: String,
    reasons: Vec<String>,
    /// Whose it is, where and when.
    facts: Vec<Fact>,
    asked: Vec<Fact>,
    /// What was found, and how it was measured.
    blocks: Vec<Block>,
    how: Vec<Block>,
}

impl Page {
    pub fn of(result: &Stored) -> Self {
        let value = result.value();
        let mut how = how::blocks(result);
        how.retain(|block| !matches!(block, Block::Signatures(_)));
        Self {
            sentence: sentence(result),
            reasons: reasons::of(value),
            facts: head::facts(result, &result.labels()),
            asked: plan_facts::facts(result.method(), Fields(&value["plan"])),
            blocks: found(result.method(), value),
            how,
        }
    }
}

/// The steps of a result as facts, tables and charts.
fn found(method: &str, result: &Value) -> Vec<Block> {
    let mut blocks = Vec::new();
    let judged = directions(result);
    if !judged.is_empty() {
        blocks.push(Block::Facts(judged));
    }
    blocks.extend(of_method(method, result));
    blocks.extend(table(events(Fields(result))));
    if blocks.is_empty() {
        blocks.push(Block::Text(String::from("The run ended before it had found anything.")));
    }
    blocks
}

/// The same without what became of each direction and what happened meanwhile.
pub(crate) fn of_method(method: &str, result: &Value) -> Vec<Block> {
    let result = Fields(result);
    let read = result.each("steps").filter_map(|fields| Some((fields, read::row(fields)?)));
    let (fields, rows): (Vec<Fields<'_>>, Vec<Row>) = read.unzip();
    let facts = facts::of(&rows);
    let mut blocks = Vec::from_iter((!facts.is_empty()).then_some(Block::Facts(facts)));
    let Some(method) = Method::named(method) else {
        blocks.extend(result.each("steps").map(generic::table));
        return blocks;
    };
    blocks.extend((!method.note.is_empty()).then(|| Block::Text(method.note.to_owned())));
    let is_shown = (method.shown)(&rows, ROWS_MAX);
    let shown = fields.into_iter().zip(&rows).filter(|(_, row)| is_shown(row));
    let shown: Vec<ReadStep<'_>> = shown.collect();
    let run = Run { rows: &rows, plan: result.inside("plan") };
    for kind in method.kinds {
        let steps = shown.iter().copied().filter(|(_, row)| kind.is_of(row));
        let steps: Vec<ReadStep<'_>> = steps.collect();
        for block in kind.blocks {
            match block {
                figure::Block::Table(table) => {
                    blocks.extend(build::tables(table, &steps).into_iter().map(Block::Table));
                }
                figure::Block::Chart(chart) => {
                    let figures = chart::figures(chart, &steps, &run);
                    blocks.extend((!figures.is_empty()).then_some(Block::Figures(figures)));
                }
            }
        }
    }
    let is_other = |step: &Fields<'_>| methods::kind(step.word("name")).is_none();
    blocks.extend(result.each("steps").filter(is_other).map(generic::table));
    blocks
}

/// What happened while the run went on.
fn events(result: Fields<'_>) -> Table {
    let seconds = |event: Fields<'_>, field: &str| event.decimals(field, 1, "s");
    let row = |event: Fields<'_>| {
        let what = happened(event.word("code"));
        vec![
            Cell::new(seconds(event, "at_s")),
            Cell::new(event.word("trial")),
            Cell::new(what),
            Cell::new(seconds(event, "lasts_s")),
        ]
    };
    Table {
        caption: String::from("What happened, and when"),
        columns: columns(&[">at", "trial", "event", ">for"]),
        rows: result.each("events").map(row).collect(),
        note: None,
    }
}

/// What became of each direction.
fn directions(result: &Value) -> Vec<Fact> {
    let fact = |judged: directions::Judged| {
        let name = match judged.direction {
            "download" => "Download",
            "upload" => "Upload",
            _ => "Both directions",
        };
        let status = match judged.is_met {
            Some(true) => "PASS",
            Some(false) => "FAIL",
            None => "INCONCLUSIVE",
        };
        let count = judged.count();
        let figure = judged.figure;
        let beside = if figure.is_empty() { figure } else { format!("; {figure}") };
        Fact::new(name, format!("{status}: {count}{beside}"))
    };
    directions::of(result).into_iter().map(fact).collect()
}

/// A table, unless it would have no rows.
fn table(table: Table) -> Option<Block> {
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

/// Facts whose texts are known.
fn known(facts: impl IntoIterator<Item = (&'static str, Option<String>)>) -> Vec<Fact> {
    let known = facts.into_iter().filter_map(|(name, text)| Some((name, text?)));
    known.map(|(name, text)| Fact::new(name, text)).collect()
}
